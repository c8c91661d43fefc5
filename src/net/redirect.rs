//! Follows redirects.

use ureq::http::{HeaderMap, header::LOCATION};
use url::Url;

use super::headers;
use crate::base::encoding::encode_address;
use crate::modules::definition::Method;
use crate::modules::probe::ProbeError;
use crate::modules::reason::Reason;

/// The maximum size of a URL, in bytes.
pub(super) const MAX_URL_BYTES: usize = 8 * 1024;

/// One request of a chain of redirects.
#[derive(Debug, Clone)]
pub(super) struct Hop {
    /// The number of redirects before this request.
    pub(super) index: u8,
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) has_body: bool,
    /// Whether the chain has gone from `https` to `http`. From then on no cookies or credentials are sent.
    pub(super) is_downgraded: bool,
}

/// Returns the hop that an answer redirects to, or `None` if the answer is the last one.
pub(super) fn next(
    hop: &Hop,
    status: u16,
    answer: &HeaderMap,
    allowed: u8,
) -> Result<Option<Hop>, ProbeError> {
    // As in browsers, an empty address leads nowhere, and different addresses are an error.
    let locations = answer.get_all(LOCATION).iter().map(|value| value.as_bytes().trim_ascii());
    let mut locations = locations.filter(|location| !location.is_empty());
    let is_redirect = allowed > 0 && matches!(status, 301 | 302 | 303 | 307 | 308);
    let Some(location) = locations.next().filter(|_| is_redirect) else { return Ok(None) };
    if locations.any(|other| other != location) {
        return Err(Reason::Redirect.because("to several addresses"));
    }
    if hop.index >= allowed {
        return Err(Reason::Redirect.because(format!("more than {allowed} redirects")));
    }
    let url = target(&hop.url, &encode_address(location))?;
    let method = method_after(status, hop.method);
    let mut next = Hop {
        index: hop.index + 1,
        method,
        headers: hop.headers.clone(),
        has_body: hop.has_body && method == hop.method,
        is_downgraded: hop.is_downgraded || (hop.url.scheme() == "https" && url.scheme() == "http"),
        url,
    };
    if !next.has_body {
        headers::remove_where(&mut next.headers, |name| name.starts_with("content-"));
    }
    if next.is_downgraded || !is_same_site(&hop.url, &next.url) {
        // The body may contain a secret.
        if next.has_body {
            let whereto = if next.is_downgraded { "plain http" } else { "another host" };
            return Err(Reason::Redirect.because(format!(
                "with status {status} to {whereto}, which must not get the body of the request"
            )));
        }
        headers::drop_credentials(&mut next.headers);
    }
    Ok(Some(next))
}

fn target(base: &Url, location: &str) -> Result<Url, ProbeError> {
    let mut url = base.join(location).map_err(|_| Reason::Redirect.because("to an invalid URL"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(Reason::Redirect.because("to a URL that is neither http nor https"));
    }
    remove_unsent_parts(&mut url);
    if url.as_str().len() > MAX_URL_BYTES {
        return Err(Reason::Redirect.because(format!("to a URL of more than {MAX_URL_BYTES} bytes")));
    }
    Ok(url)
}

/// Removes the user information and the fragment, which are not sent.
pub(super) fn remove_unsent_parts(url: &mut Url) {
    // These fail only for URLs without a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
}

/// Returns the method after a redirect, as the Fetch standard defines it
/// (<https://fetch.spec.whatwg.org/#http-redirect-fetch>).
fn method_after(status: u16, method: Method) -> Method {
    match (status, method) {
        (301..=303, Method::Post) | (303, Method::Put) => Method::Get,
        _ => method,
    }
}

/// Returns whether both URLs have the same origin, or the redirect goes from `http` to `https` on the same host.
fn is_same_site(from: &Url, to: &Url) -> bool {
    let is_upgrade = (from.scheme(), to.scheme()) == ("http", "https")
        && from.host() == to.host()
        && from.port().is_none()
        && to.port().is_none();
    from.origin() == to.origin() || is_upgrade
}

#[cfg(test)]
mod tests {
    use super::*;
    use ureq::http::HeaderValue;
    use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};

    fn hop(method: Method, url: &str) -> Hop {
        let mut headers = HeaderMap::new();
        for name in [AUTHORIZATION, CONTENT_TYPE, USER_AGENT] {
            headers.insert(name, HeaderValue::from_static("x"));
        }
        let has_body = matches!(method, Method::Post | Method::Put);
        Hop { index: 0, method, url: url.parse().unwrap(), headers, has_body, is_downgraded: false }
    }

    fn follow(hop: &Hop, status: u16, location: &str) -> Result<Option<Hop>, ProbeError> {
        let mut answer = HeaderMap::new();
        answer.insert(LOCATION, HeaderValue::from_bytes(location.as_bytes()).unwrap());
        next(hop, status, &answer, 5)
    }

    #[test]
    fn methods_change_as_in_the_fetch_standard() {
        use Method::{Get, Head, Post, Put};
        for (status, method, expected, has_body) in [
            (301, Post, Get, false),
            (302, Post, Get, false),
            (303, Post, Get, false),
            (303, Put, Get, false),
            (301, Put, Put, true),
            (302, Head, Head, false),
            (303, Head, Head, false),
            (307, Post, Post, true),
            (308, Put, Put, true),
            (308, Get, Get, false),
        ] {
            let next = follow(&hop(method, "https://a.example/x"), status, "/y").unwrap().unwrap();
            assert_eq!(
                (next.method, next.has_body, next.index),
                (expected, has_body, 1),
                "{status} {method:?}"
            );
            assert_eq!(next.headers.contains_key(CONTENT_TYPE), has_body, "{status} {method:?}");
        }
        for status in [200, 300, 304, 305, 306, 404] {
            assert!(follow(&hop(Get, "https://a.example/x"), status, "/y").unwrap().is_none(), "{status}");
        }
    }

    #[test]
    fn empty_addresses_are_ignored_and_different_ones_are_an_error() {
        let from = hop(Method::Get, "https://a.example/x");
        for (locations, expected) in [
            (&[""][..], Ok(None)),
            (&[" ", ""], Ok(None)),
            (&["", "/n"], Ok(Some("https://a.example/n"))),
            (&["/n", "/n "], Ok(Some("https://a.example/n"))),
            (&["/n", "/m"], Err(())),
        ] {
            let mut answer = HeaderMap::new();
            for location in locations {
                answer.append(LOCATION, HeaderValue::from_static(location));
            }
            let found = next(&from, 302, &answer, 5).map_err(drop);
            let found = found.as_ref().map(|hop| hop.as_ref().map(|hop| hop.url.as_str()));
            assert_eq!(found.map_err(|()| &()), expected.as_ref().map(|it| *it), "{locations:?}");
        }
    }

    #[test]
    fn credentials_and_bodies_stay_with_their_origin() {
        for (from, to, whereto) in [
            ("https://a.example/", "/other", None),
            ("http://a.example/", "https://a.example/", None),
            ("https://a.example/", "http://a.example/", Some("plain http")),
            ("https://a.example/", "https://b.example/", Some("another host")),
            ("https://a.example/", "https://a.example:8443/", Some("another host")),
            ("http://a.example:81/", "https://a.example/", Some("another host")),
        ] {
            let next = follow(&hop(Method::Get, from), 302, to).unwrap().unwrap();
            assert_eq!(next.headers.contains_key(AUTHORIZATION), whereto.is_none(), "{from} {to}");
            assert!(next.headers.contains_key(USER_AGENT));
            for (status, method) in [(307, Method::Post), (308, Method::Post), (301, Method::Put)] {
                let next = follow(&hop(method, from), status, to);
                let Some(whereto) = whereto else {
                    assert!(next.unwrap().unwrap().has_body, "{from} {to}");
                    continue;
                };
                let why =
                    format!("with status {status} to {whereto}, which must not get the body of the request");
                assert_eq!(next.unwrap_err(), Reason::Redirect.because(why), "{from} {to}");
            }
            // A request that becomes a GET loses its body.
            assert!(!follow(&hop(Method::Post, from), 303, to).unwrap().unwrap().has_body);
        }
        let down =
            follow(&hop(Method::Get, "https://a.example/"), 302, "http://a.example/").unwrap().unwrap();
        let on = follow(&down, 302, "http://a.example/2").unwrap().unwrap();
        assert!(down.is_downgraded && on.is_downgraded);
    }
}
