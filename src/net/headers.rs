//! The request headers of a hop.

use ureq::http::header::{ACCEPT_LANGUAGE, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue};

use crate::modules::probe::{OF_THE_CONNECTION, ProbeError, Request};
use crate::modules::reason::Reason;

/// The value of `Accept` if the module sets none.
pub(super) const DEFAULT_ACCEPT: &str = "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8";
const DEFAULT_LANGUAGE: HeaderValue = HeaderValue::from_static("en-US,en;q=0.9");

/// The maximum size of a `Cookie` header, in bytes. A longer one is not sent.
const MAX_COOKIE_BYTES: usize = 8 * 1024;

/// Returns the module's headers, and the default ones that the module does not set, except for those that ureq adds.
pub(super) fn of_request(request: &Request) -> Result<HeaderMap, ProbeError> {
    let mut headers = HeaderMap::with_capacity(request.headers.len() + 8);
    for (name, value) in &request.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unsendable())?;
        if OF_THE_CONNECTION.contains(&name.as_str()) {
            continue;
        }
        headers.append(name, HeaderValue::from_str(value).map_err(|_| unsendable())?);
    }
    if let Some((content_type, _)) =
        request.body.as_ref().filter(|(content_type, _)| !content_type.is_empty())
    {
        let value = HeaderValue::from_str(content_type).map_err(|_| unsendable())?;
        headers.entry(CONTENT_TYPE).or_insert(value);
    }
    headers.entry(ACCEPT_LANGUAGE).or_insert(DEFAULT_LANGUAGE);
    Ok(headers)
}

fn unsendable() -> ProbeError {
    Reason::Protocol.because("invalid request header")
}

/// Adds the cookies of the jar to those that the module sets.
pub(super) fn add_cookies(headers: &mut HeaderMap, from_jar: &str) {
    let mut joined = headers.get(COOKIE).map_or_else(Vec::new, |own| [own.as_bytes(), b"; "].concat());
    joined.extend_from_slice(from_jar.as_bytes());
    if joined.len() > MAX_COOKIE_BYTES {
        return;
    }
    // If a cookie contains bytes that are not allowed in a header, the cookies of the jar are not sent.
    if let Ok(value) = HeaderValue::from_bytes(&joined) {
        headers.insert(COOKIE, value);
    }
}

/// Removes headers with credentials, which only the first host may receive.
pub(super) fn drop_credentials(headers: &mut HeaderMap) {
    const CREDENTIALS: [&str; 6] = ["auth", "cookie", "key", "secret", "session", "token"];
    remove_where(headers, |name| CREDENTIALS.iter().any(|part| name.contains(part)));
}

/// Removes the headers with these names.
pub(super) fn remove_where(headers: &mut HeaderMap, mut is_removed: impl FnMut(&str) -> bool) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| is_removed(name.as_str())).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_joined_and_bounded() {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_static("a=1"));
        add_cookies(&mut headers, "b=2; c=ü");
        assert_eq!(headers[COOKIE].as_bytes(), "a=1; b=2; c=ü".as_bytes());
        add_cookies(&mut headers, "d=\n");
        add_cookies(&mut headers, &"e".repeat(MAX_COOKIE_BYTES));
        assert_eq!(headers[COOKIE].as_bytes(), "a=1; b=2; c=ü".as_bytes());
    }
}
