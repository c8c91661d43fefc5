//! Functions that build JSON documents from pointers and pieces of text, and merge them.

use serde_json::{Value, json};

/// The greatest index to which an array is padded.
const MAX_INDEX: usize = 4096;

/// Returns the unescaped parts of a JSON pointer. A `*` means every element or member.
pub(super) fn segments(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect()
}

/// Puts `value` at the pointer and creates missing elements and members on the way. Returns `false` and leaves the
/// document unchanged if it has another value there.
pub(super) fn place(document: &mut Value, pointer: &[String], value: &Value) -> bool {
    let placed = with(document, pointer, value);
    placed.map(|placed| *document = placed).is_some()
}

/// Returns the document with `value` at the pointer, merged with the value that is there. Null counts as missing. A
/// `*` means the first element or member that can take the value, or a new one. Returns `None` if the document
/// contradicts the value.
pub(super) fn with(document: &Value, pointer: &[String], value: &Value) -> Option<Value> {
    let Some((first, rest)) = pointer.split_first() else { return merged(document, value) };
    match document {
        Value::Null if first == "*" || first.parse::<usize>().is_ok() => with(&json!([]), pointer, value),
        Value::Null => with(&json!({}), pointer, value),
        Value::Object(members) => {
            let fresh = format!("sample{}", members.len());
            let every = members.keys().chain([&fresh]).filter(|_| first == "*");
            every.chain((first != "*").then_some(first)).find_map(|key| {
                let member = with(members.get(key).unwrap_or(&Value::Null), rest, value)?;
                let mut members = members.clone();
                members.insert(key.clone(), member);
                Some(Value::Object(members))
            })
        }
        Value::Array(elements) => {
            let (from, to) =
                if first == "*" { (0, elements.len()) } else { first.parse().ok().map(|n| (n, n))? };
            (from..=to.min(MAX_INDEX)).find_map(|index| {
                let element = with(elements.get(index).unwrap_or(&Value::Null), rest, value)?;
                let mut elements = elements.clone();
                elements.resize(elements.len().max(index + 1), Value::Null);
                elements[index] = element;
                Some(Value::Array(elements))
            })
        }
        _ => None,
    }
}

fn merged(one: &Value, other: &Value) -> Option<Value> {
    let more: Vec<(String, &Value)> = match (one, other) {
        (Value::Null, any) | (any, Value::Null) => return Some(any.clone()),
        (Value::Object(_), Value::Object(more)) => more.iter().map(|(key, it)| (key.clone(), it)).collect(),
        (Value::Array(_), Value::Array(more)) => {
            more.iter().enumerate().map(|(index, it)| (index.to_string(), it)).collect()
        }
        _ => return (one == other).then(|| one.clone()),
    };
    more.into_iter().try_fold(one.clone(), |joined, (key, value)| with(&joined, &[key], value))
}

/// What makes a piece of text such as `"user":{"id":` the end of an object.
const ENDS: [&str; 8] = ["}", "}}", "1}", "1}}", "\"}", ":1}", "\":1}", "]}"];

/// Returns the text of a document with members that contain the pieces. Null counts as an empty object, and a piece may be
/// the beginning of a document by itself. Returns `None` if there is no such document.
pub(super) fn with_pieces(document: &Value, pieces: &[String]) -> Option<String> {
    let whole = if document.is_null() { "{}".to_owned() } else { document.to_string() };
    pieces.iter().try_fold(whole, |text, piece| {
        if text.contains(piece) {
            return Some(text);
        }
        let starts = match text.strip_suffix('}') {
            Some("{") => vec![String::new(), "{".to_owned()],
            Some(open) => vec![format!("{open},")],
            None => return None,
        };
        let open = starts
            .iter()
            .flat_map(|start| ["", "\"sample\":\"", "\""].map(|before| format!("{start}{before}{piece}")));
        let mut closed = open.flat_map(|open| ENDS.map(|end| format!("{open}{end}")));
        closed.find(|text| {
            text.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
        })
    })
}

/// Returns the text at a pointer without `*`.
pub(super) fn text_at<'a>(document: &'a mut Value, pointer: &[String]) -> Option<&'a mut String> {
    let parts = pointer.iter().map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1")));
    match document.pointer_mut(&parts.collect::<String>()) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}
