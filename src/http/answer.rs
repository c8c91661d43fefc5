//! Answers as bytes.

use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

use super::encoding::Encoding;
use super::head::is_token;
use super::response::Response;

/// What the request and the connection have to say about the form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    /// The answer to `HEAD`: no body, but its length.
    pub(super) head_only: bool,
    /// The connection is closed after it.
    pub(super) close: bool,
    /// HTTP/1.0: must be told that the connection stays.
    pub(super) is_old: bool,
    /// The client takes compressed bodies.
    pub(super) takes_gzip: bool,
}

/// A rendered answer, and how much of it is out.
pub(super) struct Rendered {
    /// The head and, for one write, the beginning of the body.
    first: Vec<u8>,
    /// The rest begins here.
    body_from: usize,
    body: Arc<[u8]>,
    sent: usize,
}

/// A body of up to this size goes out in one write with its head; copying more would cost more than
/// the second write.
const ONE_WRITE_BYTES: usize = 64 * 1024;
/// Room for a head with all that the product adds: a buffer that had to grow would copy the body once more.
const HEAD_BYTES: usize = 1024;

impl Rendered {
    pub(super) fn new(response: &Response, form: Form) -> Self {
        let status = sound_status(response.status);
        let may_have_body = !matches!(status, 204 | 304);
        let encoding = Encoding::choose(response, form.takes_gzip);
        let mut first = head(response, status, form, encoding);
        let mut body = Arc::from([]);
        if may_have_body {
            let whole = encoding.body(response);
            push_header(&mut first, "Content-Length", &whole.len().to_string());
            if !form.head_only {
                body = whole;
            }
        }
        first.extend_from_slice(b"\r\n");
        let body_from = body.len().min(ONE_WRITE_BYTES);
        first.extend_from_slice(&body[..body_from]);
        Self { first, body_from, body, sent: 0 }
    }

    /// What is not out yet, or the next piece of it.
    pub(super) fn rest(&self) -> &[u8] {
        match self.sent.checked_sub(self.first.len()) {
            None => &self.first[self.sent..],
            Some(beyond) => &self.body[self.body_from + beyond..],
        }
    }

    /// So many bytes more are out.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.sent += bytes;
    }
}

/// The head of a streamed answer, whole.
pub(super) fn stream_head(response: &Response, form: Form) -> Vec<u8> {
    let form = Form { close: true, ..form };
    let mut head = head(response, sound_status(response.status), form, Encoding::Only);
    if !form.is_old {
        push_header(&mut head, "Transfer-Encoding", "chunked");
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Status line and headers, without the framing and the empty line.
fn head(response: &Response, status: u16, form: Form, encoding: Encoding) -> Vec<u8> {
    let mut head = Vec::with_capacity(HEAD_BYTES + response.body.len().min(ONE_WRITE_BYTES));
    // Writing to a Vec doesn't fail.
    let _ = write!(head, "HTTP/1.1 {status} {}\r\n", reason(status));
    push_header(&mut head, "Date", &httpdate::fmt_http_date(SystemTime::now()));
    if form.close {
        push_header(&mut head, "Connection", "close");
    } else if form.is_old {
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
            // What it would describe is not there.
            continue;
        }
        if is_ours(name) || !is_token(name) || !is_sound_value(value) {
            // Not the value: it could be anything.
            log::error!("an answer's header {name:?} can't be sent and is left out");
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

/// Headers that only the server can know.
fn is_ours(name: &str) -> bool {
    ["content-length", "transfer-encoding", "connection", "date"]
        .iter()
        .any(|ours| name.eq_ignore_ascii_case(ours))
}

fn is_sound_value(value: &str) -> bool {
    value.bytes().all(|byte| byte == b'\t' || byte == b' ' || byte.is_ascii_graphic())
}

/// An interim or an impossible status as a final answer would put the connection out of step.
fn sound_status(status: u16) -> u16 {
    if (200..=599).contains(&status) {
        return status;
    }
    log::error!("an answer's status {status} can't be sent; 500 is sent instead");
    500
}

/// A status in words (RFC 9110 section 15, RFC 6585); empty for one that they do not know.
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
        // The phrase may be empty; the space before it may not be missing.
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Form = Form { head_only: false, close: false, is_old: false, takes_gzip: false };

    fn text(response: &Response, form: Form) -> String {
        let mut rendered = Rendered::new(response, form);
        let mut all = Vec::new();
        while !rendered.rest().is_empty() {
            all.extend_from_slice(rendered.rest());
            rendered.advance(rendered.rest().len());
        }
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn a_plain_answer() {
        let answer = text(&Response::new(200, "text/plain", *b"abc"), PLAIN);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\nDate: "), "{answer}");
        let end = "GMT\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc";
        assert!(answer.ends_with(end), "{answer}");
    }

    #[test]
    fn forms_differ_where_they_must() {
        let response = Response::new(200, "text/plain", *b"abc");
        let head = text(&response, Form { head_only: true, ..PLAIN });
        assert!(head.ends_with("Content-Length: 3\r\n\r\n"), "{head}");
        assert!(text(&response, Form { close: true, ..PLAIN }).contains("\r\nConnection: close\r\n"));
        assert!(text(&response, Form { is_old: true, ..PLAIN }).contains("\r\nConnection: keep-alive\r\n"));
        let none = text(&Response::empty(204), PLAIN);
        assert!(!none.contains("Content-Length") && none.ends_with("\r\n\r\n"), "{none}");
        let stream = stream_head(&response, PLAIN);
        let stream = String::from_utf8(stream).unwrap();
        assert!(
            stream.contains("Connection: close\r\n") && stream.contains("Transfer-Encoding: chunked\r\n\r\n")
        );
        let old = String::from_utf8(stream_head(&response, Form { is_old: true, ..PLAIN })).unwrap();
        assert!(!old.contains("Transfer-Encoding"), "{old}");
    }

    #[test]
    fn a_header_can_not_split_an_answer() {
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
    fn a_status_that_is_no_final_one_becomes_500() {
        for status in [0, 100, 199, 600, 9999] {
            assert!(text(&Response::empty(status), PLAIN).starts_with("HTTP/1.1 500 "), "{status}");
        }
    }

    #[test]
    fn a_304_says_what_the_200_would_and_has_no_body() {
        let json =
            |status| Response::new(status, "application/json", vec![b' '; 4000]).with_header("ETag", "\"a\"");
        let gzip = Form { takes_gzip: true, ..PLAIN };
        let full = Rendered::new(&json(200), gzip);
        let head = String::from_utf8_lossy(full.rest()).into_owned();
        for line in ["Vary: Accept-Encoding", "Content-Encoding: gzip", "ETag: W/\"a\""] {
            assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {head}");
        }
        let none = text(&json(304), gzip);
        assert!(none.contains("Vary: Accept-Encoding\r\n") && none.contains("ETag: W/\"a\"\r\n"), "{none}");
        assert!(!none.contains("Content-") && none.ends_with("\r\n\r\n"), "{none}");
        assert!(text(&json(304), PLAIN).contains("ETag: \"a\"\r\n"));
    }

    #[test]
    fn a_large_body_comes_out_whole_and_in_order() {
        let body: Vec<u8> = (0..200_000u32).map(|index| b'a' + (index % 26) as u8).collect();
        let answer = text(&Response::new(200, "text/plain", body.clone()), PLAIN);
        assert!(answer.into_bytes().ends_with(&body));
    }
}
