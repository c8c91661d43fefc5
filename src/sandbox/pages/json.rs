//! JSON documents that fulfil rules, and functions that build them from pointers and pieces of text.

use serde_json::{Value, json};

use super::context::Context;
use super::sample::as_text;
use crate::modules::definition::{JsonRule, JsonType, ResultType};

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

/// The greatest length to which a text or list is extended.
const MAX_LENGTH: usize = 4096;

/// Returns a document that fulfils the rules, by the engine's own matchers. It is null if the rules require no value.
/// Returns `None` if no document can be built.
pub(super) fn fulfil(context: &Context<'_>, rules: &[JsonRule]) -> Option<Value> {
    let mut rules: Vec<_> = rules.iter().map(|rule| (segments(&rule.at), rule)).collect();
    rules.sort_by_key(|(pointer, ..)| pointer.len());
    let mut document = Value::Null;
    // Containers come first, the outermost one before the others: a `*` must know whether it means elements or
    // members.
    for (pointer, rule) in rules.iter().filter(|(_, rule)| rule.exists != Some(false)) {
        match rule.json_type {
            Some(JsonType::Array) => place(&mut document, pointer, &json!([])),
            Some(JsonType::Object) => place(&mut document, pointer, &json!({})),
            _ => false,
        };
    }
    // The deepest values come next, because an outer rule often holds with the value of an inner one.
    for (pointer, rule) in rules.iter().rev() {
        let holds = |document: &Value| rule.holds(document, &context.values());
        if !holds(&document) {
            let all = candidates(context, rule).into_iter();
            document = all.filter_map(|value| with(&document, pointer, &value)).find(holds)?;
        }
    }
    Some(document)
}

/// Returns values that may fulfil a rule, the most natural first.
fn candidates(context: &Context<'_>, rule: &JsonRule) -> Vec<Value> {
    let name = rule.at.rsplit('/').find(|part| !part.is_empty() && *part != "*").unwrap_or("value");
    let sampled = context.sampler.named(name, 0);
    let (least, most) = (rule.min_length.unwrap_or(0).min(MAX_LENGTH), rule.max_length.unwrap_or(MAX_LENGTH));
    let mut all: Vec<Value> = rule.equals.iter().chain(rule.any_of.iter().flatten()).cloned().collect();
    // A `max_length` of 0 does not tell the type of the value: an empty list is as short as an empty text.
    all.extend((most == 0).then(|| json!([])));
    let given = [&rule.equals_template, &rule.contains].into_iter().flatten();
    let mut texts: Vec<String> = given.filter_map(|text| context.text(text)).collect();
    texts.extend((rule.equals_query == Some(true)).then(|| context.name.clone()));
    if let Some(pattern) = &rule.matches {
        // A whole address is more natural than the shortest text that matches the beginning of one.
        let address = context.sampler.typed(ResultType::Url, 0).filter(|_| pattern.contains("://"));
        texts.extend(address.iter().map(as_text));
        texts.extend(context.regex(pattern).and_then(|regex| context.sampled(&regex, 0)));
    }
    for text in texts {
        let number = text.parse::<u64>().map(Value::from);
        all.extend([json!(of_length(&text, least, most)), json!([text])].into_iter().chain(number));
    }
    let bounds = [rule.above.map(|low| low + 1.0), rule.below.map(|high| high - 1.0)].into_iter().flatten();
    // A whole number has no fraction in JSON, because rules may compare its text.
    all.extend(bounds.map(|bound| json!(bound.round() as i64)));
    let members = (0..least).map(|n| (format!("sample{n}"), Value::Null));
    all.extend([
        sampled.clone(),
        json!(of_length(&as_text(&sampled), least, most)),
        json!("another sample"),
        json!(context.sampler.seed(name) % 1_000),
        Value::Array(vec![Value::Null; least]),
        Value::Object(members.collect()),
        json!(true),
        Value::Null,
    ]);
    all
}

/// Returns the text, padded with `x` to `least` characters and cut to `most` characters.
fn of_length(text: &str, least: usize, most: usize) -> String {
    let missing = least.saturating_sub(text.chars().count());
    text.chars().chain(std::iter::repeat_n('x', missing)).take(most).collect()
}
