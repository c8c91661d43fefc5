//! What a JSON text costs once it is parsed, told before that is done.
//!
//! A value takes far more memory than its text: an object of one member some 500 bytes, however short
//! its text is.

/// The most that one answer may cost, in [`cost`]s: some 30 MB.
pub(crate) const MAX_COST: usize = 200_000;
/// The same for an answer that all checks share.
pub(crate) const MAX_SHARED_COST: usize = 4 * MAX_COST;

/// An object against another value.
const OBJECT: usize = 4;

/// What a text of JSON costs: one for each value, more for an object. Never less than it is: commas and
/// brackets in strings count only as long as that is little.
pub(crate) fn cost(text: &str, most: usize) -> usize {
    let all = text.bytes().map(price).sum();
    if all <= most { all } else { outside_strings(text.as_bytes()) }
}

fn price(byte: u8) -> usize {
    match byte {
        b'{' => OBJECT,
        b'[' | b',' => 1,
        _ => 0,
    }
}

fn outside_strings(bytes: &[u8]) -> usize {
    let (mut sum, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        sum += price(*byte);
        at += 1;
        if *byte == b'"' {
            at += string_rest(&bytes[at..]);
        }
    }
    sum
}

/// How long a string is behind its first quote, the last one included.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cost_and_what_stands_in_strings_does_not() {
        for (text, want) in [
            ("1", 0),
            ("[1,2]", 2),
            (r#"{"a":[1,{"b":2}]}"#, 10),
            (r#"["a,b,{[","\",,","\\",1]"#, 4),
            (r#"["a,,,"#, 1),
            (r#"["a\"#, 1),
        ] {
            assert_eq!(cost(text, 0), want, "{text}");
        }
        assert_eq!(cost(r#"["a,b"]"#, 100), 2, "a text that is cheap either way is not looked at twice");
    }
}
