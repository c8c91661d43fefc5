//! Percent-encoding ([RFC 3986, section 2.1](https://www.rfc-editor.org/rfc/rfc3986#section-2.1)), hexadecimal digits,
//! SHA-256 and gzip.

use std::io::{self, Read, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use percent_encoding::{
    AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, percent_encode as encode_bytes,
    utf8_percent_encode,
};
use ring::digest::{SHA256, digest};

/// All ASCII characters except the unreserved ones of RFC 3986, section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Percent-encodes everything except unreserved characters.
pub fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Returns an address as text, in which the bytes of control characters and of other than ASCII characters are
/// percent-encoded as they are. Tabs stay, because they do not count in an address.
pub fn encode_address(bytes: &[u8]) -> String {
    const ENCODED: &AsciiSet = &CONTROLS.remove(b'\t');
    encode_bytes(bytes, ENCODED).to_string()
}

/// Returns the decoded text, or `None` if a `%` is not followed by two hexadecimal digits or the result is not UTF-8.
pub fn percent_decode(text: &str) -> Option<String> {
    let is_encoded =
        |rest: &str| rest.as_bytes().get(..2).is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit));
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    text.split('%').skip(1).all(is_encoded).then(|| decoded.into_owned())
}

/// Returns the decoded text. A `%` without two hexadecimal digits stays, and invalid UTF-8 becomes U+FFFD.
pub fn percent_decode_lossy(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns the SHA-256 of these bytes.
pub fn sha256(bytes: impl AsRef<[u8]>) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes.as_ref()).as_ref());
    hash
}

/// Returns the bytes in lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect()
}

/// Returns the bytes that hexadecimal digits stand for, or `None` if there are other characters or a digit is missing.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let byte = |pair: &[u8]| Some((digit(pair.first()?)? << 4 | digit(pair.get(1)?)?) as u8);
    text.as_bytes().chunks(2).map(byte).collect()
}

/// Compresses bytes.
pub fn gzip(bytes: &[u8], level: Compression) -> Arc<[u8]> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), level);
    // Writing to a Vec does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default().into()
}

/// Returns the bytes that [`gzip`] has compressed.
///
/// # Errors
/// Returns an error for other bytes.
pub fn gunzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut body)?;
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreserved_characters_are_not_encoded() {
        assert_eq!(percent_encode("a-Z_0.~ +@/é"), "a-Z_0.~%20%2B%40%2F%C3%A9");
    }

    #[test]
    fn invalid_encodings_are_refused_or_stay() {
        assert_eq!(percent_decode("a%2Bb%40%C3%A9+.x").as_deref(), Some("a+b@é+.x"));
        for (bad, lossy) in [
            ("%", "%"),
            ("%2", "%2"),
            ("%zz", "%zz"),
            ("%+f", "%+f"),
            ("%%41", "%A"),
            ("a%é", "a%é"),
            ("%ff", "\u{fffd}"),
        ] {
            assert_eq!((percent_decode(bad), percent_decode_lossy(bad)), (None, lossy.to_owned()), "{bad}");
        }
    }

    #[test]
    fn hexadecimal_digits_are_read_strictly() {
        assert_eq!(unhex(&hex(&[0, 0x9f, 0xff])), Some(vec![0, 0x9f, 0xff]));
        assert_eq!((unhex(""), unhex("Aa")), (Some(vec![]), Some(vec![0xaa])));
        for bad in ["a", "abc", "+f", "0x", "é", " 1"] {
            assert_eq!(unhex(bad), None, "{bad}");
        }
    }
}
