//! Walls that a redirect leads to, told by their address.

use url::Url;

use super::Barrier;
use crate::modules::extract::transform::url_decode;
use crate::modules::probe::Response;

/// Hosts of walls: this name, or one below it.
const HOSTS: &[(&str, &str)] = &[
    ("validate.perfdrive.com", "radware"),
    ("captcha-delivery.com", "datadome"),
    ("suspended-website.com", "suspended_site"),
];
/// What the hosts of consent pages begin with.
const CONSENT: &[&str] = &["consent.", "guce.", "myprivacy."];
/// The last or the first part of a path to a page to sign in, without what stands behind a dot.
const LOGINS: &[&str] = &["login", "signin", "sign-in", "sign_in", "log-in", "authwall"];
/// Parts of paths that only walls have, wherever they stand in one.
const MARKS: &[(&str, &str)] = &[
    ("captcha", "captcha"),
    ("_incapsula_resource", "imperva_challenge"),
    ("cdn-cgi", "cloudflare_challenge"),
];
/// The same for whole words: `challenges` are a page of many sites.
const WORDS: &[(&str, &str)] =
    &[("challenge", "challenge"), ("checkpoint", "challenge"), ("blocked", "block_page")];

/// The wall at the address that an answer has, or leads on to; `asked`: where the request was sent, if
/// that is known. `is_told`: the module says itself what it means to land at a page to sign in.
pub(super) fn find(response: &Response, asked: Option<&Url>, is_told: impl Fn() -> bool) -> Option<Barrier> {
    let target = landed(response);
    let host = target.host_str().unwrap_or_default();
    let path = target.path().to_ascii_lowercase();
    let is_below = |name: &str| host.strip_suffix(name).is_some_and(|it| it.is_empty() || it.ends_with('.'));
    if CONSENT.iter().any(|front| host.starts_with(front)) {
        return Some(Barrier::block("consent_wall"));
    }
    if let Some((_, name)) = HOSTS.iter().find(|(host, _)| is_below(host)) {
        return Some(Barrier::block(name));
    }
    if path == "/cgi-sys/suspendedpage.cgi" {
        return Some(Barrier::block("suspended_site"));
    }
    if path.starts_with("/sorry/") || path.starts_with("/.well-known/captcha") {
        return Some(Barrier::block("captcha"));
    }
    if let Some(name) = led_to(&target, asked.or(is_redirect(response).then_some(&response.final_url))) {
        return Some(Barrier::block(name));
    }
    let is_asked = || asked.is_some_and(|asked| is_login(asked.path()));
    (is_login(&path) && !is_asked() && !is_told()).then(|| Barrier::block("login_wall"))
}

/// The address of an answer, or the one that it sends on to.
pub(crate) fn landed(response: &Response) -> Url {
    let location = response.header("location").filter(|_| is_redirect(response));
    let target = location.and_then(|location| response.final_url.join(location).ok());
    target.unwrap_or_else(|| response.final_url.clone())
}

fn is_redirect(response: &Response) -> bool {
    (300..400).contains(&response.status)
}

/// The wall that parts of the path speak of which were not asked for: somebody may be called `captcha`.
fn led_to(target: &Url, asked: Option<&Url>) -> Option<&'static str> {
    let known: Vec<String> = segments(asked?);
    let new = segments(target).into_iter().filter(|segment| !known.contains(segment));
    new.filter_map(|segment| {
        let mark = MARKS.iter().find(|(mark, _)| segment.contains(mark));
        let is_word = |(word, _): &&(&str, &str)| {
            segment.split(|c: char| !c.is_alphanumeric()).any(|part| part == *word)
        };
        mark.or_else(|| WORDS.iter().find(is_word)).map(|(_, name)| *name)
    })
    .next()
}

/// Parts of the path, percent-decoded, in lower case.
fn segments(url: &Url) -> Vec<String> {
    let parts = url.path_segments().into_iter().flatten().filter(|part| !part.is_empty());
    parts.map(|part| url_decode(part).to_lowercase()).collect()
}

/// Whether a path is one of a page to sign in.
pub(crate) fn is_login(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let is_name = |part: &str| LOGINS.contains(&part.split('.').next().unwrap_or_default());
    let (first, last) = (parts.clone().next(), parts.next_back());
    let is_deep = ["/accounts/login/", "/users/sign_in/"].iter().any(|front| path.starts_with(front));
    first.is_some_and(is_name) || last.is_some_and(is_name) || is_deep
}
