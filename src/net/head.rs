//! Heads of HTTP/1 requests and answers.

use std::borrow::Cow;
use std::io::{self, Read};

use crate::base::encoding::encode_address;

/// The maximum size of a head, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// Headers that a proxy must not forward (RFC 9110, section 7.6.1).
const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// A head: its first line, its headers, and the bytes that were read after it.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) line: String,
    /// The headers: names in lower case, and values as they were sent.
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) rest: Vec<u8>,
}

/// Reads a head. Returns `None` if the peer closes the connection before it sends anything.
///
/// # Errors
/// Returns an error if the head is invalid or too long, or if the connection breaks.
pub(crate) fn read(stream: &mut impl Read) -> io::Result<Option<Head>> {
    read_on(stream, Vec::new())
}

/// Reads the rest of a head that begins with `bytes`.
pub(crate) fn read_on(stream: &mut impl Read, mut bytes: Vec<u8>) -> io::Result<Option<Head>> {
    let mut chunk = [0; 4096];
    loop {
        if let Some(end) = end_of(&bytes) {
            let rest = bytes.split_off(end);
            return parse(&bytes, rest).map(Some);
        }
        if bytes.len() >= MAX_BYTES {
            return Err(invalid("the head is too long"));
        }
        match stream.read(&mut chunk)? {
            0 if bytes.is_empty() => return Ok(None),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

/// Returns the index after the empty line. A bare LF ends a line, too (RFC 9112, section 2.2).
pub(super) fn end_of(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', bytes).find_map(|at| match &bytes[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

fn parse(bytes: &[u8], rest: Vec<u8>) -> io::Result<Head> {
    let bytes = mended(bytes);
    let mut lines = lines(&bytes);
    let line = lines.next().and_then(|line| std::str::from_utf8(line).ok());
    let line = line.ok_or_else(|| invalid("the first line of the head is not UTF-8"))?.to_owned();
    let fields = lines.filter(|line| !line.is_empty()).map(field).collect::<io::Result<_>>()?;
    Ok(Head { line, fields, rest })
}

fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Returns the head of an answer as browsers read it, in a form that strict parsers accept: without a reason phrase,
/// without lines that are no headers, and with folded lines joined. Every other head is returned as it is, and so is one
/// with a NUL, which browsers refuse.
pub(super) fn mended(head: &[u8]) -> Cow<'_, [u8]> {
    let mut lines = lines(head);
    let status = lines.next().filter(|_| !head.contains(&0)).and_then(status_line);
    let Some(status) = status else { return Cow::Borrowed(head) };
    let mut fields: Vec<(&[u8], Vec<u8>)> = Vec::new();
    // Whether a folded line continues a header that is kept.
    let mut is_kept = false;
    for line in lines {
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            if let Some((_, value)) = fields.last_mut().filter(|_| is_kept) {
                value.push(b' ');
                value.extend_from_slice(line.trim_ascii());
            }
            continue;
        }
        let colon = memchr::memchr(b':', line).unwrap_or(0);
        let name = line[..colon].trim_ascii_end();
        is_kept = !name.is_empty() && name.iter().all(|&byte| is_of_a_name(byte));
        if is_kept {
            fields.push((name, line[colon + 1..].trim_ascii().to_vec()));
        }
    }
    let mut out = status.into_bytes();
    for (name, value) in fields {
        let Some(value) = without_controls(name, &value) else { continue };
        out.extend_from_slice(&[b"\r\n", name, b": ", &value].concat());
    }
    out.extend_from_slice(b"\r\n\r\n");
    Cow::Owned(out)
}

/// Returns whether the head is that of an interim answer, which another answer follows on the same connection.
pub(super) fn is_interim(head: &[u8]) -> bool {
    head.get(b"HTTP/1.1 ".len()..).is_some_and(|code| code.starts_with(b"1") && !code.starts_with(b"101"))
}

/// Returns the version and status of an answer's first line, with the space before a reason phrase, which RFC 9112,
/// section 4, requires. A version after 1.1 counts as 1.1.
fn status_line(line: &[u8]) -> Option<String> {
    let (protocol, rest) = line.split_at_checked(memchr::memchr2(b' ', b'\t', line)?)?;
    let version = protocol.get(5..).filter(|_| protocol[..5].eq_ignore_ascii_case(b"HTTP/"))?;
    let is_version = !version.is_empty() && version.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let minor = u8::from(!matches!(version, b"0.9" | b"1" | b"1.0"));
    let rest = rest.trim_ascii_start();
    let code = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let code = std::str::from_utf8(&rest[..code]).ok()?;
    (is_version && code.len() == 3).then(|| format!("HTTP/1.{minor} {code} "))
}

/// Returns whether the byte may be part of a header's name (RFC 9110, section 5.6.2).
fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns a value in which spaces replace control characters. In an address they are encoded, so that it stays the same
/// address. A cookie with them is dropped, as in browsers. They stay in a header that says where the answer ends, which
/// makes it invalid.
fn without_controls<'v>(name: &[u8], value: &'v [u8]) -> Option<Cow<'v, [u8]>> {
    let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
    if !value.iter().any(is_control) {
        return Some(Cow::Borrowed(value));
    }
    match name.to_ascii_lowercase().as_slice() {
        b"content-length" | b"transfer-encoding" => Some(Cow::Borrowed(value)),
        b"set-cookie" => None,
        b"location" => Some(encode_address(value).into_bytes().into()),
        _ => Some(value.iter().map(|byte| if is_control(byte) { b' ' } else { *byte }).collect()),
    }
}

fn field(line: &[u8]) -> io::Result<(String, Vec<u8>)> {
    let colon = memchr::memchr(b':', line).ok_or_else(|| invalid("header without a colon"))?;
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
    let name = std::str::from_utf8(&line[..colon]).ok().filter(|name| is_name(name));
    let name = name.ok_or_else(|| invalid("header without a valid name"))?.to_ascii_lowercase();
    if line[colon..].contains(&0) || line[colon..].contains(&b'\r') {
        return Err(invalid("header with a control character"));
    }
    Ok((name, line[colon + 1..].trim_ascii().to_vec()))
}

impl Head {
    /// Returns the method and the target of a request of HTTP/1.
    pub(crate) fn request_line(&self) -> Option<(&str, &str)> {
        let mut words = self.line.split(' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) => Some((method, target)),
            _ => None,
        }
    }

    /// Returns the status of an answer of HTTP/1.
    pub(crate) fn status(&self) -> Option<u16> {
        let rest = self.line.strip_prefix("HTTP/1.")?;
        rest.split(' ').nth(1)?.parse().ok().filter(|status| (100..1000).contains(status))
    }

    pub(crate) fn field(&self, name: &str) -> Option<&[u8]> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_slice())
    }

    /// Returns the announced length of the body, or an error if it is not announced by one `Content-Length`.
    pub(crate) fn content_length(&self) -> Result<u64, ()> {
        if self.field("transfer-encoding").is_some() {
            return Err(());
        }
        let mut lengths = self.fields.iter().filter(|(name, _)| name == "content-length");
        match (lengths.next(), lengths.next()) {
            (None, _) => Ok(0),
            (Some((_, length)), None) if length.iter().all(u8::is_ascii_digit) => {
                std::str::from_utf8(length).ok().and_then(|length| length.parse().ok()).ok_or(())
            }
            _ => Err(()),
        }
    }

    /// Renders the head for the next server, with that first line and without hop-by-hop headers.
    pub(crate) fn forwarded(&self, line: &str) -> Vec<u8> {
        let named = self.field("connection").unwrap_or_default().to_ascii_lowercase();
        let named = String::from_utf8_lossy(&named);
        let is_named = |name: &str| named.split(',').any(|word| word.trim() == name);
        let mut out = format!("{line}\r\n").into_bytes();
        for (name, value) in &self.fields {
            if !HOP_BY_HOP.contains(&name.as_str()) && !is_named(name) {
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b": ");
                out.extend_from_slice(value);
                out.extend_from_slice(b"\r\n");
            }
        }
        out.extend_from_slice(b"connection: close\r\n\r\n");
        out
    }
}

pub(crate) fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> io::Result<Option<Head>> {
        read(&mut text.as_bytes())
    }

    #[test]
    fn a_head_is_read_to_its_end_and_not_beyond() {
        let head = of("GET http://a/ HTTP/1.1\r\nHost: a\r\nX-Y:  z \r\n\r\nbody").unwrap().unwrap();
        assert_eq!(head.request_line(), Some(("GET", "http://a/")));
        assert_eq!((head.field("host"), head.field("x-y")), (Some(&b"a"[..]), Some(&b"z"[..])));
        assert_eq!(head.rest, b"body");
        assert_eq!(of("HTTP/1.1 204 \n\n").unwrap().unwrap().status(), Some(204));
        assert!(of("").unwrap().is_none());
    }

    #[test]
    fn an_invalid_head_is_refused() {
        let long = "a".repeat(MAX_BYTES);
        for text in
            ["GET", "GET / HTTP/1.1\r\nno colon\r\n\r\n", "G\r\n: x\r\n\r\n", "G\r\nA b: x\r\n\r\n", &long]
        {
            assert!(of(text).is_err(), "{text}");
        }
        for line in ["GET / HTTP/2", "GET  / HTTP/1.1", "GET /", "GET / HTTP/1.1 x"] {
            assert!(of(&format!("{line}\r\n\r\n")).unwrap().unwrap().request_line().is_none(), "{line}");
        }
    }

    #[test]
    fn a_body_has_one_length() {
        for (fields, length) in [
            ("", Ok(0)),
            ("Content-Length: 5\r\n", Ok(5)),
            ("Content-Length: 5\r\nContent-Length: 5\r\n", Err(())),
            ("Content-Length: +5\r\n", Err(())),
            ("Content-Length: 99999999999999999999\r\n", Err(())),
            ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", Err(())),
        ] {
            let head = of(&format!("POST / HTTP/1.1\r\n{fields}\r\n")).unwrap().unwrap();
            assert_eq!(head.content_length(), length, "{fields}");
        }
    }

    #[test]
    fn hop_by_hop_headers_are_not_forwarded() {
        let head = of("GET / HTTP/1.1\r\nA: 1\r\nConnection: keep-alive, X-Own\r\nX-Own: 2\r\n\
                       Proxy-Authorization: Basic eA==\r\nUpgrade: h2c\r\n\r\n");
        let passed = String::from_utf8(head.unwrap().unwrap().forwarded("GET /x HTTP/1.1")).unwrap();
        assert_eq!(passed, "GET /x HTTP/1.1\r\na: 1\r\nconnection: close\r\n\r\n");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(Some(head)) = read(&mut bytes.as_slice()) {
                let _ = (head.request_line(), head.status(), head.content_length(), head.forwarded("x"));
            }
        }
    }
}
