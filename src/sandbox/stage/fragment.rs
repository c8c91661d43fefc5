//! Completes pieces of JSON text, such as `"user":{"id":`, to members of an object.
//!
//! Catalogues look for such pieces in bodies that are JSON. A body that is to hold one word for word, and
//! is to be JSON as well, needs the piece completed: opened strings, brackets and members closed.

use serde_json::Value;

/// What may have to stand before a piece to make it a member.
const BEFORE: [&str; 10] = [
    "",
    "\"sample\":1",
    "\"sample\"",
    "\"sample\":",
    "\"sample\":\"",
    "\"",
    "\"sample\":{",
    "\"sample\":[{",
    "\"sample\":{\"sample\":\"",
    "\"sample\":[{\"sample\":\"",
];
/// What may have to stand behind a piece before its brackets are closed.
const BEHIND: [&str; 8] = ["", "\"", "1", "\"\"", ":1", "\":1", "null", "\"sample1\":1"];
/// Longer pieces are not tried.
const MAX_BYTES: usize = 4096;

/// Text that holds `piece` and is one or more members of an object (without its braces).
pub(super) fn as_members(piece: &str) -> Option<String> {
    complete(piece, |text| format!("{{{text}}}"))
}

/// Text that holds `piece` and is a whole JSON object or array.
pub(super) fn as_document(piece: &str) -> Option<String> {
    let bare = |text: &str| text.to_owned();
    complete(piece, bare)
        .filter(|text| matches!(serde_json::from_str(text), Ok(Value::Object(_) | Value::Array(_))))
}

/// A JSON document (object, array or `null`, which is taken as an empty object) that holds all pieces.
pub(super) fn splice(document: &Value, pieces: &[String]) -> Option<String> {
    let mut text = match document {
        Value::Null => "{}".to_owned(),
        known => known.to_string(),
    };
    for piece in pieces {
        if !text.contains(piece.as_str()) {
            text = splice_one(&text, piece)?;
        }
    }
    Some(text)
}

fn splice_one(text: &str, piece: &str) -> Option<String> {
    let is_empty = matches!(text, "{}" | "[]");
    if let Some(whole) = is_empty.then(|| as_document(piece)).flatten() {
        return Some(whole);
    }
    let (inner, close) =
        if let Some(inner) = text.strip_suffix('}') { (inner, "}") } else { (text.strip_suffix(']')?, "]") };
    let comma = if matches!(inner, "{" | "[") { "" } else { "," };
    let members = as_members(piece)?;
    let spliced = match close {
        "}" => format!("{inner}{comma}{members}}}"),
        _ => format!("{inner}{comma}{{{members}}}]"),
    };
    is_json(&spliced).then_some(spliced)
}

fn complete(piece: &str, wrap: impl Fn(&str) -> String) -> Option<String> {
    if piece.len() > MAX_BYTES {
        return None;
    }
    BEFORE.iter().flat_map(|before| BEHIND.iter().map(move |behind| (before, behind))).find_map(
        |(before, behind)| {
            let open = format!("{before}{piece}{behind}");
            let candidate = format!("{open}{}", closers(&open)?);
            is_json(&wrap(&candidate)).then_some(candidate)
        },
    )
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The brackets that are left open, to be closed. `None`: one is closed that never was opened, or a
/// string is left open.
fn closers(text: &str) -> Option<String> {
    let mut open = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' if open.pop() != Some(c) => return None,
            _ => {}
        }
    }
    (!in_string).then(|| open.iter().rev().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn usual_pieces_are_completed() {
        for piece in [
            "\"login\":\"alice\"",
            "\"id\":",
            "\"user\":{\"id\":",
            "{\"user\":",
            "\"is_private\": false,",
            "username",
            "alice\",\"x\":",
            "[]",
            "\"errors\":[",
            "\"total\":0",
            ":\"alice\"",
            "\"name\": \"al",
            "},\"b\":",
            "\"}],\"user\":null",
        ] {
            let text = splice(&json!({"a": 1}), &[piece.to_owned()])
                .or_else(|| splice(&json!(null), &[piece.to_owned()]));
            assert!(
                text.as_ref().is_some_and(|text| text.contains(piece) && is_json(text)),
                "{piece}: {text:?}"
            );
        }
    }

    #[test]
    fn what_stands_there_already_is_not_repeated() {
        let text = splice(&json!({"login": "alice"}), &["\"login\":\"alice\"".to_owned()]);
        assert_eq!(text.as_deref(), Some("{\"login\":\"alice\"}"));
        assert_eq!(splice(&json!("text"), &["more".to_owned()]), None);
        let appended = splice(&json!([1]), &["\"a\":".to_owned()]);
        assert_eq!(appended.as_deref(), Some("[1,{\"a\":1}]"));
    }

    proptest! {
        #[test]
        fn whatever_comes_out_is_json_and_holds_the_piece(piece in "[\\[\\]{}\":,a1\\\\ ]{0,12}") {
            if let Some(text) = splice(&json!({"a": [1]}), std::slice::from_ref(&piece)) {
                prop_assert!(is_json(&text) && text.contains(&piece), "{}", text);
            }
        }
    }
}
