//! The members of a JSON object in a request.

use std::collections::HashMap;

use serde_json::Value;

use super::error::ApiError;

/// The most levels of nesting in a body. Valid bodies have three.
const MAX_DEPTH: usize = 16;

/// Returns the members of a body that is a JSON object.
///
/// # Errors
/// Returns 400 for anything else, for a repeated member, and for more than 16 levels of nesting.
pub(super) fn object(body: &[u8]) -> Result<HashMap<String, Value>, ApiError> {
    if body.is_empty() {
        return Err(ApiError::invalid_request("body", "the body is empty", "a JSON object"));
    }
    if depth(body) > MAX_DEPTH {
        let message = "the body is nested too deeply";
        return Err(ApiError::invalid_request("body", message, format!("at most {MAX_DEPTH} levels")));
    }
    match serde_json::from_slice::<Members>(body) {
        Ok(Members(members)) => Ok(members),
        Err(error) => {
            // The errors of serde_json name a position and a kind. They never repeat what the caller sent.
            let message = match error.classify() {
                serde_json::error::Category::Data if error.to_string().starts_with("duplicate member") => {
                    error.to_string()
                }
                serde_json::error::Category::Data => "the body is not a JSON object".to_owned(),
                _ => format!("the body is not valid JSON (line {}, column {})", error.line(), error.column()),
            };
            Err(ApiError::invalid_request("body", message, "a JSON object, each member once"))
        }
    }
}

/// Returns the deepest nesting of brackets outside of strings.
fn depth(body: &[u8]) -> usize {
    let (mut deepest, mut level, mut in_string, mut escaped) = (0usize, 0usize, false, false);
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
            _ => {}
        }
    }
    deepest
}

/// The members of an object. A repeated name is an error, because two parsers could read it as different
/// requests.
struct Members(HashMap<String, Value>);

impl<'de> serde::Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = HashMap::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if members.insert(name, value).is_some() {
                        return Err(serde::de::Error::custom("duplicate member in the body"));
                    }
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_do_not_count_as_nesting() {
        assert_eq!(depth(br#"{"a":"[[[[\"[[","b":[1,[2]]}"#), 3);
        assert_eq!(depth(b"]]]["), 1);
    }
}
