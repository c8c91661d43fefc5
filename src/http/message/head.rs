//! Checks the head of a request.
//!
//! Fault of tiny_http: it accepts two lengths, a length with a sign, both `Content-Length` and `Transfer-Encoding`, a
//! missing `Host` and control characters. A reverse proxy that reads such a head in another way could be used to
//! smuggle requests (RFC 9112, section 11.2). Workaround: a head that allows two readings is refused here. Tests:
//! `the_table_of_hostile_clients`, `damaged_requests_are_parsed_as_the_model_parses_them`.

use std::net::IpAddr;

use super::forwarded::{Network, client_address};
use super::request::Request;
use super::target::{self, is_authority};
use crate::http::config::{MAX_HEAD_BYTES, MAX_HEADERS};
use crate::http::handler::Refusal;

/// An unchecked head.
#[derive(Debug, Clone)]
pub(crate) struct RawHead<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) version: (u8, u8),
    pub(crate) headers: Vec<(&'a str, &'a str)>,
}

/// The framing of a body, as its head announces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// The request has no body.
    NoBody,
    /// The body has that many bytes, at least one.
    Length(u64),
    /// The body comes in chunks.
    Chunked,
}

/// The end or the continuation of a connection after an answer, with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Persistence {
    /// Whether the request uses HTTP/1.0 or older. Its answer must not be chunked.
    pub(crate) is_http_1_0: bool,
    /// Whether the connection must be closed, because the client requested it or did not request to keep a connection
    /// of HTTP/1.0.
    pub(crate) close: bool,
    /// Whether tiny_http closes the connection by itself. It parses `Connection` less strictly than this module.
    pub(crate) is_closed_by_tiny_http: bool,
}

/// Checks a head. Returns the request without its body, and the framing of the body.
pub(crate) fn check(
    head: &RawHead<'_>,
    peer: IpAddr,
    trusted: &[Network],
) -> Result<(Request, Framing), Refusal> {
    check_version(head)?;
    check_method(head.method)?;
    let target = target::parse(head.method, head.target)?;
    check_size(head)?;
    for (name, value) in &head.headers {
        check_header(name, value)?;
    }
    check_host(head)?;
    let framing = framing(head)?;
    let client = client_address(peer, head.values("x-forwarded-for"), trusted);
    let request = Request {
        method: head.method.to_owned(),
        path: target.path,
        query: target.query,
        headers: lower_case(&head.headers),
        body: Vec::new(),
        client: Some(client),
    };
    Ok((request, framing))
}

/// Returns the valid parts of a head that was refused, which the handler needs to render the refusal.
pub(crate) fn valid_parts(head: &RawHead<'_>, peer: IpAddr, trusted: &[Network]) -> Request {
    let valid: Vec<_> =
        head.headers.iter().filter(|(name, value)| check_header(name, value).is_ok()).copied().collect();
    let target = target::parse(head.method, head.target).ok();
    let (path, query) = target.map_or(("/".to_owned(), String::new()), |target| (target.path, target.query));
    let method = if check_method(head.method).is_ok() { head.method } else { "GET" };
    Request {
        method: method.to_owned(),
        path,
        query,
        headers: lower_case(&valid[..valid.len().min(MAX_HEADERS)]),
        body: Vec::new(),
        client: Some(client_address(peer, head.values("x-forwarded-for"), trusted)),
    }
}

impl<'a> RawHead<'a> {
    /// Returns the values of a header.
    pub(crate) fn values(&self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a str> + '_ {
        self.headers.iter().filter(move |(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    fn connection_has(&self, token: &str) -> bool {
        self.values("connection")
            .flat_map(|value| value.split(','))
            .any(|item| item.trim().eq_ignore_ascii_case(token))
    }

    /// Returns whether the connection stays open after the answer.
    pub(crate) fn persistence(&self) -> Persistence {
        let is_http_1_0 = self.version <= (1, 0);
        let is_1_0 = self.version == (1, 0);
        let first = self.values("connection").next().map(str::to_ascii_lowercase);
        let is_closed_by_tiny_http = match first {
            Some(value) => {
                value.contains("close")
                    || value.contains("upgrade")
                    || (is_1_0 && !value.contains("keep-alive"))
            }
            None => is_1_0,
        };
        let asked = self.connection_has("close") || (is_http_1_0 && !self.connection_has("keep-alive"));
        Persistence { is_http_1_0, close: asked || is_closed_by_tiny_http, is_closed_by_tiny_http }
    }

    /// Returns whether there is no body, or tiny_http has already read it together with the head.
    pub(crate) fn is_body_buffered(&self, inline_bytes: u64) -> bool {
        let mut lengths = self.values("content-length");
        match (lengths.next(), self.values("transfer-encoding").next()) {
            (None, None) => true,
            (Some(length), None) => {
                let length = length.parse::<u64>().unwrap_or(u64::MAX);
                let is_upgrade = self
                    .values("connection")
                    .next()
                    .is_some_and(|value| value.to_ascii_lowercase().contains("upgrade"));
                let expects_continue = self.values("expect").next().is_some();
                length == 0 && !is_upgrade || length <= inline_bytes && !is_upgrade && !expects_continue
            }
            _ => false,
        }
    }
}

fn lower_case(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), (*value).to_owned())).collect()
}

fn check_version(head: &RawHead<'_>) -> Result<(), Refusal> {
    match head.version {
        (1, 0 | 1) => Ok(()),
        _ => Err(Refusal::Malformed("the version must be HTTP/1.0 or HTTP/1.1")),
    }
}

/// Returns whether a text is a token (RFC 9110, section 5.6.2).
pub(crate) fn is_token(text: &str) -> bool {
    let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// Checks that a method is valid. The longest registered method has 17 letters.
fn check_method(method: &str) -> Result<(), Refusal> {
    if method.len() <= 32 && is_token(method) {
        Ok(())
    } else {
        Err(Refusal::Malformed("the method must be a token of at most 32 characters"))
    }
}

fn check_size(head: &RawHead<'_>) -> Result<(), Refusal> {
    let bytes: usize = head.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if head.headers.len() > MAX_HEADERS || bytes > MAX_HEAD_BYTES {
        return Err(Refusal::HeadTooLarge);
    }
    Ok(())
}

fn check_header(name: &str, value: &str) -> Result<(), Refusal> {
    if !is_token(name) {
        return Err(Refusal::Malformed("a header name contains a character that is not allowed"));
    }
    if !value.bytes().all(|byte| byte == b'\t' || byte == b' ' || byte.is_ascii_graphic()) {
        return Err(Refusal::Malformed(
            "a header value contains a control character or a byte outside ASCII",
        ));
    }
    Ok(())
}

fn check_host(head: &RawHead<'_>) -> Result<(), Refusal> {
    let mut hosts = head.values("host");
    match (hosts.next(), hosts.next()) {
        (_, Some(_)) => Err(Refusal::Malformed("more than one Host header")),
        (None, None) if head.version >= (1, 1) => Err(Refusal::Malformed("the Host header is missing")),
        (Some(host), None) if !is_authority(host) => Err(Refusal::Malformed("the Host header is not valid")),
        _ => Ok(()),
    }
}

fn framing(head: &RawHead<'_>) -> Result<Framing, Refusal> {
    let lengths: Vec<&str> = head.values("content-length").collect();
    let encodings: Vec<&str> = head.values("transfer-encoding").collect();
    match (lengths.as_slice(), encodings.as_slice()) {
        ([], []) => Ok(Framing::NoBody),
        ([length], []) => content_length(length),
        ([], [encoding]) => transfer_encoding(head, encoding),
        ([], _) => Err(Refusal::Malformed("more than one Transfer-Encoding header")),
        (_, []) => Err(Refusal::Malformed("more than one Content-Length header")),
        _ => Err(Refusal::Malformed("both Content-Length and Transfer-Encoding")),
    }
}

fn content_length(text: &str) -> Result<Framing, Refusal> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Refusal::Malformed("Content-Length must consist of digits"));
    }
    match text.parse::<u64>() {
        Ok(0) => Ok(Framing::NoBody),
        Ok(length) => Ok(Framing::Length(length)),
        Err(_) => Err(Refusal::BodyTooLarge),
    }
}

fn transfer_encoding(head: &RawHead<'_>, text: &str) -> Result<Framing, Refusal> {
    if head.version < (1, 1) {
        return Err(Refusal::Malformed("Transfer-Encoding is not allowed in HTTP/1.0"));
    }
    if head.connection_has("upgrade") {
        return Err(Refusal::Malformed("a request for an upgrade must not be chunked"));
    }
    if !text.eq_ignore_ascii_case("chunked") {
        return Err(Refusal::Malformed("the only allowed Transfer-Encoding is chunked"));
    }
    Ok(Framing::Chunked)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn head<'a>(headers: &[(&'a str, &'a str)]) -> RawHead<'a> {
        let mut all = vec![("Host", "localhost")];
        all.extend_from_slice(headers);
        RawHead { method: "POST", target: "/", version: (1, 1), headers: all }
    }

    #[test]
    fn connections_stay_open_as_the_client_asks() {
        for (version, headers, close, is_closed_by_tiny_http) in [
            ((1, 1), vec![], false, false),
            ((1, 1), vec![("Connection", "close")], true, true),
            ((1, 1), vec![("Connection", "x, Close")], true, true),
            ((1, 1), vec![("Connection", "x"), ("Connection", "close")], true, false),
            ((1, 1), vec![("Connection", "x-close")], true, true),
            ((1, 0), vec![], true, true),
            ((1, 0), vec![("Connection", "Keep-Alive")], false, false),
            ((0, 9), vec![], true, false),
        ] {
            let seen = RawHead { version, ..head(&headers) }.persistence();
            assert_eq!(
                (seen.close, seen.is_closed_by_tiny_http),
                (close, is_closed_by_tiny_http),
                "{version:?} {headers:?}"
            );
        }
    }

    #[test]
    fn buffered_bodies_are_recognised() {
        for (headers, is_buffered) in [
            (vec![], true),
            (vec![("Content-Length", "0")], true),
            (vec![("Content-Length", "1024")], true),
            (vec![("Content-Length", "1025")], false),
            (vec![("Content-Length", "x")], false),
            (vec![("Content-Length", "5"), ("Expect", "100-continue")], false),
            (vec![("Content-Length", "5"), ("Connection", "Upgrade")], false),
            (vec![("Transfer-Encoding", "chunked")], false),
        ] {
            assert_eq!(head(&headers).is_body_buffered(1024), is_buffered, "{headers:?}");
        }
    }

    proptest! {
        #[test]
        fn every_head_is_accepted_or_refused(
            method in "\\PC{0,8}",
            target in "\\PC{0,20}",
            headers in proptest::collection::vec(("[A-Za-z-]{0,18}", "\\PC{0,12}"), 0..6),
        ) {
            let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let head = RawHead { method: &method, target: &target, version: (1, 1), headers };
            let _ = check(&head, PEER, &[]);
            let parts = valid_parts(&head, PEER, &[]);
            prop_assert!(parts.path.starts_with('/'));
            prop_assert!(parts.headers.iter().all(|(name, value)| check_header(name, value).is_ok()));
        }
    }
}
