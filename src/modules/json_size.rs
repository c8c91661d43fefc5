//! Estimates the memory of a parsed JSON text before it is parsed.
//!
//! A value takes far more memory than its text. An object with one member
//! takes about 500 bytes, however short its text is.

/// The highest [`cost`] of one answer, which is about 30 MB.
pub(crate) const MAX_COST: usize = 200_000;

/// The cost of an object; other values cost 1.
const OBJECT: u8 = 4;

/// Returns an upper bound of a JSON text's cost: 1 for each value, more for an object. Commas and brackets
/// inside strings are counted only if the sum is at most `most`.
pub(crate) fn cost(text: &str, most: usize) -> usize {
    let all = upper_cost(text.as_bytes());
    if all <= most { all } else { outside_strings(text.as_bytes()) }
}

/// Returns an upper bound of the cost of the JSON in a body or in its scripts.
pub(crate) fn upper_cost(body: &[u8]) -> usize {
    // The sum of a chunk fits into a byte, so that many bytes are added at once.
    let chunks = body.chunks(usize::from(u8::MAX / OBJECT));
    chunks.map(|chunk| usize::from(chunk.iter().map(|byte| price(*byte)).sum::<u8>())).sum()
}

fn price(byte: u8) -> u8 {
    u8::from(byte == b'{') * OBJECT + u8::from(byte == b'[') + u8::from(byte == b',')
}

fn outside_strings(bytes: &[u8]) -> usize {
    let (mut sum, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        sum += usize::from(price(*byte));
        at += 1;
        if *byte == b'"' {
            at += string_rest(&bytes[at..]);
        }
    }
    sum
}

/// Returns the length of a string after its first quote, the last quote included.
fn string_rest(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found + 1;
        if bytes[at - 1] == b'"' {
            return at;
        }
        at += 1;
    }
    bytes.len()
}
