//! Completes pieces of JSON text, such as `"user":{"id":`, to members of an object.
//!
//! Catalogue entries search for such pieces in JSON bodies. To put a piece into a body that must remain valid JSON,
//! its open strings, brackets and members are closed.

use serde_json::Value;

/// Texts before a piece that can make it a member: those of a member, of a text and of an object.
const BEFORE: [&str; 5] = ["", "\"sample\":\"", "\"sample\":{", "\"", "\"sample\""];
/// Texts behind a piece that it may need before its brackets are closed.
const BEHIND: [&str; 6] = ["", "\"", "1", "\"\"", ":1", "\"sample1\":1"];

/// Returns a JSON document that contains all pieces. `document` is an object, an array or `null`, which counts as an
/// empty object.
pub(super) fn splice(document: &Value, pieces: &[String]) -> Option<String> {
    let whole = if document.is_null() { "{}".to_owned() } else { document.to_string() };
    pieces
        .iter()
        .try_fold(whole, |text, piece| if text.contains(piece) { Some(text) } else { add(&text, piece) })
}

/// Returns the document with a member that contains the piece. An empty document may be replaced by the piece.
fn add(text: &str, piece: &str) -> Option<String> {
    let is_empty = matches!(text, "{}" | "[]");
    let inner = text.strip_suffix(['}', ']'])?;
    let opened =
        format!("{inner}{}{}", if is_empty { "" } else { "," }, if text.ends_with(']') { "{" } else { "" });
    let starts = is_empty.then_some("").into_iter().chain([opened.as_str()]);
    let tried = starts.flat_map(|start| BEFORE.map(|before| (start, before)));
    tried.flat_map(|(start, before)| BEHIND.map(|behind| format!("{start}{before}{piece}{behind}"))).find_map(
        |open| {
            let closed = format!("{open}{}", closers(&open)?);
            (closed.starts_with(['{', '[']) && is_json(&closed)).then_some(closed)
        },
    )
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Returns the brackets that close the open ones. Returns `None` if a closing bracket has no opening one, or if a
/// string is not closed.
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
