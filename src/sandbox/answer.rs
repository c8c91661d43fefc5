//! [`Answer`]: what a simulated site says.

use std::time::{Duration, Instant};

use ureq::http::{HeaderName, HeaderValue};
use url::Url;

use crate::modules::definition::Method;
use crate::modules::probe::{CookieJar, Phase, ProbeError, Request, Response};

/// An answer of a site. `Content-Length` is added when it is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// The HTTP status, from 200 to 599.
    pub(super) status: u16,
    /// The headers in order, as name and value.
    pub(super) headers: Vec<(String, String)>,
    /// The body of the answer.
    pub(super) body: Vec<u8>,
    /// The address that the site redirects to and that gives the answer; `None` if it does not redirect.
    pub(super) moved_to: Option<Url>,
}

impl Answer {
    /// Returns an answer with a body of the given content type.
    pub(super) fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type".to_owned(), content_type.to_owned())];
        Self { status, headers, body: body.into(), moved_to: None }
    }

    /// Adds a header to the answer.
    #[must_use]
    pub(super) fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Returns whether HTTP carries the answer without changes.
    pub(super) fn is_sendable(&self) -> bool {
        let is_bodiless = matches!(self.status, 204 | 304);
        (200..=599).contains(&self.status)
            && (!is_bodiless || self.body.is_empty())
            && self.headers.iter().all(|(name, value)| is_header(name, value))
    }

    /// Returns the response to a request for `asked` that reads at most `body_limit` bytes of the body.
    pub(super) fn response(self, asked: &Url, body_limit: usize) -> Response {
        let Self { status, headers, mut body, moved_to } = self;
        let mut headers: Vec<_> =
            headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        headers.push(("content-length".to_owned(), body.len().to_string()));
        let truncated = body.len() > body_limit;
        body.truncate(body_limit);
        Response { status, final_url: moved_to.unwrap_or_else(|| asked.clone()), headers, body, truncated }
    }

    /// Returns the response that a prober gets, and stores its cookies.
    ///
    /// # Errors
    /// Returns an error if the answer redirects to an address that never answers differently.
    pub(super) fn sent(mut self, request: &Request, jar: &mut CookieJar) -> Result<Response, ProbeError> {
        if request.method == Method::Head {
            self.body.clear();
        }
        let response = self.response(&request.url, request.body_limit);
        let redirects = (300..400).contains(&response.status) && response.header("location").is_some();
        if redirects && request.max_redirects > 0 {
            return Err(ProbeError::Redirect("in a circle".into()));
        }
        for (_, cookie) in response.headers.iter().filter(|(name, _)| name == "set-cookie") {
            jar.store(response.final_url.host_str().unwrap_or_default(), cookie);
        }
        Ok(response)
    }
}

/// Waits for an answer that comes after `delay`, or never.
///
/// # Errors
/// Returns an error at the deadline if the answer comes later.
pub(super) fn wait(delay: Option<Duration>, deadline: Instant) -> Result<(), ProbeError> {
    let left = deadline.saturating_duration_since(Instant::now());
    std::thread::sleep(delay.map_or(left, |delay| delay.min(left)));
    if delay.is_some_and(|delay| delay <= left) { Ok(()) } else { Err(ProbeError::Timeout(Phase::FirstByte)) }
}

/// Returns whether clients read exactly this header. They trim white space.
fn is_header(name: &str, value: &str) -> bool {
    HeaderName::from_bytes(name.as_bytes()).is_ok()
        && HeaderValue::from_str(value).is_ok()
        && value.trim() == value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_http_would_change_is_not_sendable() {
        assert!(Answer::new(200, "text/plain", "x").is_sendable());
        assert!(!Answer::new(150, "text/plain", "").is_sendable());
        assert!(!Answer::new(204, "text/plain", "x").is_sendable());
        assert!(!Answer::new(200, "text/plain", "").with_header("A", "a\r\nB: b").is_sendable());
        assert!(!Answer::new(200, "text/plain", "").with_header("A", " a").is_sendable());
        assert!(!Answer::new(200, "text/plain", "").with_header("A b", "a").is_sendable());
    }
}
