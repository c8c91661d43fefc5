//! Heads of answers, as browsers read them.

use std::borrow::Cow;

use crate::base::encoding::encode_address;

/// Returns the index after the empty line. A bare LF ends a line, too (RFC 9112, section 2.2).
pub(super) fn end_of(bytes: &[u8]) -> Option<usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').find_map(|(at, _)| match &bytes[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

/// Returns the head of an answer as browsers read it, in a form that strict parsers accept: without a reason phrase,
/// without lines that are no headers, and with folded lines joined. Every other head is returned as it is, and so is one
/// with a NUL, which browsers refuse.
pub(super) fn mended(head: &[u8]) -> Cow<'_, [u8]> {
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let status = lines.next().filter(|_| !head.contains(&0)).and_then(status_line);
    let Some(status) = status else { return Cow::Borrowed(head) };
    // A line that is no header leaves a gap, so that folded lines after it continue nothing.
    let mut fields: Vec<Option<(&[u8], Vec<u8>)>> = Vec::new();
    for line in lines {
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            if let Some(Some((_, value))) = fields.last_mut() {
                value.push(b' ');
                value.extend_from_slice(line.trim_ascii());
            }
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(0);
        let name = line[..colon].trim_ascii_end();
        let is_header = !name.is_empty() && name.iter().all(|&byte| is_of_a_name(byte));
        fields.push(is_header.then(|| (name, line[colon + 1..].trim_ascii().to_vec())));
    }
    let mut out = status.into_bytes();
    for (name, value) in fields.into_iter().flatten() {
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
    let (protocol, rest) = line.split_at_checked(line.iter().position(|byte| b" \t".contains(byte))?)?;
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
