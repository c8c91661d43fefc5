//! JSON documents that fulfil rules.

use serde_json::{Value, json};

use super::context::Context;
use super::json::{place, segments, with};
use super::sample::as_text;
use crate::modules::definition::{JsonRule, JsonType, ResultType};

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
    let mut all: Vec<Value> = rule.equals.iter().chain(&rule.any_of).cloned().collect();
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
