//! Waits until a page is ready, and turns it into an answer.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::cdp::{Fault, LOST, Page};
use super::egress::PageLoad;
use crate::modules::probe::{ProbeError, Request, Response};
use crate::modules::reason::Reason;

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

/// Returns an error if the fault ends the wait. It does not if the browser is switching from one document to the next, or
/// if the page hangs.
fn end_by(fault: Fault) -> Result<(), ProbeError> {
    match fault {
        Fault::Refused | Fault::Late => Ok(()),
        fault => Err(fault.error(LOST)),
    }
}

/// Checks a page that the browser begins to load now until it is ready. Returns its HTML as the answer.
pub(super) fn wait_for(
    page: &mut Page,
    request: &Request,
    page_load: &PageLoad,
    deadline: Instant,
) -> Result<Response, ProbeError> {
    let margin = LAST_CHECK_MARGIN.min(deadline.saturating_duration_since(Instant::now()) / 5);
    let mut last_check = deadline.checked_sub(margin).unwrap_or(deadline);
    let (mut pause, mut is_seen) = (FIRST_PAUSE, false);
    loop {
        let now = Instant::now();
        if now >= deadline {
            return Err(ProbeError::late(if is_seen {
                Reason::TimeoutBody
            } else {
                Reason::TimeoutFirstByte
            }));
        }
        let with = json!([request.marks, request.body_limit, now >= last_check]);
        let seen = page.call(PAGE_STATE, &with, deadline.min(now + CHECK_TIMEOUT));
        let is_answered = match &page.is_answered {
            Ok(is_answered) => *is_answered,
            Err(why) => {
                let (is_empty, error) = (why.contains("HTTP_RESPONSE_CODE_FAILURE"), from_code(why));
                return match (refusal(page, page_load, deadline), page.status) {
                    // For an error status with an empty page, the browser shows its own page.
                    (None, Some(status)) if is_empty => {
                        let url = page.url(deadline).map_or_else(String::new, String::from);
                        answer(request, status, &url, String::new(), false)
                    }
                    (refusal, _) => Err(refusal.unwrap_or(error)),
                };
            }
        };
        match seen.map(PageState::deserialize) {
            Ok(Ok(PageState::Page { state, status, url, html, is_cut })) => {
                is_seen = true;
                if state == "complete" && status >= 400 {
                    last_check = last_check.min(now + ERROR_PAGE_TIMEOUT);
                }
                if let Some(html) = html {
                    return answer(request, status, &url, html, is_cut);
                }
            }
            // The page has led to another one.
            Ok(Ok(PageState::Error)) if is_answered => {
                let other = || Reason::Connect.because("the page leads to one that does not load");
                return Err(refusal(page, page_load, deadline).unwrap_or_else(other));
            }
            // A page can change the browser's objects, which makes the script's result invalid.
            Ok(_) => {}
            Err(fault) => end_by(fault)?,
        }
        let now = Instant::now();
        // The last check must begin before the deadline.
        let next = (now + pause).min(if now < last_check { last_check } else { deadline });
        pause = LONGEST_PAUSE.min(pause * 3 / 2);
        page.attend(next).or_else(end_by)?;
    }
}

/// Returns the reason why the egress proxy refused the page that the browser could not load, if it did.
fn refusal(page: &mut Page, page_load: &PageLoad, deadline: Instant) -> Option<ProbeError> {
    if page_load.is_too_large() {
        return Some(Reason::Body.because("the page loads too much"));
    }
    page_load.refusal(page.url(deadline)?.host_str()?)
}

fn answer(
    request: &Request,
    status: u16,
    url: &str,
    html: String,
    is_cut: bool,
) -> Result<Response, ProbeError> {
    let final_url = Url::parse(url).map_err(|_| Reason::Protocol.because("the page has no valid URL"))?;
    let (body, truncated) = truncate(html, request.body_limit);
    let headers = vec![("content-type".into(), "text/html; charset=utf-8".into())];
    Ok(Response { status, final_url, headers, body, truncated: truncated || is_cut })
}

/// Cuts HTML to at most `limit` bytes, at the end of a character. Returns whether it was longer.
fn truncate(mut html: String, limit: usize) -> (Vec<u8>, bool) {
    let end = (0..=limit.min(html.len())).rev().find(|at| html.is_char_boundary(*at)).unwrap_or_default();
    let is_cut = end < html.len();
    html.truncate(end);
    (html.into_bytes(), is_cut)
}

/// Converts the name of a network error, such as `net::ERR_NAME_NOT_RESOLVED`.
fn from_code(code: &str) -> ProbeError {
    let code = code.trim_start_matches("net::");
    let is = |signs: &[&str]| signs.iter().any(|sign| code.contains(sign));
    if is(&["PROXY_CONNECTION"]) {
        Reason::Browser.because("the browser does not reach the egress proxy (--browser-guard)")
    } else if is(&["INTERNET_DISCONNECTED", "NETWORK_CHANGED", "INSUFFICIENT_RESOURCES"]) {
        Reason::Browser.because(format!("the browser cannot load pages: {code}"))
    } else if is(&["NAME_NOT_RESOLVED", "DNS_PROBE", "NAME_RESOLUTION"]) {
        Reason::Dns.because("the name does not resolve")
    } else if is(&["REDIRECT"]) {
        Reason::Redirect
            .because("more redirects than a browser follows, or to a URL that is not http or https")
    } else if is(&["CERT", "SSL"]) {
        Reason::Tls.because(code.to_owned())
    } else if is(&["TIMED_OUT"]) {
        ProbeError::late(Reason::TimeoutFirstByte)
    } else if is(&["CONNECTION", "TUNNEL", "EMPTY_RESPONSE", "SOCKET"]) {
        Reason::Connect.because(code.to_owned())
    } else if is(&["ABORTED"]) {
        Reason::Protocol.because("the site shows no page, but a download or nothing")
    } else {
        Reason::Protocol.because(code.to_owned())
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
            assert_eq!(from_code(code).reason.as_str(), reason, "{code}");
        }
    }
}
