//! Protection against forged requests. A change must come from a page of the app, with the token of the browser's
//! session.

use sha2::{Digest as _, Sha256};
use url::Url;

use super::error::WebError;
use super::visit::{Visit, unmasked};
use crate::http::Request;

/// Refuses a request that another site sent, or that lacks all of `tokens` (OWASP's CSRF cheat sheet: a token
/// for each session, and the origin that the browser reports).
pub(super) fn check(visit: &Visit, tokens: &[[u8; 32]], own_origin: &str) -> Result<(), WebError> {
    if is_from_elsewhere(&visit.request, own_origin) || !has_token(visit, tokens) {
        return Err(WebError::forged());
    }
    Ok(())
}

fn has_token(visit: &Visit, tokens: &[[u8; 32]]) -> bool {
    // The time that comparing hashes takes says nothing of the tokens.
    let given = Sha256::digest(unmasked(visit.form().get("csrf")).unwrap_or_default());
    tokens.iter().any(|token| Sha256::digest(token) == given)
}

fn is_from_elsewhere(request: &Request, own_origin: &str) -> bool {
    if let Some(site) = request.header("sec-fetch-site") {
        return !matches!(site, "same-origin" | "none");
    }
    // Browsers send "null" for a form of a page with the policy `no-referrer`, which all pages of the app have.
    let origin = request.header("origin").filter(|origin| *origin != "null");
    origin.is_some_and(|origin| origin != own_origin && !is_of_host(origin, request))
}

/// Compares the origin with the `Host` header. Without a base URL, clients may use any name of this machine.
fn is_of_host(origin: &str, request: &Request) -> bool {
    let Ok(url) = Url::parse(origin) else { return false };
    let Some(host) = url.host_str() else { return false };
    let authority = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    request.header("host").is_some_and(|own| own.eq_ignore_ascii_case(&authority))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_other_origins_are_detected() {
        for (headers, is_elsewhere) in [
            (vec![], false),
            (vec![("sec-fetch-site", "same-origin")], false),
            (vec![("sec-fetch-site", "same-site")], true),
            (vec![("sec-fetch-site", "cross-site"), ("origin", "https://s.example")], true),
            (vec![("origin", "https://s.example")], false),
            (vec![("origin", "http://127.0.0.1:81"), ("host", "127.0.0.1:81")], false),
            (vec![("origin", "http://127.0.0.1:82"), ("host", "127.0.0.1:81")], true),
            (vec![("origin", "https://evil.example"), ("host", "s.example")], true),
            (vec![("origin", "null")], false),
            (vec![("origin", "nonsense"), ("host", "nonsense")], true),
        ] {
            let headers = headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
            let request = Request { headers, ..Request::default() };
            let seen = is_from_elsewhere(&request, "https://s.example");
            assert_eq!(seen, is_elsewhere, "{:?}", request.headers);
        }
    }
}
