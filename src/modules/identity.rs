//! Checks whose page an answer is. An answer is not a hit if its page names another account, or if the
//! request was redirected to the front page or to a sign-in form.
//!
//! The checks avoid false alarms. An address contradicts a hit only if it has the form of the requested
//! address, with another name in the position of the name.

use std::sync::LazyLock;

use url::Url;

use super::answer::Answer;
use super::barrier::{final_target, leads_to_login, segments, site};
use super::reason::Reason;
use super::tables;
use super::template::Values;
use super::text::{holds_word, same_name};
use crate::base::encoding::percent_decode_lossy;

/// Returns the reason to reject a hit at `asked` that the final address of the answer gives.
pub(crate) fn by_address(asked: &Url, answer: &Answer<'_>, values: &Values<'_>) -> Option<Reason> {
    let name = values.name;
    let final_target = final_target(answer.response);
    if is_same(asked, &final_target) {
        return None;
    }
    if leads_to_login(&final_target, asked, values) {
        return Some(Reason::LoginWall);
    }
    let is_led_home =
        is_front(&final_target) && !is_front(asked) && shows(asked, name) && !shows(&final_target, name);
    if is_led_home {
        return Some(Reason::FrontPage);
    }
    names_another(asked, &final_target, name).then_some(Reason::OtherAccount)
}

/// Returns whether the page names another account as its owner than the one requested at `asked`.
pub(crate) fn by_page(asked: &Url, answer: &Answer<'_>, values: &Values<'_>) -> bool {
    if !answer.is_page() || name_segment(asked, values.name).is_none() {
        return false;
    }
    let page = answer.page();
    let titles = answer.title().into_iter().chain(page.metas("og:title"));
    // A page that has the name in its title may have an inaccurate canonical address.
    if titles.into_iter().any(|title| holds_word(title, values.name, |c, _| c.is_alphanumeric())) {
        return false;
    }
    let named = page.canonical().into_iter().chain(page.metas("og:url"));
    let base = &answer.response.final_url;
    named
        .filter_map(|text| base.join(text.trim()).ok())
        .any(|found| names_another(asked, &found, values.name))
}

/// Returns whether two addresses are the same page. Case, trailing slashes and the version of the site are ignored.
pub(crate) fn is_same(one: &Url, other: &Url) -> bool {
    site(one) == site(other) && segments(one) == segments(other) && one.query() == other.query()
}

/// Returns whether the address is a form of the front page: `/`, `/home`, `/index.html`, `/de/`.
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

/// Returns whether a path segment or a label is a language code: `de`, `en-us`, `pt_br`.
pub(super) fn is_language(segment: &str) -> bool {
    let mut parts = segment.split(['-', '_']);
    let is_code = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_lowercase());
    parts.next().is_some_and(is_code) && parts.next().is_none_or(is_code) && parts.next().is_none()
}

/// Returns whether the name is anywhere in the address.
fn shows(url: &Url, name: &str) -> bool {
    percent_decode_lossy(url.as_str()).to_lowercase().contains(&name.to_lowercase())
}

/// Returns the index of the path segment that is the name, with the texts before and after the name in it
/// (`@bob`, `bob.html`). Returns `None` if there is not exactly one such segment.
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

/// Returns whether `found` is the requested address with another account's name in it.
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

/// Returns whether two names are of one account, regardless of case and of the sign between words.
fn is_same_account(one: &str, other: &str) -> bool {
    let joined = |text: &str| text.replace(['-', '_', ' ', '+'], "_");
    same_name(&joined(one), &joined(other))
}

/// Returns whether a text in the position of a name is an account's name. It is not if it is a number,
/// another kind of identifier, a page of the site itself, or if it contains the requested name.
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
        && !is_own_page(text)
}

/// The words that sites use for their own pages in the position of a name.
static OWN_PAGES: LazyLock<Vec<&str>> =
    LazyLock::new(|| tables::read(include_str!("catalog/tables/own_pages.json")));

/// Returns whether a path segment in lower case is a page of the site itself.
pub(super) fn is_own_page(segment: &str) -> bool {
    is_front_name(segment) || OWN_PAGES.contains(&segment)
}
