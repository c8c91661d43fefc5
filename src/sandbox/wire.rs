//! A minimal HTTP/1.1 implementation: reads one small request, writes one answer, always with `Connection: close`.
//!
//! Parsing is strict and all sizes are bounded. The only client is Sightline's prober, so all other syntax is
//! rejected.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The maximum size of a request's head, in bytes.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The maximum number of header lines of a request.
const MAX_HEADERS: usize = 100;
/// The maximum size of a request's body, in bytes. The body is read and ignored.
const MAX_BODY_BYTES: u64 = 4 * 1024 * 1024;
/// The time in which a client must send its request.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The write timeout of an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// A request without its body.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// The method in upper case, as it was sent.
    pub(super) method: String,
    /// The headers in order, with lower-case names and trimmed values.
    headers: Vec<(String, String)>,
}

impl Asked {
    /// Returns the value of a header that occurs exactly once. `name` is in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(key, _)| key == name);
        let (_, value) = values.next()?;
        values.next().is_none().then_some(value)
    }
}

/// An answer. `Content-Length`, `Connection` and `X-Sightline-Sandbox` are added when it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// The HTTP status, from 200 to 599.
    pub(super) status: u16,
    /// The headers in order, as name and value.
    pub(super) headers: Vec<(String, String)>,
    /// The body of the answer.
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// Returns an answer with a body of the given content type.
    pub(super) fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type".to_owned(), content_type.to_owned())];
        Self { status, headers, body: body.into() }
    }

    /// Adds a header to the answer.
    #[must_use]
    pub(super) fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Returns whether the answer can be sent without changes.
    pub(super) fn is_sendable(&self) -> bool {
        (200..=599).contains(&self.status)
            && (self.has_body() || self.body.is_empty())
            && self.headers.iter().all(|(name, value)| is_token(name) && is_plain_value(value))
    }

    /// Returns whether answers with this status have a body.
    fn has_body(&self) -> bool {
        !matches!(self.status, 204 | 304)
    }

    /// Returns all headers as a client sees them, with lower-case names.
    pub(super) fn wire_headers(&self) -> Vec<(String, String)> {
        let own = self.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        let length = self.has_body().then(|| ("content-length".to_owned(), self.body.len().to_string()));
        own.chain(length)
            .chain(
                [("connection", "close"), ("x-sightline-sandbox", "true")].map(|(n, v)| (n.into(), v.into())),
            )
            .collect()
    }

    fn encode(&self, head_only: bool) -> Vec<u8> {
        let mut bytes = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status)).into_bytes();
        for (name, value) in self.wire_headers() {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        if !head_only && self.has_body() {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

/// The reason for which a request was not read.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The client closed the connection or was too slow. No answer is sent.
    Gone,
    /// The request is malformed. The text names the problem.
    Malformed(&'static str),
}

impl From<io::Error> for Refusal {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// Reads one request, including its body.
pub(super) fn read(stream: &mut TcpStream) -> Result<Asked, Refusal> {
    let deadline = Instant::now() + READ_TIMEOUT;
    let mut bytes = Vec::with_capacity(1024);
    let head_end = loop {
        if let Some(end) = find_head_end(&bytes) {
            break end;
        }
        if bytes.len() > MAX_HEAD_BYTES {
            return Err(Refusal::Malformed("the head is too large"));
        }
        read_more(stream, &mut bytes, deadline)?;
    };
    let (asked, length) = parse_head(&bytes[..head_end])?;
    let mut left = length.saturating_sub((bytes.len() - head_end) as u64);
    while left > 0 {
        bytes.clear();
        left = left.saturating_sub(read_more(stream, &mut bytes, deadline)? as u64);
    }
    Ok(asked)
}

fn read_more(stream: &mut TcpStream, into: &mut Vec<u8>, deadline: Instant) -> Result<usize, Refusal> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Refusal::Gone);
    }
    stream.set_read_timeout(Some(left))?;
    let mut piece = [0; 4096];
    match stream.read(&mut piece)? {
        0 => Err(Refusal::Gone),
        count => {
            into.extend_from_slice(&piece[..count]);
            Ok(count)
        }
    }
}

fn find_head_end(bytes: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, b"\r\n\r\n").map(|at| at + 4)
}

/// Parses the head. Returns the request and the length of its body.
fn parse_head(head: &[u8]) -> Result<(Asked, u64), Refusal> {
    let head = std::str::from_utf8(head).map_err(|_| Refusal::Malformed("the head is not UTF-8"))?;
    let mut lines = head.trim_end_matches("\r\n").split("\r\n");
    let method = parse_request_line(lines.next().unwrap_or_default())?;
    let headers = lines.map(parse_header).collect::<Result<Vec<_>, _>>()?;
    if headers.len() > MAX_HEADERS {
        return Err(Refusal::Malformed("too many headers"));
    }
    let asked = Asked { method, headers };
    let length = body_length(&asked)?;
    Ok((asked, length))
}

fn parse_request_line(line: &str) -> Result<String, Refusal> {
    let mut words = line.split(' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(method), Some(target), Some("HTTP/1.1"), None)
            if is_token(method) && target.starts_with('/') =>
        {
            Ok(method.to_owned())
        }
        _ => Err(Refusal::Malformed("the request line is not `METHOD /path HTTP/1.1`")),
    }
}

fn parse_header(line: &str) -> Result<(String, String), Refusal> {
    let (name, value) = line.split_once(':').ok_or(Refusal::Malformed("a header line without a colon"))?;
    let value = value.trim_matches([' ', '\t']);
    if !is_token(name) || value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(Refusal::Malformed("a header line that HTTP does not allow"));
    }
    Ok((name.to_ascii_lowercase(), value.to_owned()))
}

fn body_length(asked: &Asked) -> Result<u64, Refusal> {
    let has = |name: &str| asked.headers.iter().any(|(key, _)| key == name);
    if has("transfer-encoding") {
        return Err(Refusal::Malformed("a transfer encoding"));
    }
    if !has("content-length") {
        return Ok(0);
    }
    let text = asked.header("content-length").unwrap_or_default();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(length) if digits && length <= MAX_BODY_BYTES => Ok(length),
        _ => Err(Refusal::Malformed("a body length that is not allowed")),
    }
}

/// Writes an answer and closes the sending side of the connection.
pub(super) fn write(stream: &mut TcpStream, answer: &Answer, head_only: bool) -> io::Result<()> {
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    stream.write_all(&answer.encode(head_only))?;
    stream.shutdown(std::net::Shutdown::Write)
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Returns whether the value is printable ASCII without surrounding white space, which clients would trim.
fn is_plain_value(value: &str) -> bool {
    value.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) && value.trim() == value
}

fn reason(status: u16) -> &'static str {
    match status {
        200..=299 => "OK",
        300..=399 => "Redirect",
        404 => "Not Found",
        429 => "Too Many Requests",
        400..=499 => "Client Error",
        _ => "Server Error",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head(text: &str) -> Result<(Asked, u64), Refusal> {
        parse_head(text.as_bytes())
    }

    #[test]
    fn a_plain_request_is_parsed() {
        let (asked, length) =
            head("POST /a?b HTTP/1.1\r\nHost: example.org\r\nContent-Length: 12\r\nX-A:  b \r\n\r\n")
                .unwrap();
        assert_eq!((asked.method.as_str(), length), ("POST", 12));
        assert_eq!(asked.header("x-a"), Some("b"));
        assert_eq!(asked.header("x-b"), None);
    }

    #[test]
    fn requests_that_no_prober_sends_are_refused() {
        for bad in [
            "",
            "GET /\r\n\r\n",
            "GET / HTTP/1.0\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\nna me: x\r\n\r\n",
            "GET / HTTP/1.1\r\n folded: x\r\n\r\n",
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: +7\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 100000000000\r\n\r\n",
        ] {
            assert!(matches!(head(bad), Err(Refusal::Malformed(_))), "{bad:?}");
        }
    }

    #[test]
    fn an_answer_that_http_would_change_is_not_sendable() {
        assert!(Answer::new(200, "text/plain", "x").is_sendable());
        assert!(!Answer::new(150, "text/plain", "").is_sendable());
        assert!(!Answer::new(204, "text/plain", "x").is_sendable());
        assert!(!Answer::new(200, "text/plain", "").with_header("A", "a\r\nB: b").is_sendable());
        assert!(!Answer::new(200, "text/plain", "").with_header("A", " a").is_sendable());
        assert!(!Answer::new(200, "text/plain", "").with_header("A b", "a").is_sendable());
    }

    proptest! {
        #[test]
        fn no_head_makes_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse_head(&bytes);
        }
    }
}
