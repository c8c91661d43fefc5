//! Barriers that are recognized by the address to which a redirect leads.

use url::Url;

use super::found::Barrier;
use crate::base::encoding::percent_decode_lossy;
use crate::modules::probe::Response;
use crate::modules::reason::Reason;

/// Host names of barriers. Names below them count as well.
const HOSTS: &[(&str, Reason)] = &[
    ("validate.perfdrive.com", Reason::Radware),
    ("captcha-delivery.com", Reason::Datadome),
    ("suspended-website.com", Reason::SuspendedSite),
];
/// Prefixes of the hosts of consent pages.
const CONSENT: &[&str] = &["consent.", "guce.", "myprivacy."];
/// The names of paths to sign-in pages. They count as the first or last path segment, up to a dot.
const LOGINS: &[&str] = &["login", "signin", "sign-in", "sign_in", "log-in", "authwall"];
/// Texts that appear only in the paths of barriers, in any segment.
const MARKS: &[(&str, Reason)] = &[
    ("captcha", Reason::Captcha),
    ("_incapsula_resource", Reason::ImpervaChallenge),
    ("cdn-cgi", Reason::CloudflareChallenge),
];
/// Words that appear only in the paths of barriers. Only whole words count, since many sites have a page
/// such as `challenges`.
const WORDS: &[(&str, Reason)] =
    &[("challenge", Reason::Challenge), ("checkpoint", Reason::Challenge), ("blocked", Reason::BlockPage)];

/// Returns the barrier at the address of a response or of its redirect. `asked` is the address of the
/// request, if it is known. `is_told` returns whether the module itself has a rule for a redirect to a
/// sign-in page.
pub(super) fn find(response: &Response, asked: Option<&Url>, is_told: impl Fn() -> bool) -> Option<Barrier> {
    let target = final_target(response);
    let host = target.host_str().unwrap_or_default();
    let path = target.path().to_ascii_lowercase();
    let is_below = |name: &str| host.strip_suffix(name).is_some_and(|it| it.is_empty() || it.ends_with('.'));
    if CONSENT.iter().any(|front| host.starts_with(front)) {
        return Some(Barrier::block(Reason::ConsentWall));
    }
    if let Some((_, name)) = HOSTS.iter().find(|(host, _)| is_below(host)) {
        return Some(Barrier::block(*name));
    }
    if path == "/cgi-sys/suspendedpage.cgi" {
        return Some(Barrier::block(Reason::SuspendedSite));
    }
    if path.starts_with("/sorry/") || path.starts_with("/.well-known/captcha") {
        return Some(Barrier::block(Reason::Captcha));
    }
    if let Some(name) = led_to(&target, asked.or(is_redirect(response).then_some(&response.final_url))) {
        return Some(Barrier::block(name));
    }
    let is_asked = || asked.is_some_and(|asked| is_login(asked.path()));
    (is_login(&path) && !is_asked() && !is_told()).then(|| Barrier::block(Reason::LoginWall))
}

/// Returns the address to which a response redirects, or its own address if it does not redirect.
pub(crate) fn final_target(response: &Response) -> Url {
    let location = response.header("location").filter(|_| is_redirect(response));
    let target = location.and_then(|location| response.final_url.join(location).ok());
    target.unwrap_or_else(|| response.final_url.clone())
}

fn is_redirect(response: &Response) -> bool {
    (300..400).contains(&response.status)
}

/// Returns the barrier that new segments of the path indicate. Segments of the requested address do not
/// count, since a user may be called `captcha`.
fn led_to(target: &Url, asked: Option<&Url>) -> Option<Reason> {
    let known: Vec<String> = segments(asked?);
    let new = segments(target).into_iter().filter(|segment| !known.contains(segment));
    new.filter_map(|segment| {
        let mark = MARKS.iter().find(|(mark, _)| segment.contains(mark));
        let is_word = |(word, _): &&(&str, Reason)| {
            segment.split(|c: char| !c.is_alphanumeric()).any(|part| part == *word)
        };
        mark.or_else(|| WORDS.iter().find(is_word)).map(|(_, name)| *name)
    })
    .next()
}

/// Returns the segments of the path, percent-decoded and in lower case.
fn segments(url: &Url) -> Vec<String> {
    let parts = url.path_segments().into_iter().flatten().filter(|part| !part.is_empty());
    parts.map(|part| percent_decode_lossy(part).to_lowercase()).collect()
}

/// Returns whether a path belongs to a sign-in page.
pub(crate) fn is_login(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let is_name = |part: &str| LOGINS.contains(&part.split('.').next().unwrap_or_default());
    let (first, last) = (parts.clone().next(), parts.next_back());
    let is_deep = ["/accounts/login/", "/users/sign_in/"].iter().any(|front| path.starts_with(front));
    first.is_some_and(is_name) || last.is_some_and(is_name) || is_deep
}
