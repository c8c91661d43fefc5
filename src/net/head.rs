//! Heads of answers, as browsers read them.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::Regex;
use ureq::http::HeaderName;

use crate::base::encoding::encode_address;

/// Returns the index after the empty line. A bare LF ends a line, too (RFC 9112, section 2.2).
pub(super) fn end_of(bytes: &[u8]) -> Option<usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').find_map(|(at, _)| match &bytes[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

/// The end of a line that the next one continues (RFC 9112, section 5.2).
static FOLD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\r?\n[ \t]+").expect("valid"));

/// Returns the head of an answer as browsers read it, in a form that strict parsers accept: without a reason phrase,
/// without lines that are no headers, and with folded lines joined. Every other head is returned as it is, and so is one
/// with a NUL, which browsers refuse.
pub(super) fn mended(head: &[u8]) -> Cow<'_, [u8]> {
    let unfolded = FOLD.replace_all(head, &b" "[..]);
    let mut lines = unfolded.split(|byte| *byte == b'\n');
    let status = lines.next().filter(|_| !head.contains(&0)).and_then(status_line);
    let Some(status) = status else { return Cow::Borrowed(head) };
    let mut out = status.into_bytes();
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (line[..colon].trim_ascii_end(), line[colon + 1..].trim_ascii());
        if HeaderName::from_bytes(name).is_ok()
            && let Some(value) = without_controls(name, value)
        {
            out.extend_from_slice(&[b"\r\n", name, b": ", &value].concat());
        }
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
    let (protocol, rest) = line.split_at_checked(line.iter().position(|byte| b" \t".contains(byte))?)?;
    let version = protocol.get(5..).filter(|_| protocol[..5].eq_ignore_ascii_case(b"HTTP/"))?;
    let is_version = !version.is_empty() && version.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let minor = u8::from(!matches!(version, b"0.9" | b"1" | b"1.0"));
    let rest = rest.trim_ascii_start();
    let code = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let code = std::str::from_utf8(&rest[..code]).ok()?;
    (is_version && code.len() == 3).then(|| format!("HTTP/1.{minor} {code} "))
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
