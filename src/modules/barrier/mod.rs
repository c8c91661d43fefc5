//! Barriers: captchas, challenges, consent, login walls, limit pages. They win over every rule.
//!
//! The list is careful about false alarms: a page that merely loads a captcha script, or shows a link to
//! sign in, is no wall. So most marks count with a refusing status only, and marks that count with any
//! status are texts that nothing but the wall itself holds.

mod walls;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::module::{BARRIER_REACH, Module};
use super::outcome::Outcome;
use super::probe::Response;
use walls::{Needs, WALLS, Wall};

/// What stood in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Barrier {
    /// `Blocked` or `RateLimited`.
    pub(crate) outcome: Outcome,
    /// `captcha`, `challenge`, `consent`, `login_wall`, `rate_limit`, …
    pub(crate) reason: &'static str,
    /// Whose it is, for evidence.
    pub(crate) name: &'static str,
}

/// All words of all walls in one automaton.
struct Words {
    automaton: AhoCorasick,
    list: Vec<&'static str>,
}

static WORDS: LazyLock<Option<Words>> = LazyLock::new(|| {
    let mut list: Vec<&'static str> =
        WALLS.iter().flat_map(|wall| wall.all.iter().chain(wall.any)).copied().collect();
    list.sort_unstable();
    list.dedup();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .build(&list)
        .ok()?;
    Some(Words { automaton, list })
});

/// Looks for a wall of the global list.
pub(crate) fn find(module: &Module, response: &Response) -> Option<Barrier> {
    if response.status == 429 {
        return Some(Barrier { outcome: Outcome::RateLimited, reason: "rate_limit", name: "status 429" });
    }
    if response.status == 503 && response.header("retry-after").is_some() {
        let name = "status 503 with Retry-After";
        return Some(Barrier { outcome: Outcome::RateLimited, reason: "rate_limit", name });
    }
    if response.status == 999 {
        return Some(Barrier { outcome: Outcome::Blocked, reason: "login_wall", name: "status 999" });
    }
    let words = words_in(&response.body);
    let is_page = is_page(response);
    let wall = WALLS.iter().find(|wall| holds(wall, response, is_page, &words));
    if let Some(wall) = wall {
        let outcome = if wall.reason == "rate_limit" { Outcome::RateLimited } else { Outcome::Blocked };
        return Some(Barrier { outcome, reason: wall.reason, name: wall.name });
    }
    by_address(module, response)
}

/// The words of the list that stand in the first part of the body.
fn words_in(body: &[u8]) -> Vec<&'static str> {
    let Some(words) = WORDS.as_ref() else { return Vec::new() };
    let head = &body[..body.len().min(BARRIER_REACH)];
    let mut is_seen = vec![false; words.list.len()];
    for found in words.automaton.find_overlapping_iter(head) {
        is_seen[found.pattern().as_usize()] = true;
    }
    words.list.iter().zip(is_seen).filter(|(_, is_seen)| *is_seen).map(|(word, _)| *word).collect()
}

fn is_page(response: &Response) -> bool {
    match response.header("content-type") {
        Some(content_type) => content_type.contains("html") || content_type.contains("text/plain"),
        None => response.body.trim_ascii_start().starts_with(b"<"),
    }
}

fn holds(wall: &Wall, response: &Response, is_page: bool, words: &[&str]) -> bool {
    let status = response.status;
    let fits = match wall.needs {
        Needs::Any => true,
        Needs::Page => is_page,
        Needs::Refusal => matches!(status, 403 | 405 | 406 | 418 | 456 | 498 | 503),
        Needs::Failure => status >= 400,
        Needs::Status(list) => list.contains(&status),
    };
    let has_header = |(name, part): &(&str, &str)| {
        let mut values = response.headers.iter().filter(|(known, _)| known == name);
        values.any(|(_, value)| match part.strip_prefix('=') {
            Some(whole) => value == whole,
            None => value.to_ascii_lowercase().contains(part),
        })
    };
    fits && (wall.headers.is_empty() || wall.headers.iter().any(has_header))
        && wall.all.iter().all(|word| words.contains(word))
        && (wall.any.is_empty() || wall.any.iter().any(|word| words.contains(word)))
}

/// Consent and sign-in pages that a redirect leads to.
fn by_address(module: &Module, response: &Response) -> Option<Barrier> {
    let target = match (response.status, response.header("location")) {
        (300..=399, Some(location)) => response.final_url.join(location).ok()?,
        _ => response.final_url.clone(),
    };
    let host = target.host_str().unwrap_or_default();
    let path = target.path().to_ascii_lowercase();
    let blocked = |reason, name| Some(Barrier { outcome: Outcome::Blocked, reason, name });
    if host.starts_with("consent.") || host.starts_with("guce.") {
        return blocked("consent", "consent page");
    }
    if path.starts_with("/sorry/")
        || path.contains("/showcaptcha")
        || path.starts_with("/.well-known/captcha")
    {
        return blocked("captcha", "captcha page");
    }
    let is_login = [
        "/login",
        "/signin",
        "/sign-in",
        "/sign_in",
        "/log-in",
        "/authwall",
        "/accounts/login",
        "/users/sign_in",
    ]
    .iter()
    .any(|login| path.trim_end_matches('/').ends_with(login) || path.starts_with(&format!("{login}/")));
    (is_login && !knows_logins(module)).then_some(())?;
    blocked("login_wall", "sign-in page")
}

/// Modules that ask a sign-in page, or say themselves what a redirect means.
fn knows_logins(module: &Module) -> bool {
    let rules = module.barrier.iter().chain(&module.hit).chain(&module.miss);
    let asks_login = module.entry().probes.iter().any(|probe| {
        let url = probe.url.to_ascii_lowercase();
        ["login", "signin", "sign-in", "sign_in", "log-in"].iter().any(|word| url.contains(word))
    });
    module.entry().discovery
        || asks_login
        || rules.into_iter().any(super::rule::matcher::Matcher::judges_redirects)
}

/// The longest pause that a site can ask for.
const MAX_PAUSE_SECS: u64 = 86_400;

/// `Retry-After` in whole seconds: a number, or a date against the answer's own `Date`.
pub(crate) fn retry_after_secs(response: &Response) -> Option<u64> {
    let text = response.header("retry-after")?.trim();
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => {
            let until = httpdate::parse_http_date(text).ok()?;
            let sent = httpdate::parse_http_date(response.header("date")?).ok()?;
            until.duration_since(sent).ok()?.as_secs()
        }
    };
    Some(seconds.min(MAX_PAUSE_SECS))
}

#[cfg(test)]
mod tests;
