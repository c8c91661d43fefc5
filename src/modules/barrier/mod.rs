//! Barriers: captchas, challenges, consent, login walls, limit pages. They win over every rule.
//!
//! The list is careful about false alarms: a page that merely loads a captcha script, or shows a link to
//! sign in, is no wall. So most marks count with a refusing status only, and marks that count with any
//! status are texts that nothing but the wall itself holds.

mod address;
mod list;
mod reading;
mod walls;
mod words;

use std::time::SystemTime;

use url::Url;

use super::definition::Contact;
use super::module::{BARRIER_REACH, Module};
use super::outcome::Outcome;
use super::probe::Response;
pub(crate) use address::{is_login, landed};
use list::WALLS;
use walls::{Needs, Wall};
use words::Seen;

/// What stood in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Barrier {
    /// `Blocked` or `RateLimited`.
    pub(crate) outcome: Outcome,
    /// The outcome's reason: `captcha`, `cloudflare_challenge`, `login_wall`, `rate_limit`, …
    pub(crate) name: &'static str,
}

impl Barrier {
    pub(crate) const fn block(name: &'static str) -> Self {
        Self { outcome: Outcome::Blocked, name }
    }

    const fn limit(name: &'static str) -> Self {
        Self { outcome: Outcome::RateLimited, name }
    }
}

/// Looks for a wall of the global list. `asked`: where the request was sent, if that is known.
pub(crate) fn find(module: &Module, response: &Response, asked: Option<&Url>) -> Option<Barrier> {
    if response.status == 429 {
        return Some(limit_of_429(response));
    }
    if response.status == 503 && response.header("retry-after").is_some() {
        return Some(Barrier::limit("rate_limit"));
    }
    if response.status == 999 {
        return Some(Barrier::block("login_wall"));
    }
    // The front page of the queried domain may well be one to sign in.
    let is_own_page = || module.entry().contact == Contact::TargetWeb;
    let is_told = || is_about_logins(module) || judges_redirects(module);
    // Whoever says what it means to land at a sign-in page does not speak of one that stands elsewhere.
    let is_landed = || judges_redirects(module) && is_login(landed(response).path());
    by_list(response, || is_own_page() || is_about_logins(module) || is_landed())
        .or_else(|| address::find(response, asked, is_told))
}

/// A limit, whatever else the page says; whose it is.
fn limit_of_429(response: &Response) -> Barrier {
    let is_cloudflare = words_in(response).has("error code: 1015");
    Barrier::limit(if is_cloudflare { "cloudflare_rate_limit" } else { "rate_limit" })
}

fn by_list(response: &Response, knows_logins: impl Fn() -> bool) -> Option<Barrier> {
    let words = words_in(response);
    let kind = Kind::of(response);
    let wall = WALLS.iter().find(|wall| {
        holds(wall, response, kind, &words) && !(matches!(wall.needs, Needs::LoginPage) && knows_logins())
    })?;
    Some(if wall.is_limit { Barrier::limit(wall.name) } else { Barrier::block(wall.name) })
}

/// The words of the list that stand in the first part of the body.
fn words_in(response: &Response) -> Seen {
    Seen::look(&response.body[..response.body.len().min(BARRIER_REACH)])
}

/// The longest body that may be nothing but a message.
const BARE_BYTES: usize = 300;

/// What kind of body an answer has, by its content type and its first character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Page,
    Json,
    /// Plain text of a few words.
    Bare,
    Other,
}

impl Kind {
    fn of(response: &Response) -> Self {
        let content_type = response.header("content-type").unwrap_or_default().to_ascii_lowercase();
        let body = response.body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&response.body).trim_ascii_start();
        let first = body.first().copied().unwrap_or_default();
        if matches!(first, b'{' | b'[') {
            return Self::Json;
        }
        let is_text = content_type.is_empty() || content_type.contains("text/plain");
        match first {
            b'<' if is_text || content_type.contains("html") => Self::Page,
            _ if is_text && body.len() <= BARE_BYTES => Self::Bare,
            _ if content_type.contains("html") || content_type.contains("text/plain") => Self::Page,
            _ => Self::Other,
        }
    }
}

fn holds(wall: &Wall, response: &Response, kind: Kind, words: &Seen) -> bool {
    let status = response.status;
    let fits = match wall.needs {
        Needs::Any => true,
        Needs::Page | Needs::LoginPage => kind == Kind::Page,
        Needs::Success => kind == Kind::Page && (200..300).contains(&status),
        Needs::Json => kind == Kind::Json,
        Needs::Bare => kind == Kind::Bare,
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
        && wall.all.iter().all(|word| words.has(word))
        && [wall.any, wall.also].iter().all(|one| one.is_empty() || one.iter().any(|word| words.has(word)))
        && !wall.none.iter().any(|word| words.has(word))
        && (!wall.is_short || reading::is_little(&response.body))
}

/// Modules that ask a sign-in page: one is no wall to them.
fn is_about_logins(module: &Module) -> bool {
    let asks_login = module.entry().probes.iter().any(|probe| {
        let url = probe.url.to_ascii_lowercase();
        ["login", "signin", "sign-in", "sign_in", "log-in"].iter().any(|word| url.contains(word))
    });
    module.entry().discovery || asks_login
}

/// Modules that say themselves what a redirect means.
fn judges_redirects(module: &Module) -> bool {
    let mut rules = module.barrier.iter().chain(&module.hit).chain(&module.miss);
    rules.any(super::rule::matcher::Matcher::judges_redirects)
}

/// The longest pause that a site can ask for.
const MAX_PAUSE_SECS: u64 = 86_400;

/// For how many seconds an answer asks to be left alone: a wall, or one that refuses or fails. With other answers
/// `Retry-After` speaks of something else, such as work that is under way (RFC 9110, 10.2.3).
pub(crate) fn pause_secs(response: &Response, is_wall: bool) -> Option<u64> {
    let is_refusal = matches!(response.status, 403 | 429) || response.status >= 500;
    retry_after_secs(response).filter(|secs| (is_wall || is_refusal) && *secs > 0)
}

/// `Retry-After` in whole seconds: a number, or a date against the answer's own `Date`, else our own clock.
fn retry_after_secs(response: &Response) -> Option<u64> {
    let text = response.header("retry-after")?.trim();
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => {
            let until = httpdate::parse_http_date(text).ok()?;
            let date = response.header("date").and_then(|date| httpdate::parse_http_date(date.trim()).ok());
            let sent = date.unwrap_or_else(SystemTime::now);
            until.duration_since(sent).ok()?.as_secs()
        }
    };
    Some(seconds.min(MAX_PAUSE_SECS))
}

#[cfg(test)]
mod tests;
