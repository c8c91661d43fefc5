//! Waits until a page is ready, and turns it into an answer.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::client::Fault;
use super::egress::{PageLoad, real_url};
use super::session::Session;
use crate::modules::probe::{Mark, Phase, ProbeError, Request, Response};

const PAGE_STATE: &str = include_str!("page_state.js");
/// The first pause between two checks. The pauses grow, because most pages are ready either soon or late.
const FIRST_PAUSE: Duration = Duration::from_millis(40);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// The time that a page with an error status gets after it has loaded, if none of the marks matches. It is probably a
/// challenge page.
const ERROR_PAGE_TIMEOUT: Duration = Duration::from_secs(2);
/// The time before the deadline at which the current state of a page is used. With a short deadline it is a fifth of
/// the time.
const LAST_CHECK_MARGIN: Duration = Duration::from_millis(700);

/// The maximum length of the name of a network error.
const MAX_CODE: usize = 64;

/// A page that is being loaded, with its request.
pub(super) struct Task<'a> {
    pub(super) request: &'a Request,
    pub(super) page_load: &'a PageLoad,
    /// The time at which the browser began to load the page.
    pub(super) began: Instant,
    pub(super) deadline: Instant,
    /// Whether the URL belongs to the simulated web.
    pub(super) is_simulated: bool,
}

/// A failed wait for a page.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: ProbeError,
    /// Whether the session may be broken and must be replaced.
    pub(super) is_session_broken: bool,
}

/// The state of a page, as the script returns it.
#[derive(Debug, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
enum PageState {
    /// Nothing is loaded yet.
    None,
    /// The browser shows its own error page.
    Error { why: String },
    /// The browser shows a page of the site.
    #[serde(rename_all = "camelCase")]
    Page {
        state: String,
        status: u16,
        url: String,
        html: Option<String>,
        #[serde(default)]
        is_cut: bool,
    },
}

/// Checks the page that the session is loading until it is ready.
pub(super) fn wait_for_page(session: &Session, task: &Task<'_>) -> Result<Response, Failure> {
    let mut waiting = Waiting::new(task);
    loop {
        match waiting.check(session) {
            Some(done) => return done,
            None => waiting.pause(),
        }
    }
}

struct Waiting<'a> {
    task: &'a Task<'a>,
    marks: Value,
    last_check: Instant,
    pause: Duration,
    first_seen: Option<Instant>,
    loaded_with_error: Option<Instant>,
    is_hanging: bool,
}

impl<'a> Waiting<'a> {
    fn new(task: &'a Task<'a>) -> Self {
        let marks = task.request.render.iter().flat_map(|render| &render.until).map(as_json).collect();
        let margin = LAST_CHECK_MARGIN.min(task.deadline.saturating_duration_since(task.began) / 5);
        Self {
            task,
            marks,
            last_check: task.deadline.checked_sub(margin).unwrap_or(task.deadline),
            pause: FIRST_PAUSE,
            first_seen: None,
            loaded_with_error: None,
            is_hanging: false,
        }
    }

    /// Checks the page once. Returns `None` if it is not ready.
    fn check(&mut self, session: &Session) -> Option<Result<Response, Failure>> {
        let now = Instant::now();
        if now >= self.task.deadline {
            return Some(Err(self.timeout()));
        }
        let is_error_page_over =
            self.loaded_with_error.is_some_and(|since| now >= since + ERROR_PAGE_TIMEOUT);
        let is_last = is_error_page_over || now >= self.last_check;
        let with = json!([self.marks, self.task.request.body_limit, self.task.is_simulated, is_last]);
        let seen = match session.run(PAGE_STATE, &with, self.task.deadline) {
            Ok(seen) => seen,
            Err(fault) => return self.handle_fault(&fault),
        };
        self.is_hanging = false;
        // A page can change the browser's objects, which makes the script's result invalid.
        match PageState::deserialize(seen).ok()? {
            PageState::None => None,
            PageState::Error { why } => Some(Err(failed(self.network_error(session, &as_code(&why)), false))),
            PageState::Page { state, status, url, html, is_cut, .. } => {
                self.note(&state, status, now);
                let html = html?;
                Some(self.answer(status, &url, html, is_cut))
            }
        }
    }

    fn note(&mut self, state: &str, status: u16, now: Instant) {
        self.first_seen.get_or_insert(now);
        if state == "complete" && status >= 400 {
            self.loaded_with_error.get_or_insert(now);
        }
    }

    /// Handles a failed check. Most faults are temporary: the browser is switching from one document to the next.
    fn handle_fault(&mut self, fault: &Fault) -> Option<Result<Response, Failure>> {
        if fault.is_crash() {
            let why = "the page crashed its browser".into();
            return Some(Err(failed(ProbeError::Browser(why), true)));
        }
        if *fault == Fault::Late {
            self.is_hanging = true;
            return Some(Err(self.timeout()));
        }
        if fault.is_end_of_session() {
            return Some(Err(failed(
                ProbeError::Browser(format!("the browser was lost: {}", fault.kind())),
                true,
            )));
        }
        if fault.is_closed_window() {
            return Some(Err(failed(ProbeError::Protocol("the page closed itself".into()), true)));
        }
        self.is_hanging = fault.is_blocked_script();
        None
    }

    fn timeout(&self) -> Failure {
        let phase = if self.first_seen.is_some() { Phase::Body } else { Phase::FirstByte };
        // A page that blocks scripts may block everything else, too.
        failed(ProbeError::Timeout(phase), self.is_hanging)
    }

    /// Converts the browser's error page to an error. For a request that the egress proxy refused, its own error is
    /// used.
    fn network_error(&self, session: &Session, why: &str) -> ProbeError {
        if self.task.page_load.is_too_large() {
            return ProbeError::Body("the page loads too much".into());
        }
        let url = session.url(self.task.deadline);
        let refusal = url.as_ref().and_then(Url::host_str).and_then(|host| self.task.page_load.refusal(host));
        refusal.unwrap_or_else(|| from_code(why))
    }

    fn answer(&self, status: u16, url: &str, html: String, is_cut: bool) -> Result<Response, Failure> {
        let Ok(shown) = Url::parse(url) else {
            return Err(failed(ProbeError::Protocol("the page has no valid URL".into()), false));
        };
        let final_url = if self.task.is_simulated { real_url(&shown) } else { shown };
        let limit = self.task.request.body_limit;
        let (body, truncated) = truncate(html, limit);
        Ok(Response {
            status,
            final_url,
            headers: vec![("content-type".into(), "text/html; charset=utf-8".into())],
            body,
            truncated: truncated || is_cut,
        })
    }

    fn pause(&mut self) {
        let now = Instant::now();
        // The last check must begin before the deadline.
        let until = if now < self.last_check { self.last_check } else { self.task.deadline };
        std::thread::sleep(self.pause.min(until.saturating_duration_since(now)));
        self.pause = LONGEST_PAUSE.min(self.pause * 3 / 2);
    }
}

fn failed(error: ProbeError, is_session_broken: bool) -> Failure {
    Failure { error, is_session_broken }
}

fn as_json(mark: &Mark) -> Value {
    let (kind, value) = match mark {
        Mark::Css(value) => ("css", value),
        Mark::Text(value) => ("text", value),
        Mark::Source(value) => ("source", value),
        Mark::Title(value) => ("title", value),
        Mark::TitleIs(value) => ("title_is", value),
        Mark::Url(value) => ("url", value),
    };
    json!({"kind": kind, "value": value})
}

/// Cuts HTML to at most `limit` bytes, at the end of a character. Returns whether it was longer.
fn truncate(html: String, limit: usize) -> (Vec<u8>, bool) {
    if html.len() <= limit {
        return (html.into_bytes(), false);
    }
    let end = (0..=limit).rev().find(|at| html.is_char_boundary(*at)).unwrap_or_default();
    let mut bytes = html.into_bytes();
    bytes.truncate(end);
    (bytes, true)
}

/// Returns the name of a browser's error without other characters, since a page can imitate a browser's error page.
fn as_code(why: &str) -> String {
    why.chars().filter(char::is_ascii_graphic).take(MAX_CODE).collect()
}

/// Converts the name of a network error of Chromium or Firefox.
fn from_code(code: &str) -> ProbeError {
    let is = |signs: &[&str]| signs.iter().any(|sign| code.contains(sign));
    if is(&["NAME_NOT_RESOLVED", "DNS_PROBE", "NAME_RESOLUTION", "dnsNotFound"]) {
        ProbeError::Dns("the name does not resolve".into())
    } else if is(&["REDIRECT", "redirectLoop"]) {
        ProbeError::Redirect(
            "more redirects than a browser follows, or to a URL that is not http or https".into(),
        )
    } else if is(&["CERT", "SSL", "nssFailure", "nssBadCert"]) {
        ProbeError::Tls(code.to_owned())
    } else if is(&["TIMED_OUT", "netTimeout"]) {
        ProbeError::Timeout(Phase::FirstByte)
    } else if is(&[
        "CONNECTION",
        "TUNNEL",
        "EMPTY_RESPONSE",
        "SOCKET",
        "connectionFailure",
        "netReset",
        "netInterrupt",
    ]) {
        ProbeError::Connect(code.to_owned())
    } else {
        ProbeError::Protocol(code.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_cut_between_characters() {
        assert_eq!(truncate("aéb".into(), 4), ("aéb".into(), false));
        assert_eq!(truncate("aéb".into(), 3), ("aé".into(), true));
        assert_eq!(truncate("aéb".into(), 2), ("a".into(), true));
        assert_eq!(truncate("é".into(), 0), (Vec::new(), true));
    }

    #[test]
    fn names_of_browser_errors_are_converted() {
        for (code, reason) in [
            ("ERR_NAME_NOT_RESOLVED", "dns"),
            ("ERR_TOO_MANY_REDIRECTS", "redirect"),
            ("ERR_CERT_DATE_INVALID", "tls"),
            ("ERR_SSL_PROTOCOL_ERROR", "tls"),
            ("ERR_TIMED_OUT", "timeout_first_byte"),
            ("ERR_EMPTY_RESPONSE", "connect"),
            ("ERR_TUNNEL_CONNECTION_FAILED", "connect"),
            ("ERR_INVALID_HTTP_RESPONSE", "protocol"),
            ("dnsNotFound", "dns"),
        ] {
            assert_eq!(from_code(code).reason().as_str(), reason, "{code}");
        }
    }

    #[test]
    fn the_name_of_an_error_is_short_and_printable() {
        assert_eq!(as_code("ERR_NAME_NOT_RESOLVED"), "ERR_NAME_NOT_RESOLVED");
        assert_eq!(as_code("a\u{1b}[31m b\r\nc\u{202e}é\0"), "a[31mbc");
        assert_eq!(as_code(&"x".repeat(100_000)).len(), MAX_CODE);
    }

    #[test]
    fn the_result_of_the_script_is_parsed_strictly() {
        let page = json!({"stage": "page", "state": "complete", "status": 200, "isReady": false, "url": "x"});
        assert!(matches!(
            PageState::deserialize(page),
            Ok(PageState::Page { html: None, is_cut: false, .. })
        ));
        assert!(matches!(PageState::deserialize(json!({"stage": "none"})), Ok(PageState::None)));
        for invalid in
            [json!(null), json!("x"), json!({"stage": "page", "status": -1}), json!({"stage": "else"})]
        {
            assert!(PageState::deserialize(invalid.clone()).is_err(), "{invalid}");
        }
    }
}
