//! A minimal HTTP/1.1 implementation: reads one small request, writes one answer, always with `Connection: close`.
//!
//! All sizes are bounded. The only client is Sightline's prober.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::net::{Timed, head};

/// The maximum number of header lines of a request.
pub(super) const MAX_HEADERS: usize = 100;
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
    headers: Vec<(String, Vec<u8>)>,
}

impl Asked {
    /// Returns the value of a header that occurs exactly once and is UTF-8. `name` is in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(key, _)| key == name);
        let (_, value) = values.next()?;
        std::str::from_utf8(value).ok().filter(|_| values.next().is_none())
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
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData => Self::Malformed("the head is not valid"),
            _ => Self::Gone,
        }
    }
}

/// Reads one request, including its body.
pub(super) fn read(stream: &TcpStream) -> Result<Asked, Refusal> {
    let mut stream = Timed { stream, deadline: Instant::now() + READ_TIMEOUT };
    let head = head::read(&mut stream)?.ok_or(Refusal::Gone)?;
    let method = match head.request_line() {
        Some((method, target)) if is_token(method) && target.starts_with('/') => method.to_owned(),
        _ => return Err(Refusal::Malformed("the request line is not that of HTTP/1 with a path")),
    };
    if head.fields.len() > MAX_HEADERS {
        return Err(Refusal::Malformed("too many headers"));
    }
    let length = head.content_length().ok().filter(|length| *length <= MAX_BODY_BYTES);
    let length = length.ok_or(Refusal::Malformed("a body length that is not allowed"))?;
    let left = length.saturating_sub(head.rest.len() as u64);
    if io::copy(&mut stream.take(left), &mut io::sink())? < left {
        return Err(Refusal::Gone);
    }
    Ok(Asked { method, headers: head.fields })
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
