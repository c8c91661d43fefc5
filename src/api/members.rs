//! The members of a JSON object in a request.

use serde_json::Value;

use super::error::ApiError;

/// The most levels of nesting in a body. Valid bodies have three.
const MAX_DEPTH: usize = 16;

/// Returns a body that is a JSON object.
///
/// # Errors
/// Returns 400 for anything else, for a repeated member, and for more than 16 levels of nesting.
pub(super) fn value(body: &[u8]) -> Result<Value, ApiError> {
    // A reader may skip a byte order mark (RFC 8259, section 8.1).
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    let invalid =
        |message: String| ApiError::invalid_request("body", message, "a JSON object, each member once");
    if body.is_empty() {
        return Err(ApiError::invalid_request("body", "the body is empty", "a JSON object"));
    }
    let (depth, colons) = scan(body);
    if depth > MAX_DEPTH {
        let message = "the body is nested too deeply";
        return Err(ApiError::invalid_request("body", message, format!("at most {MAX_DEPTH} levels")));
    }
    // The errors of serde_json name a position and a kind. They never repeat what the caller sent.
    let value = serde_json::from_slice(body).map_err(|error| {
        invalid(format!("the body is not valid JSON (line {}, column {})", error.line(), error.column()))
    })?;
    let members = count_members(&value);
    match value {
        // Of a repeated member, serde_json keeps the last value. Two parsers could read different requests.
        Value::Object(_) if members != colons => Err(invalid("duplicate member in the body".to_owned())),
        Value::Object(_) => Ok(value),
        _ => Err(invalid("the body is not a JSON object".to_owned())),
    }
}

/// Returns the number of members of all objects in a value.
fn count_members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count_members).sum(),
        Value::Object(members) => members.len() + members.values().map(count_members).sum::<usize>(),
        _ => 0,
    }
}

/// Returns the deepest nesting of brackets outside of strings, and the number of colons there: one for each member.
fn scan(body: &[u8]) -> (usize, usize) {
    let (mut deepest, mut colons, mut level, mut in_string, mut escaped) =
        (0usize, 0usize, 0usize, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                level += 1;
                deepest = deepest.max(level);
            }
            b']' | b'}' if !in_string => level = level.saturating_sub(1),
            b':' if !in_string => colons += 1,
            _ => {}
        }
    }
    (deepest, colons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_do_not_count_as_nesting() {
        assert_eq!(scan(br#"{"a":"[[[[\":[[","b":[1,[2]]}"#), (3, 2));
        assert_eq!(scan(b"]]]["), (1, 0));
    }
}
