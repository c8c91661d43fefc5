//! Renders responses as bytes.

use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

use super::encoding::Encoding;
use super::head::is_token;
use super::response::Response;

/// Properties of a request and its connection that change how its answer is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RenderOptions {
    /// Whether the method is `HEAD`. The answer then has `Content-Length` but no body.
    pub(crate) is_head: bool,
    /// Whether the connection is closed after the answer.
    pub(crate) close: bool,
    /// Whether the request uses HTTP/1.0. The answer must then state that the connection stays open, and must not be
    /// chunked.
    pub(crate) is_http_1_0: bool,
    /// Whether the client accepts compressed bodies.
    pub(crate) accepts_gzip: bool,
}

/// A rendered response, and the number of bytes of it that are written.
pub(crate) struct RenderedResponse {
    /// The head and the beginning of the body, for one write.
    first: Vec<u8>,
    /// The index in the body of the first byte that is not in `first`.
    body_from: usize,
    body: Arc<[u8]>,
    sent: usize,
}

/// The maximum size of a body that is written together with its head. Copying a larger one would cost more than a
/// second write.
const ONE_WRITE_BYTES: usize = 64 * 1024;
/// The capacity for a head with all headers of the service. A buffer that grows would copy the body once more.
const HEAD_BYTES: usize = 1024;

impl RenderedResponse {
    pub(crate) fn new(response: &Response, options: RenderOptions) -> Self {
        let status = final_status(response.status);
        let may_have_body = !matches!(status, 204 | 304);
        let encoding = Encoding::choose(response, options.accepts_gzip);
        let mut first = head(response, status, options, encoding);
        let mut body = Arc::from([]);
        if may_have_body {
            let whole = encoding.body(response);
            push_header(&mut first, "Content-Length", &whole.len().to_string());
            if !options.is_head {
                body = whole;
            }
        }
        first.extend_from_slice(b"\r\n");
        let body_from = body.len().min(ONE_WRITE_BYTES);
        first.extend_from_slice(&body[..body_from]);
        Self { first, body_from, body, sent: 0 }
    }

    /// Returns the next bytes to write. They are empty if everything is written.
    pub(crate) fn rest(&self) -> &[u8] {
        match self.sent.checked_sub(self.first.len()) {
            None => &self.first[self.sent..],
            Some(beyond) => &self.body[self.body_from + beyond..],
        }
    }

    /// Records that this number of further bytes is written.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.sent += bytes;
    }

    /// Returns all bytes that are not written yet.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while !self.rest().is_empty() {
            bytes.extend_from_slice(self.rest());
            self.advance(self.rest().len());
        }
        bytes
    }
}

/// Renders the complete head of a streamed answer.
pub(crate) fn stream_head(response: &Response, options: RenderOptions) -> Vec<u8> {
    let options = RenderOptions { close: true, ..options };
    let mut head = head(response, final_status(response.status), options, Encoding::Only);
    if !options.is_http_1_0 {
        push_header(&mut head, "Transfer-Encoding", "chunked");
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Renders the status line and the headers, without the framing and the empty line.
fn head(response: &Response, status: u16, options: RenderOptions, encoding: Encoding) -> Vec<u8> {
    let mut head = Vec::with_capacity(HEAD_BYTES + response.body.len().min(ONE_WRITE_BYTES));
    // Writing to a Vec does not fail.
    let _ = write!(head, "HTTP/1.1 {status} {}\r\n", reason(status));
    push_header(&mut head, "Date", &httpdate::fmt_http_date(SystemTime::now()));
    if options.close {
        push_header(&mut head, "Connection", "close");
    } else if options.is_http_1_0 {
        push_header(&mut head, "Connection", "keep-alive");
    }
    if encoding != Encoding::Only {
        push_header(&mut head, "Vary", "Accept-Encoding");
    }
    if encoding == Encoding::Gzip && status != 304 {
        push_header(&mut head, "Content-Encoding", "gzip");
    }
    for (name, value) in &response.headers {
        if status == 304 && name.eq_ignore_ascii_case("content-type") {
            // A 304 has no body that the header could describe.
            continue;
        }
        if is_server_header(name) || !is_token(name) || !is_valid_value(value) {
            // The value is not logged: it may be confidential.
            log::error!("response header {name:?} left out: its name or value is not allowed");
        } else {
            push_header(&mut head, name, &encoding.header(name, value));
        }
    }
    head
}

fn push_header(to: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        to.extend_from_slice(part.as_bytes());
    }
}

/// Returns whether only the server may set that header.
fn is_server_header(name: &str) -> bool {
    ["content-length", "transfer-encoding", "connection", "date"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

fn is_valid_value(value: &str) -> bool {
    value.bytes().all(|byte| byte == b'\t' || byte == b' ' || byte.is_ascii_graphic())
}

/// Returns the status if it is a final one, and otherwise 500. After an interim status, a client would wait for
/// another answer.
fn final_status(status: u16) -> u16 {
    if (200..=599).contains(&status) {
        return status;
    }
    log::error!("response status {status} replaced with 500: not a final status");
    500
}

/// Returns the reason phrase of a status (RFC 9110, section 15; RFC 6585), or an empty text for an unknown status.
pub fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        // The phrase may be empty (RFC 9112, section 4).
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: RenderOptions =
        RenderOptions { is_head: false, close: false, is_http_1_0: false, accepts_gzip: false };

    fn text(response: &Response, options: RenderOptions) -> String {
        String::from_utf8(RenderedResponse::new(response, options).into_bytes()).unwrap()
    }

    #[test]
    fn a_header_cannot_split_an_answer() {
        let response = Response::empty(200)
            .with_header("X-Good", "yes\twell")
            .with_header("X-Split", "a\r\nSet-Cookie: b")
            .with_header("X Name", "a")
            .with_header("X-Text", "ä")
            .with_header("Content-Length", "99")
            .with_header("transfer-encoding", "chunked");
        let answer = text(&response, PLAIN);
        assert!(answer.contains("X-Good: yes\twell\r\n"), "{answer}");
        for absent in ["Split", "Cookie", "X Name", "X-Text", "99", "chunked"] {
            assert!(!answer.contains(absent), "{absent}: {answer}");
        }
    }

    #[test]
    fn a_status_that_is_not_final_becomes_500() {
        for status in [0, 100, 199, 600, 9999] {
            assert!(text(&Response::empty(status), PLAIN).starts_with("HTTP/1.1 500 "), "{status}");
        }
    }
}
