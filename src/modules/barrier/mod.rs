//! Detection of barriers: captchas, challenges, consent pages, sign-in pages and rate-limit pages. A barrier
//! takes precedence over every rule.
//!
//! The list avoids false alarms: a page that only loads a captcha script, or shows a link to sign in, is not
//! a barrier. Most patterns therefore count only with an error status. Patterns that count with any status
//! are texts that only a barrier contains.

mod address;
mod list;

use std::time::SystemTime;

use url::Url;

use super::answer::Answer;
use super::definition::{Contact, Matcher};
use super::module::Module;
use super::outcome::Outcome;
use super::probe::Response;
use super::reason::Reason;
use super::template::Values;
use address::is_login;
pub(crate) use address::{final_target, leads_to_login, segments, site};
pub(crate) use list::BARRIER_REACH;
use list::{LIST, Needs, Pattern, Seen};

/// Returns the outcome and the reason for a response that is a barrier: a page that a site shows instead of the requested
/// one. Barriers that modules define are not included.
///
/// `asked` is the address of the request, if it is known.
pub(crate) fn find(
    module: &Module,
    answer: &Answer<'_>,
    asked: Option<&Url>,
    values: &Values<'_>,
) -> Option<(Outcome, Reason)> {
    let response = answer.response;
    // The home page of the queried domain may be a sign-in page.
    let is_own_page = || module.entry().contact == Contact::TargetWeb;
    let expects_logins = || is_about_logins(module) || judges_redirects(module);
    // A rule about a redirect to a sign-in page says nothing about a sign-in page at another address.
    let is_landed = || judges_redirects(module) && is_login(final_target(response).path());
    let knows_logins = || is_own_page() || is_about_logins(module) || is_landed();
    let (words, kind) = (Seen::look(&response.body), Kind::of(response));
    let found = LIST.patterns.iter().find(|pattern| {
        holds(pattern, answer, kind, &words) && !(pattern.needs == Needs::LoginPage && knows_logins())
    });
    let in_address = || {
        address::find(response, asked, values)
            .filter(|reason| *reason != Reason::LoginWall || !expects_logins())
    };
    let reason = found.map(|pattern| pattern.reason).or_else(in_address)?;
    let is_limit = matches!(reason, Reason::RateLimit | Reason::CloudflareRateLimit);
    Some((if is_limit { Outcome::RateLimited } else { Outcome::Blocked }, reason))
}

/// The number of bytes of text, without white space, below which a page contains little text.
const LITTLE: usize = 2_000;
/// The maximum size in bytes of a body that contains only a short message.
const BARE_BYTES: usize = 300;

/// The kind of a response's body, by its content type and its first character.
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

fn holds(pattern: &Pattern, answer: &Answer<'_>, kind: Kind, words: &Seen) -> bool {
    let response = answer.response;
    let status = response.status;
    let fits = match pattern.needs {
        Needs::Any => true,
        Needs::Page | Needs::LoginPage => kind == Kind::Page,
        Needs::Success => kind == Kind::Page && (200..300).contains(&status),
        Needs::Json => kind == Kind::Json,
        Needs::Bare => kind == Kind::Bare,
        Needs::Refusal => matches!(status, 403 | 405 | 406 | 418 | 456 | 498 | 503),
        Needs::Failure => status >= 400,
    };
    let has_header = |(name, part): &(String, String)| {
        response.headers_of(name).any(|value| match part.strip_prefix('=') {
            Some(whole) => value == whole,
            None => value.to_ascii_lowercase().contains(part.as_str()),
        })
    };
    fits && (pattern.status.is_empty() || pattern.status.contains(&status))
        && (pattern.header.is_empty() || pattern.header.iter().any(has_header))
        && pattern.all.iter().all(|word| words.has(word))
        && [&pattern.any, &pattern.also]
            .iter()
            .all(|one| one.is_empty() || one.iter().any(|word| words.has(word)))
        && !pattern.none.iter().any(|word| words.has(word))
        && (!pattern.short || is_short(answer))
}

/// Returns whether a page contains little visible text. A large body is never a barrier.
fn is_short(answer: &Answer<'_>) -> bool {
    let text = || answer.visible_text().bytes().filter(|byte| !byte.is_ascii_whitespace());
    answer.response.body.len() <= BARRIER_REACH && text().take(LITTLE).count() < LITTLE
}

/// Returns whether a module sends requests to a sign-in page, which is then not a barrier.
fn is_about_logins(module: &Module) -> bool {
    let asks_login = module.entry().probes.iter().any(|probe| {
        let url = probe.url.to_ascii_lowercase();
        LIST.addresses.logins.iter().any(|word| url.contains(word.as_str()))
    });
    module.entry().discovery || asks_login
}

/// Returns whether a module has its own rules for redirects.
fn judges_redirects(module: &Module) -> bool {
    let mut rules = module.entry().rules().map(|(.., rule)| rule);
    rules.any(Matcher::judges_redirects)
}

/// The maximum pause that a site can ask for, in seconds.
const MAX_PAUSE_SECS: u64 = 86_400;

/// Returns the number of seconds for which a response asks clients to wait, if it is a barrier, a refusal or
/// a server error. In other responses, `Retry-After` has another meaning, such as the time until a task is
/// done (RFC 9110, section 10.2.3).
pub(crate) fn pause_secs(response: &Response, is_barrier: bool) -> Option<u64> {
    let is_refusal = matches!(response.status, 403 | 429) || response.status >= 500;
    retry_after_secs(response).filter(|secs| (is_barrier || is_refusal) && *secs > 0)
}

/// Returns `Retry-After` in whole seconds. A date is compared with the response's `Date`, or with the local
/// clock if there is none.
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
