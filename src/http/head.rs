//! The checks on a request's head that tiny_http leaves out. What two readers could understand
//! differently is refused: behind a proxy it would be a way to smuggle requests.

use std::net::IpAddr;

use super::config::{MAX_HEAD_BYTES, MAX_HEADERS};
use super::forwarded::{Network, client_address};
use super::handler::Refusal;
use super::request::Request;
use super::target::{self, is_authority};

/// A head as it came: untrusted text.
#[derive(Debug, Clone)]
pub(super) struct RawHead<'a> {
    pub(super) method: &'a str,
    pub(super) target: &'a str,
    pub(super) version: (u8, u8),
    pub(super) headers: Vec<(&'a str, &'a str)>,
}

/// How long the body is, by the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    NoBody,
    /// So many bytes, at least one.
    Length(u64),
    /// In chunks.
    Chunked,
}

/// Whether the connection lasts beyond the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Persistence {
    /// HTTP/1.0: an answer in chunks is not understood.
    pub(super) is_old: bool,
    /// The client asked to close it, or did not ask a 1.0 connection to stay.
    pub(super) close: bool,
    /// tiny_http closes it by itself; its reading of `Connection` is looser than ours.
    pub(super) closes_itself: bool,
}

/// Checks all but the body; the request has none yet.
pub(super) fn check(
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

/// What of a refused request can be shown to whoever words the refusal: only what is well-formed.
pub(super) fn salvage(head: &RawHead<'_>, peer: IpAddr, trusted: &[Network]) -> Request {
    let fit: Vec<_> =
        head.headers.iter().filter(|(name, value)| check_header(name, value).is_ok()).copied().collect();
    let target = target::parse(head.method, head.target).ok();
    let (path, query) = target.map_or(("/".to_owned(), String::new()), |target| (target.path, target.query));
    let method = if check_method(head.method).is_ok() { head.method } else { "GET" };
    Request {
        method: method.to_owned(),
        path,
        query,
        headers: lower_case(if fit.len() <= MAX_HEADERS { &fit } else { &fit[..MAX_HEADERS] }),
        body: Vec::new(),
        client: Some(client_address(peer, head.values("x-forwarded-for"), trusted)),
    }
}

impl<'a> RawHead<'a> {
    /// Values of a header; `name` in lower case.
    pub(super) fn values(&self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a str> + '_ {
        self.headers.iter().filter(move |(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    fn connection_has(&self, token: &str) -> bool {
        self.values("connection")
            .flat_map(|value| value.split(','))
            .any(|item| item.trim().eq_ignore_ascii_case(token))
    }

    /// Whether the connection lasts.
    pub(super) fn persistence(&self) -> Persistence {
        let is_old = self.version <= (1, 0);
        let is_1_0 = self.version == (1, 0);
        let first = self.values("connection").next().map(str::to_ascii_lowercase);
        let closes_itself = match first {
            Some(value) => {
                value.contains("close")
                    || value.contains("upgrade")
                    || (is_1_0 && !value.contains("keep-alive"))
            }
            None => is_1_0,
        };
        let asked = self.connection_has("close") || (is_old && !self.connection_has("keep-alive"));
        Persistence { is_old, close: asked || closes_itself, closes_itself }
    }

    /// Whether tiny_http has read the body already, or there is none.
    pub(super) fn body_is_at_hand(&self, inline_bytes: u64) -> bool {
        let mut lengths = self.values("content-length");
        match (lengths.next(), self.values("transfer-encoding").next()) {
            (None, None) => true,
            (Some(length), None) => {
                let length = length.parse::<u64>().unwrap_or(u64::MAX);
                let is_raw = self
                    .values("connection")
                    .next()
                    .is_some_and(|value| value.to_ascii_lowercase().contains("upgrade"));
                let waits = self.values("expect").next().is_some();
                length == 0 && !is_raw || length <= inline_bytes && !is_raw && !waits
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
        _ => Err(Refusal::Malformed("only HTTP/1.0 and HTTP/1.1 are spoken here")),
    }
}

/// RFC 9110, section 5.6.2.
pub(super) fn is_token(text: &str) -> bool {
    let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// The longest registered method has 17 letters.
fn check_method(method: &str) -> Result<(), Refusal> {
    if method.len() <= 32 && is_token(method) {
        Ok(())
    } else {
        Err(Refusal::Malformed("the method is not a token of at most 32 characters"))
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
        return Err(Refusal::Malformed("a header's name holds a character that is not allowed"));
    }
    if !value.bytes().all(|byte| byte == b'\t' || byte == b' ' || byte.is_ascii_graphic()) {
        return Err(Refusal::Malformed("a header's value holds a control character"));
    }
    Ok(())
}

fn check_host(head: &RawHead<'_>) -> Result<(), Refusal> {
    let mut hosts = head.values("host");
    match (hosts.next(), hosts.next()) {
        (_, Some(_)) => Err(Refusal::Malformed("there is more than one Host header")),
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
        ([], _) => Err(Refusal::Malformed("there is more than one Transfer-Encoding header")),
        (_, []) => Err(Refusal::Malformed("there is more than one Content-Length header")),
        _ => Err(Refusal::Malformed("there are both Content-Length and Transfer-Encoding")),
    }
}

fn content_length(text: &str) -> Result<Framing, Refusal> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Refusal::Malformed("Content-Length must be digits only"));
    }
    match text.parse::<u64>() {
        Ok(0) => Ok(Framing::NoBody),
        Ok(length) => Ok(Framing::Length(length)),
        Err(_) => Err(Refusal::BodyTooLarge),
    }
}

fn transfer_encoding(head: &RawHead<'_>, text: &str) -> Result<Framing, Refusal> {
    if head.version < (1, 1) {
        return Err(Refusal::Malformed("HTTP/1.0 has no Transfer-Encoding"));
    }
    if head.connection_has("upgrade") {
        return Err(Refusal::Malformed("a request that asks for an upgrade must not be chunked"));
    }
    if !text.eq_ignore_ascii_case("chunked") {
        return Err(Refusal::Malformed("the only Transfer-Encoding understood is chunked"));
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

    fn refusal(head: &RawHead<'_>) -> Option<Refusal> {
        check(head, PEER, &[]).err()
    }

    #[test]
    fn framing_is_read_where_there_is_one_reading() {
        for (headers, want) in [
            (vec![], Framing::NoBody),
            (vec![("Content-Length", "0")], Framing::NoBody),
            (vec![("content-length", "7")], Framing::Length(7)),
            (vec![("Transfer-Encoding", "Chunked")], Framing::Chunked),
        ] {
            assert_eq!(check(&head(&headers), PEER, &[]).unwrap().1, want, "{headers:?}");
        }
    }

    #[test]
    fn every_other_framing_is_refused() {
        for headers in [
            vec![("Content-Length", "5"), ("Transfer-Encoding", "chunked")],
            vec![("Content-Length", "5"), ("Content-Length", "5")],
            vec![("Content-Length", "5, 5")],
            vec![("Content-Length", "+7")],
            vec![("Content-Length", "-7")],
            vec![("Content-Length", "0x7")],
            vec![("Content-Length", "")],
            vec![("Transfer-Encoding", "gzip")],
            vec![("Transfer-Encoding", "gzip, chunked")],
            vec![("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")],
            vec![("Transfer-Encoding", "")],
            vec![("Transfer-Encoding", "chunked"), ("Connection", "upgrade")],
            vec![("Host", "other")],
            vec![("X", "a\0b")],
            vec![("X", "a\rb")],
            vec![("X", "a\nb")],
            vec![("X", "\u{7f}")],
            vec![("X(", "a")],
            vec![("", "a")],
        ] {
            assert!(matches!(refusal(&head(&headers)), Some(Refusal::Malformed(_))), "{headers:?}");
        }
        let endless = "9".repeat(30);
        assert_eq!(refusal(&head(&[("Content-Length", &endless)])), Some(Refusal::BodyTooLarge));
    }

    #[test]
    fn the_rest_of_the_head_is_checked() {
        let good = head(&[]);
        assert_eq!(refusal(&good), None);
        let nameless = RawHead { headers: vec![], ..good.clone() };
        assert!(refusal(&nameless).is_some());
        assert_eq!(refusal(&RawHead { version: (1, 0), ..nameless }), None);
        for version in [(0, 9), (1, 2), (2, 0)] {
            assert!(refusal(&RawHead { version, ..good.clone() }).is_some(), "{version:?}");
        }
        for method in ["", "G(T", "G\tT", "A".repeat(33).as_str()] {
            assert!(refusal(&RawHead { method, ..good.clone() }).is_some(), "{method:?}");
        }
        let many: Vec<_> = (0..MAX_HEADERS).map(|_| ("X", "y")).collect();
        assert_eq!(refusal(&head(&many)), Some(Refusal::HeadTooLarge));
        let long = "y".repeat(MAX_HEAD_BYTES);
        assert_eq!(refusal(&head(&[("X", &long)])), Some(Refusal::HeadTooLarge));
    }

    #[test]
    fn connections_last_as_asked() {
        for (version, headers, close, closes_itself) in [
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
            assert_eq!((seen.close, seen.closes_itself), (close, closes_itself), "{version:?} {headers:?}");
        }
    }

    #[test]
    fn what_waits_in_the_socket_is_told_from_what_has_come() {
        for (headers, at_hand) in [
            (vec![], true),
            (vec![("Content-Length", "0")], true),
            (vec![("Content-Length", "1024")], true),
            (vec![("Content-Length", "1025")], false),
            (vec![("Content-Length", "x")], false),
            (vec![("Content-Length", "5"), ("Expect", "100-continue")], false),
            (vec![("Content-Length", "5"), ("Connection", "Upgrade")], false),
            (vec![("Transfer-Encoding", "chunked")], false),
        ] {
            assert_eq!(head(&headers).body_is_at_hand(1024), at_hand, "{headers:?}");
        }
    }

    proptest! {
        #[test]
        fn any_head_is_answered(
            method in "\\PC{0,8}",
            target in "\\PC{0,20}",
            headers in proptest::collection::vec(("[A-Za-z-]{0,18}", "\\PC{0,12}"), 0..6),
        ) {
            let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let head = RawHead { method: &method, target: &target, version: (1, 1), headers };
            let _ = check(&head, PEER, &[]);
            let shown = salvage(&head, PEER, &[]);
            prop_assert!(shown.path.starts_with('/'));
            prop_assert!(shown.headers.iter().all(|(name, value)| check_header(name, value).is_ok()));
        }
    }
}
