//! Waits until a page is ready, and turns it into an answer.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::cdp::{Fault, Page};
use super::egress::PageLoad;
use crate::modules::probe::{Phase, ProbeError, Request, Response};

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

/// The time limit of one check. A page that hangs, or is just being replaced by the next one, may never answer.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3);

/// The state of a page, as the script returns it.
#[derive(Debug, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
enum PageState {
    /// Nothing is loaded yet.
    None,
    /// The browser shows its own error page.
    Error,
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

/// Returns the error if the fault ends the wait. It does not if the browser is switching from one document to the next, or
/// if the page hangs.
fn ended_by(fault: &Fault) -> Option<ProbeError> {
    match fault {
        Fault::Refused(_) | Fault::Late => None,
        Fault::Closed => Some(ProbeError::Protocol("the page closed itself".into())),
        Fault::Crashed => Some(ProbeError::Browser("the page crashed its browser".into())),
        Fault::Gone(_) | Fault::TooLarge => {
            Some(ProbeError::Browser(format!("the browser was lost: {}", fault.kind())))
        }
    }
}

/// A page that is being loaded, with its request.
pub(super) struct Waiting<'a> {
    request: &'a Request,
    page_load: &'a PageLoad,
    deadline: Instant,
    last_check: Instant,
    pause: Duration,
    is_seen: bool,
    loaded_with_error: Option<Instant>,
}

impl<'a> Waiting<'a> {
    /// Begins to wait for a page that the browser begins to load now.
    pub(super) fn new(request: &'a Request, page_load: &'a PageLoad, deadline: Instant) -> Self {
        let margin = LAST_CHECK_MARGIN.min(deadline.saturating_duration_since(Instant::now()) / 5);
        Self {
            request,
            page_load,
            deadline,
            last_check: deadline.checked_sub(margin).unwrap_or(deadline),
            pause: FIRST_PAUSE,
            is_seen: false,
            loaded_with_error: None,
        }
    }

    /// Checks the page until it is ready.
    pub(super) fn wait_for(mut self, page: &mut Page) -> Result<Response, ProbeError> {
        loop {
            if let Some(done) = self.check(page) {
                return done;
            }
            let paused = page.attend(self.next_check());
            if let Some(error) = paused.err().and_then(|fault| ended_by(&fault)) {
                return Err(error);
            }
        }
    }

    /// Checks the page once. Returns `None` if it is not ready.
    fn check(&mut self, page: &mut Page) -> Option<Result<Response, ProbeError>> {
        let now = Instant::now();
        if now >= self.deadline {
            let phase = if self.is_seen { Phase::Body } else { Phase::FirstByte };
            return Some(Err(ProbeError::Timeout(phase)));
        }
        let is_error_page_over =
            self.loaded_with_error.is_some_and(|since| now >= since + ERROR_PAGE_TIMEOUT);
        let is_last = is_error_page_over || now >= self.last_check;
        let with = json!([self.request.marks, self.request.body_limit, is_last]);
        let seen = page.call(PAGE_STATE, &with, false, self.deadline.min(now + CHECK_TIMEOUT));
        let is_answered = match page.has_answer() {
            Ok(is_answered) => is_answered,
            Err(why) => {
                let (is_empty, error) = (why.contains("HTTP_RESPONSE_CODE_FAILURE"), from_code(why));
                return Some(match (self.refusal(page), page.status) {
                    // For an error status with an empty page, the browser shows its own page.
                    (None, Some(status)) if is_empty => {
                        let url = page.url(self.deadline).map_or_else(String::new, String::from);
                        self.answer(status, &url, String::new(), false)
                    }
                    (refusal, _) => Err(refusal.unwrap_or(error)),
                });
            }
        };
        match seen {
            // A page can change the browser's objects, which makes the script's result invalid.
            Ok(seen) => match PageState::deserialize(seen).ok()? {
                PageState::None => None,
                // The page has led to another one.
                PageState::Error if is_answered => Some(Err(self.refusal(page).unwrap_or_else(|| {
                    ProbeError::Connect("the page leads to one that does not load".into())
                }))),
                PageState::Error => None,
                PageState::Page { state, status, url, html, is_cut, .. } => {
                    self.note(&state, status, now);
                    html.map(|html| self.answer(status, &url, html, is_cut))
                }
            },
            Err(fault) => ended_by(&fault).map(Err),
        }
    }

    fn note(&mut self, state: &str, status: u16, now: Instant) {
        self.is_seen = true;
        if state == "complete" && status >= 400 {
            self.loaded_with_error.get_or_insert(now);
        }
    }

    /// Returns the reason why the egress proxy refused the page that the browser could not load, if it did.
    fn refusal(&self, page: &mut Page) -> Option<ProbeError> {
        if self.page_load.is_too_large() {
            return Some(ProbeError::Body("the page loads too much".into()));
        }
        let url = page.url(self.deadline)?;
        self.page_load.refusal(url.host_str()?)
    }

    fn answer(&self, status: u16, url: &str, html: String, is_cut: bool) -> Result<Response, ProbeError> {
        let Ok(final_url) = Url::parse(url) else {
            return Err(ProbeError::Protocol("the page has no valid URL".into()));
        };
        let (body, truncated) = truncate(html, self.request.body_limit);
        Ok(Response {
            status,
            final_url,
            headers: vec![("content-type".into(), "text/html; charset=utf-8".into())],
            body,
            truncated: truncated || is_cut,
        })
    }

    /// Returns the time of the next check.
    fn next_check(&mut self) -> Instant {
        let now = Instant::now();
        let next = now + self.pause;
        self.pause = LONGEST_PAUSE.min(self.pause * 3 / 2);
        // The last check must begin before the deadline.
        next.min(if now < self.last_check { self.last_check } else { self.deadline })
    }
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

/// Converts the name of a network error, such as `net::ERR_NAME_NOT_RESOLVED`.
fn from_code(code: &str) -> ProbeError {
    let code = code.trim_start_matches("net::");
    let is = |signs: &[&str]| signs.iter().any(|sign| code.contains(sign));
    if is(&["PROXY_CONNECTION"]) {
        ProbeError::Browser("the browser does not reach the egress proxy (--browser-guard)".into())
    } else if is(&["INTERNET_DISCONNECTED", "NETWORK_CHANGED", "INSUFFICIENT_RESOURCES"]) {
        ProbeError::Browser(format!("the browser cannot load pages: {code}"))
    } else if is(&["NAME_NOT_RESOLVED", "DNS_PROBE", "NAME_RESOLUTION"]) {
        ProbeError::Dns("the name does not resolve".into())
    } else if is(&["REDIRECT"]) {
        ProbeError::Redirect(
            "more redirects than a browser follows, or to a URL that is not http or https".into(),
        )
    } else if is(&["CERT", "SSL"]) {
        ProbeError::Tls(code.to_owned())
    } else if is(&["TIMED_OUT"]) {
        ProbeError::Timeout(Phase::FirstByte)
    } else if is(&["CONNECTION", "TUNNEL", "EMPTY_RESPONSE", "SOCKET"]) {
        ProbeError::Connect(code.to_owned())
    } else if is(&["ABORTED"]) {
        ProbeError::Protocol("the site shows no page, but a download or nothing".into())
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
            ("net::ERR_NAME_NOT_RESOLVED", "dns"),
            ("ERR_TOO_MANY_REDIRECTS", "redirect"),
            ("ERR_CERT_DATE_INVALID", "tls"),
            ("ERR_SSL_PROTOCOL_ERROR", "tls"),
            ("ERR_TIMED_OUT", "timeout_first_byte"),
            ("ERR_EMPTY_RESPONSE", "connect"),
            ("ERR_TUNNEL_CONNECTION_FAILED", "connect"),
            ("net::ERR_PROXY_CONNECTION_FAILED", "browser"),
            ("ERR_INTERNET_DISCONNECTED", "browser"),
            ("ERR_NETWORK_CHANGED", "browser"),
            ("ERR_INSUFFICIENT_RESOURCES", "browser"),
            ("ERR_INVALID_HTTP_RESPONSE", "protocol"),
            ("net::ERR_ABORTED", "protocol"),
        ] {
            assert_eq!(from_code(code).reason().as_str(), reason, "{code}");
        }
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
