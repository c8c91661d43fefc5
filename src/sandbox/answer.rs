//! Answers of simulated sites.

use std::time::{Duration, Instant};

use ureq::http::HeaderValue;
use url::Url;

use crate::modules::definition::Method;
use crate::modules::probe::{CookieJar, Phase, ProbeError, Request, Response};

/// Returns the answer of a site to a request for `url`, with a body of the given content type.
pub(super) fn answer(url: &Url, status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Response {
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    Response { status, final_url: url.clone(), headers, body: body.into(), truncated: false }
}

/// Returns whether HTTP carries the answer without changes. Clients trim white space in headers.
pub(super) fn is_sendable(answer: &Response) -> bool {
    let is_bodiless = matches!(answer.status, 204 | 304);
    (200..=599).contains(&answer.status)
        && (!is_bodiless || answer.body.is_empty())
        && answer
            .headers
            .iter()
            .all(|(_, value)| HeaderValue::from_str(value).is_ok() && value.trim() == value)
}

/// Returns the answer as a client that reads at most `limit` bytes of the body gets it.
pub(super) fn cut(mut answer: Response, limit: usize) -> Response {
    answer.headers.push(("content-length".to_owned(), answer.body.len().to_string()));
    answer.truncated = answer.body.len() > limit;
    answer.body.truncate(limit);
    answer
}

/// Returns the answer as a prober gets it, and stores its cookies.
///
/// # Errors
/// Returns an error if the answer redirects to an address that never answers differently.
pub(super) fn sent(
    mut answer: Response,
    request: &Request,
    jar: &mut CookieJar,
) -> Result<Response, ProbeError> {
    if request.method == Method::Head {
        answer.body.clear();
    }
    let answer = cut(answer, request.body_limit);
    let redirects = (300..400).contains(&answer.status) && answer.header("location").is_some();
    if redirects && request.max_redirects > 0 {
        return Err(ProbeError::Redirect("in a circle".into()));
    }
    for (_, cookie) in answer.headers.iter().filter(|(name, _)| name == "set-cookie") {
        jar.store(answer.final_url.host_str().unwrap_or_default(), cookie);
    }
    Ok(answer)
}

/// Waits for an answer that comes after `delay`.
///
/// # Errors
/// Returns an error at the deadline if the answer comes later.
pub(super) fn wait(delay: Duration, deadline: Instant) -> Result<(), ProbeError> {
    let left = deadline.saturating_duration_since(Instant::now());
    std::thread::sleep(delay.min(left));
    if delay <= left { Ok(()) } else { Err(ProbeError::Timeout(Phase::FirstByte)) }
}
