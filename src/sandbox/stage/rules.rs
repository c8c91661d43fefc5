//! Values that fulfil JSON rules.

use serde_json::{Map, Value, json};

use super::document::{place, segments, select, stretch};
use super::sample::as_text;
use super::scene::Scene;
use crate::modules::definition::{JsonRule, ResultType};

/// No text or list is made longer than this.
const MAX_LENGTH: usize = 4096;

/// What a rule wants at its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wanted {
    /// Nothing must stand there, or nothing need to.
    Nothing,
    /// This.
    Value(Value),
}

/// What a rule wants; `None` where no value can be found for it.
pub(super) fn wanted(scene: &Scene<'_>, rule: &JsonRule) -> Option<Wanted> {
    if rule.exists == Some(false) || !demands_a_value(rule) {
        return Some(Wanted::Nothing);
    }
    value_for(scene, rule).map(Wanted::Value)
}

/// A document that fulfils the rules, as far as they ask for something; an empty object where all they
/// ask for is that something is not there.
pub(super) fn fulfil(scene: &Scene<'_>, rules: &[JsonRule]) -> Option<Value> {
    let mut document = Value::Null;
    let mut ordered: Vec<(Vec<String>, &JsonRule)> =
        rules.iter().map(|rule| (segments(&rule.at), rule)).collect();
    // Containers first, from the outside in: a `*` must know whether it stands for elements or members.
    ordered.sort_by_key(|(pointer, _)| pointer.len());
    for (pointer, rule) in &ordered {
        if let Some(empty) = container(rule) {
            place(&mut document, pointer, &empty);
        }
    }
    // Then what stands deepest: an outer rule is often fulfilled by what an inner one asks for.
    for (pointer, rule) in ordered.iter().rev() {
        let Wanted::Value(value) = wanted(scene, rule)? else { continue };
        let filled = select(&document, pointer).iter().any(|known| is_filled(known, rule));
        if !filled && !place(&mut document, pointer, &value) {
            return None;
        }
        if let Some(length) = rule.min_length.filter(|length| *length <= MAX_LENGTH) {
            stretch(&mut document, pointer, length);
        }
    }
    Some(if document.is_null() && !wants_null(rules) { json!({}) } else { document })
}

fn wants_null(rules: &[JsonRule]) -> bool {
    rules
        .iter()
        .any(|rule| rule.at.is_empty() && (rule.null == Some(true) || rule.equals == Some(Value::Null)))
}

/// Whether a list or object that stands there already does for a rule that asks for any.
fn is_filled(known: &Value, rule: &JsonRule) -> bool {
    let names_a_value = rule.equals.is_some() || !rule.any_of.is_empty() || rule.contains.is_some();
    let right_type = match rule.json_type.as_deref() {
        Some("array") => known.is_array(),
        Some("object") => known.is_object(),
        Some(_) => false,
        None => true,
    };
    let empty = match known {
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => return false,
    };
    right_type && !names_a_value && !(empty && rule.min_length.is_some_and(|length| length > 0))
}

fn container(rule: &JsonRule) -> Option<Value> {
    if rule.exists == Some(false) {
        return None;
    }
    match rule.json_type.as_deref() {
        Some("array") => Some(json!([])),
        Some("object") => Some(json!({})),
        _ => None,
    }
}

/// A rule that only says what must not be there is fulfilled by nothing.
fn demands_a_value(rule: &JsonRule) -> bool {
    let only_forbids = JsonRule {
        at: rule.at.clone(),
        not_equals: rule.not_equals.clone(),
        not_contains: rule.not_contains.clone(),
        ..JsonRule::default()
    };
    *rule != only_forbids
}

fn value_for(scene: &Scene<'_>, rule: &JsonRule) -> Option<Value> {
    if rule.null == Some(true) {
        return Some(Value::Null);
    }
    if let Some(value) = rule.equals.as_ref().or(rule.any_of.first()) {
        return Some(value.clone());
    }
    if rule.equals_query == Some(true) {
        return Some(of_type(rule, scene.name.to_string()));
    }
    if let Some(template) = &rule.equals_template {
        return scene.text(template).map(|text| of_type(rule, text));
    }
    if rule.above.is_some() || rule.below.is_some() {
        return number_between(rule.above, rule.below);
    }
    if let Some(template) = &rule.contains {
        let text = scene.text(template)?;
        return Some(if is_type(rule, "array") { json!([text]) } else { json!(padded(text, rule)) });
    }
    if let Some(pattern) = &rule.matches {
        // A whole address rather than the least that looks like the beginning of one.
        let address = scene.sampler.typed(ResultType::Url, 0);
        let fits = |address: &Value| {
            pattern.contains("://") && scene.regex(pattern).is_some_and(|it| it.is_match(&as_text(address)))
        };
        return address.filter(fits).or_else(|| scene.sampled(pattern, 0).map(Value::String));
    }
    by_type(scene, rule)
}

fn is_type(rule: &JsonRule, name: &str) -> bool {
    rule.json_type.as_deref() == Some(name)
}

fn of_type(rule: &JsonRule, text: String) -> Value {
    match text.parse::<u64>() {
        Ok(number) if is_type(rule, "number") => json!(number),
        _ => Value::String(text),
    }
}

fn by_type(scene: &Scene<'_>, rule: &JsonRule) -> Option<Value> {
    let name = rule.at.rsplit('/').find(|part| !part.is_empty() && *part != "*").unwrap_or("value");
    let length = rule.min_length.unwrap_or(0).min(MAX_LENGTH);
    let sampled = scene.sampler.named(name, 0);
    match rule.json_type.as_deref() {
        Some("null") => Some(Value::Null),
        Some("boolean") => Some(json!(true)),
        Some("number") if sampled.is_number() => Some(sampled),
        Some("number") => Some(json!(scene.sampler.seed(name) % 1_000)),
        Some("array") => Some(Value::Array(vec![json!("sample"); length])),
        Some("object") => {
            let members = (0..length).map(|n| (format!("sample{n}"), json!("sample")));
            Some(Value::Object(members.collect::<Map<_, _>>()))
        }
        Some("string") => Some(json!(cut(padded(as_text(&sampled), rule), rule))),
        None if rule.min_length.is_some() || rule.max_length.is_some() => match rule.max_length {
            // The kind of value is open: an empty list and an empty text are as short.
            Some(0) => Some(json!([])),
            _ => Some(json!(cut(padded(as_text(&sampled), rule), rule))),
        },
        None => Some(differing(sampled, rule)),
        Some(_) => None,
    }
}

/// Another value than the one that is forbidden.
fn differing(value: Value, rule: &JsonRule) -> Value {
    if rule.not_equals.as_ref() == Some(&value) { json!("another sample") } else { value }
}

fn padded(mut text: String, rule: &JsonRule) -> String {
    let missing = rule.min_length.unwrap_or(0).min(MAX_LENGTH).saturating_sub(text.chars().count());
    text.extend(std::iter::repeat_n('x', missing));
    text
}

fn cut(text: String, rule: &JsonRule) -> String {
    match rule.max_length {
        Some(length) => text.chars().take(length).collect(),
        None => text,
    }
}

fn number_between(above: Option<f64>, below: Option<f64>) -> Option<Value> {
    let fits = |number: f64| above.is_none_or(|low| number > low) && below.is_none_or(|high| number < high);
    let whole = [above.map(|low| low.floor() + 1.0), below.map(|high| high.ceil() - 1.0)];
    let middle = above.zip(below).map(|(low, high)| low + (high - low) / 2.0);
    let number =
        [Some(1.0), Some(0.0)].into_iter().chain(whole).chain([middle]).flatten().find(|n| fits(*n))?;
    // A whole number is written as one: rules may ask for its text.
    if number.fract() == 0.0 && number.abs() < 1e15 {
        Some(json!(number as i64))
    } else {
        Some(json!(number))
    }
}
