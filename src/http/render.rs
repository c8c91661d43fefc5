//! Renders responses as bytes.

use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

use super::encoding::Encoding;
use super::request::{is_header_value, is_token};
use super::response::Response;

/// Properties of a request and its connection that change how its answer is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RenderOptions {
    /// Whether the method is `HEAD`. The answer then has `Content-Length` but no body.
    pub(super) is_head: bool,
    /// Whether the connection is closed after the answer.
    pub(super) close: bool,
    /// Whether the request uses HTTP/1.0. The answer must then state that the connection stays open, and must not be
    /// chunked.
    pub(super) is_http_1_0: bool,
    /// Whether the client accepts compressed bodies.
    pub(super) accepts_gzip: bool,
}

/// The maximum size of a body that is written together with its head. Copying a larger one would cost more than a
/// second write.
const ONE_WRITE_BYTES: usize = 64 * 1024;
/// The capacity for the head of an answer of the API, for which the allocator has a buffer at hand. A page has a longer head.
const HEAD_BYTES: usize = 512;

/// Renders a response, as the bytes for one write and those for a second one, which are none except for large bodies.
pub(super) fn response(response: &Response, options: RenderOptions) -> (Vec<u8>, Arc<[u8]>) {
    let status = response.status;
    let encoding = Encoding::choose(response, options.accepts_gzip);
    let mut first = head(response, status, options, encoding);
    let mut body = Arc::from([]);
    if !matches!(status, 204 | 304) {
        let whole = encoding.body(response);
        push_header(&mut first, "Content-Length", &whole.len().to_string());
        if !options.is_head {
            body = whole;
        }
    }
    first.extend_from_slice(b"\r\n");
    if body.len() > ONE_WRITE_BYTES {
        return (first, body);
    }
    first.extend_from_slice(&body);
    (first, Arc::from([]))
}

/// Renders the complete head of a streamed answer.
pub(super) fn stream_head(response: &Response, options: RenderOptions) -> Vec<u8> {
    let mut head = head(response, response.status, options, Encoding::Only);
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
        if !is_token(name) || !is_header_value(value) {
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

/// Returns the reason phrase of a status.
pub fn reason(status: u16) -> &'static str {
    tiny_http::StatusCode(status).default_reason_phrase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: RenderOptions =
        RenderOptions { is_head: false, close: false, is_http_1_0: false, accepts_gzip: false };

    fn text(response: &Response, options: RenderOptions) -> String {
        String::from_utf8(super::response(response, options).0).unwrap()
    }

    #[test]
    fn a_header_cannot_split_an_answer() {
        let response = Response::empty(200)
            .with_header("X-Good", "yes\twell")
            .with_header("X-Split", "a\r\nSet-Cookie: b")
            .with_header("X Name", "a")
            .with_header("X-Text", "ä");
        let answer = text(&response, PLAIN);
        assert!(answer.contains("X-Good: yes\twell\r\n"), "{answer}");
        for absent in ["Split", "Cookie", "X Name", "X-Text"] {
            assert!(!answer.contains(absent), "{absent}: {answer}");
        }
    }
}
