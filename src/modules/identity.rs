//! Whose page an answer is: a hit whose page names another account, or that led to the front page or to
//! a form to sign in, is none.
//!
//! Careful about false alarms: an address speaks against a hit only where it is built as the one that was
//! asked for, with another name in the very place of the name.

use url::Url;

use super::answer::Answer;
use super::barrier::{is_login, landed};
use super::extract::transform::url_decode;
use super::template::Values;
use super::text::same_name;

/// What speaks against a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objection {
    /// The page is another account's.
    OtherAccount,
    /// The request ended at the site's front page.
    FrontPage,
    /// The request ended at a page to sign in.
    LoginPage,
}

/// What speaks against a hit at `asked` by where the answer came from.
pub(crate) fn by_address(asked: &Url, answer: &Answer<'_>, name: &str) -> Option<Objection> {
    let landed = landed(answer.response);
    if is_same(asked, &landed) {
        return None;
    }
    if is_login(landed.path()) && !is_login(asked.path()) {
        return Some(Objection::LoginPage);
    }
    let is_led_home = is_front(&landed) && !is_front(asked) && shows(asked, name) && !shows(&landed, name);
    if is_led_home {
        return Some(Objection::FrontPage);
    }
    names_another(asked, &landed, name).then_some(Objection::OtherAccount)
}

/// Whether the page says of itself that it is another account's than the one asked for at `asked`.
pub(crate) fn by_page(asked: &Url, answer: &Answer<'_>, values: &Values<'_>) -> bool {
    if !answer.is_page() || name_segment(asked, values.name).is_none() {
        return false;
    }
    let page = answer.page();
    let titles = page.title.as_deref().into_iter().chain(page.metas("og:title"));
    // A page that speaks of the name in its title may be sloppy about its address.
    if titles.into_iter().any(|title| holds_word(title, values.name)) {
        return false;
    }
    let named = page.canonical.as_deref().into_iter().chain(page.metas("og:url"));
    let base = &answer.response.final_url;
    named
        .filter_map(|text| base.join(text.trim()).ok())
        .any(|found| names_another(asked, &found, values.name))
}

/// The host without what tells versions of one site apart.
fn site(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    ["www.", "m.", "mobile."].iter().find_map(|front| host.strip_prefix(front)).unwrap_or(host)
}

fn segments(url: &Url) -> Vec<String> {
    let parts = url.path_segments().into_iter().flatten().filter(|part| !part.is_empty());
    parts.map(decoded).collect()
}

/// Percent-decoded, in lower case.
fn decoded(text: &str) -> String {
    url_decode(text).to_lowercase()
}

/// Whether two addresses are the same page: case, slashes at the end and versions of a site do not count.
pub(crate) fn is_same(one: &Url, other: &Url) -> bool {
    site(one) == site(other) && segments(one) == segments(other) && one.query() == other.query()
}

/// `/`, `/home`, `/index.html`, `/de/`: the front page in some version of it.
fn is_front(url: &Url) -> bool {
    match segments(url).as_slice() {
        [] => url.query().is_none_or(|query| !query.contains('=') || query.len() < 40),
        [only] => is_front_name(only) || is_language(only),
        [language, only] => is_language(language) && is_front_name(only),
        _ => false,
    }
}

fn is_front_name(segment: &str) -> bool {
    let stem = segment.split('.').next().unwrap_or_default();
    matches!(stem, "index" | "home" | "default" | "welcome" | "main" | "start")
}

/// `de`, `en-us`, `pt_br`.
fn is_language(segment: &str) -> bool {
    let mut parts = segment.split(['-', '_']);
    let is_code = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_lowercase());
    parts.next().is_some_and(is_code) && parts.next().is_none_or(is_code) && parts.next().is_none()
}

/// Whether the name stands anywhere in the address.
fn shows(url: &Url, name: &str) -> bool {
    decoded(url.as_str()).contains(&name.to_lowercase())
}

/// Whether the name stands in a text with no letter or digit beside it.
fn holds_word(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    let is_free = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    !name.is_empty()
        && text.match_indices(&name).any(|(at, _)| {
            is_free(text[..at].chars().next_back()) && is_free(text[at + name.len()..].chars().next())
        })
}

/// Which segment of the path is the name, and what stands before and behind it there: `@bob`, `bob.html`.
/// `None`: none is, or more than one.
fn name_segment(url: &Url, name: &str) -> Option<(usize, String, String)> {
    let name = name.to_lowercase();
    let mut found = segments(url).into_iter().enumerate().filter_map(|(index, segment)| {
        let front = segment.find(name.as_str()).filter(|_| !name.is_empty())?;
        let (before, after) = (&segment[..front], &segment[front + name.len()..]);
        let is_frame = matches!(before, "" | "@" | "~") && (after.is_empty() || after.starts_with('.'));
        is_frame.then(|| (index, before.to_owned(), after.to_owned()))
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Whether `found` is the address that was asked for with another account's name in it.
fn names_another(asked: &Url, found: &Url, name: &str) -> bool {
    let Some((at, before, after)) = name_segment(asked, name) else { return false };
    let (asked_parts, found_parts) = (segments(asked), segments(found));
    let is_alike = site(asked) == site(found)
        && asked_parts.len() == found_parts.len()
        && asked_parts.iter().zip(&found_parts).enumerate().all(|(index, (a, b))| index == at || a == b);
    if !is_alike {
        return false;
    }
    let other = found_parts[at].strip_prefix(before.as_str()).unwrap_or(&found_parts[at]);
    let other = other.strip_suffix(after.as_str()).unwrap_or(other);
    !is_same_account(other, name) && is_account_name(other, name)
}

/// Case does not count, nor which sign stands between two words.
fn is_same_account(one: &str, other: &str) -> bool {
    let joined = |text: &str| text.replace(['-', '_', ' ', '+'], "_");
    same_name(&joined(one), &joined(other))
}

/// Whether what stands in the place of a name is one: no number, no other kind of identifier, no page of
/// the site's own, nothing made of the name that was asked for.
fn is_account_name(text: &str, name: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
    let is_hex = text.len() >= 12 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let is_key = text.len() >= 10 && digits >= 3;
    (2..=40).contains(&text.chars().count())
        && is_plain
        && digits < text.len()
        && !is_hex
        && !is_key
        && !text.contains(&name.to_lowercase())
        && !is_front_name(text)
        && !OWN_PAGES.contains(&text)
}

/// Words that sites have in the place of a name for pages of their own.
const OWN_PAGES: [&str; 34] = [
    "404",
    "about",
    "account",
    "accounts",
    "all",
    "auth",
    "author",
    "browse",
    "discover",
    "error",
    "explore",
    "guest",
    "help",
    "join",
    "login",
    "me",
    "members",
    "new",
    "not-found",
    "notfound",
    "null",
    "people",
    "profile",
    "profiles",
    "register",
    "search",
    "signin",
    "signup",
    "suspended",
    "undefined",
    "unknown",
    "user",
    "username",
    "users",
];
