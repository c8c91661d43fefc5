//! JSON rules that no value can fulfil.

use serde_json::Value;

use super::is_fixed;
use crate::modules::definition::JsonRule;
use crate::modules::mistake::Mistakes;
use crate::modules::pattern::Pattern;
use crate::modules::rule::json::{contains, equals, length};

/// The types of JSON, as `type` names them.
const TYPES: [&str; 6] = ["string", "number", "boolean", "array", "object", "null"];

/// Notes what contradicts itself in one rule.
pub(super) fn alone(rule: &JsonRule, mistakes: &mut Mistakes) {
    let before = mistakes.count();
    let is_value_wanted = rule.equals.is_some()
        || !rule.any_of.is_empty()
        || rule.equals_query == Some(true)
        || rule.equals_template.is_some()
        || rule.min_length.is_some()
        || rule.max_length.is_some()
        || rule.above.is_some()
        || rule.below.is_some()
        || rule.contains.is_some()
        || rule.matches.is_some();
    if rule.exists == Some(false) && (is_value_wanted || rule.null == Some(false)) {
        mistakes.add_in("exists", "nothing is there that could fulfil the other conditions");
    }
    if rule.exists == Some(true) && rule.null == Some(true) && !rule.at.contains('*') {
        mistakes.add_in("null", "null counts as absent, and `exists` wants a value");
    }
    if rule.null == Some(true) && is_value_wanted {
        mistakes.add_in("null", "null fulfils none of the other conditions");
    }
    if rule.equals.is_some() && rule.equals == rule.not_equals {
        mistakes.add_in("not_equals", "it is the value that `equals` wants");
    }
    if let (Some(wanted), false) = (&rule.equals, rule.any_of.is_empty())
        && !rule.any_of.contains(wanted)
    {
        mistakes.add_in("any_of", "the value that `equals` wants is not among them");
    }
    if rule.contains.is_some() && rule.contains == rule.not_contains {
        mistakes.add_in("not_contains", "it is the text that `contains` wants");
    }
    if matches!((rule.min_length, rule.max_length), (Some(least), Some(most)) if least > most) {
        mistakes.add_in("max_length", "it is less than `min_length`");
    }
    if matches!((rule.above, rule.below), (Some(above), Some(below)) if above >= below) {
        mistakes.add_in("below", "no number is above the one and below the other");
    }
    types_told(rule, mistakes);
    // Whatever else excludes each other, told as a whole.
    if mistakes.count() == before
        && let Some(message) = excluded(rule, rule)
    {
        mistakes.add(message);
    }
}

/// The type that the value must have, against what else it must be.
fn types_told(rule: &JsonRule, mistakes: &mut Mistakes) {
    let Some(wanted) = rule.json_type.as_deref() else { return };
    let measured = ["string", "array", "object"];
    for (field, is_given, allowed) in [
        ("equals", rule.equals.as_ref().is_some_and(|value| type_of(value) != wanted), [].as_slice()),
        ("any_of", !rule.any_of.is_empty() && rule.any_of.iter().all(|it| type_of(it) != wanted), &[]),
        ("above", rule.above.is_some(), &["number"]),
        ("below", rule.below.is_some(), &["number"]),
        ("matches", rule.matches.is_some(), &["string"]),
        ("contains", rule.contains.is_some(), &["string", "array"]),
        ("min_length", rule.min_length.is_some(), &measured),
        ("max_length", rule.max_length.is_some(), &measured),
        ("equals_query", rule.equals_query == Some(true), &["string", "number"]),
    ] {
        if is_given && !allowed.contains(&wanted) {
            mistakes.add_in("type", format!("no value of type `{wanted}` fulfils `{field}`"));
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Notes what contradicts itself in several rules.
pub(super) fn together(rules: &[JsonRule], mistakes: &mut Mistakes) {
    for (index, rule) in rules.iter().enumerate() {
        let conflict = rules.iter().enumerate().find_map(|(other_index, other)| {
            if rule.at == other.at && rule.exists == Some(false) && other.exists == Some(true) {
                return Some(format!("`{}` must be there and not be there", rule.at));
            }
            below(rule, other).or_else(|| {
                let is_one_value = rule.at == other.at && !rule.at.contains('*') && index < other_index;
                // Told at the other one.
                let is_told = rule.exists == Some(true) && other.exists == Some(false);
                if !is_one_value || is_told {
                    return None;
                }
                if matches!((&rule.equals, &other.equals), (Some(a), Some(b)) if a != b) {
                    return Some(format!("`{}` cannot equal two values; use `any_of`", rule.at));
                }
                excluded(rule, other).map(|message| format!("with [{other_index}]: {message}"))
            })
        });
        if let Some(message) = conflict {
            mistakes.element(index, |mistakes| mistakes.add(message));
        }
    }
}

/// A place that cannot have the one inside it that another rule wants.
fn below(rule: &JsonRule, other: &JsonRule) -> Option<String> {
    let rest = other.at.strip_prefix(rule.at.as_str())?.strip_prefix('/')?;
    let is_wanted = other.exists != Some(false) && wanted_types(other).len() < TYPES.len();
    if !is_wanted || (rule.at.contains('*') && rule.exists != Some(false)) {
        return None;
    }
    let first = rest.split('/').next().unwrap_or_default();
    let is_index = first == "*" || first.bytes().all(|b| b.is_ascii_digit());
    let may_hold = |kind: &str| kind == "object" || (kind == "array" && is_index);
    (rule.exists == Some(false) || !wanted_types(rule).iter().any(|kind| may_hold(kind)))
        .then(|| format!("`{}` is wanted inside of it, and nothing can be there", other.at))
}

/// Why no value fulfils both rules; `None`: perhaps one does.
fn excluded(one: &JsonRule, other: &JsonRule) -> Option<String> {
    for (values, rule) in [(one, other), (other, one)] {
        let listed: Vec<&Value> = values.equals.iter().chain(&values.any_of).collect();
        if !listed.is_empty() && !listed.iter().any(|value| admits(rule, value)) {
            return Some("no value of `equals` or `any_of` fulfils the other conditions".into());
        }
        if matches!((values.min_length, rule.max_length), (Some(least), Some(most)) if least > most) {
            return Some("`min_length` is more than `max_length`".into());
        }
        if matches!((values.above, rule.below), (Some(above), Some(below)) if above >= below) {
            return Some("no number is above the one and below the other".into());
        }
        if values.equals_query == Some(true) && rule.max_length == Some(0) {
            return Some("no query is as short as `max_length`".into());
        }
    }
    let types: Vec<&str> =
        wanted_types(one).into_iter().filter(|kind| wanted_types(other).contains(kind)).collect();
    if types.is_empty() {
        return Some("no type of value fulfils all conditions".into());
    }
    // Of an array, `contains` and `max_length` speak of elements.
    (types == ["string"]).then(|| texts_excluded(one, other).or_else(|| texts_excluded(other, one)))?
}

fn texts_excluded(one: &JsonRule, other: &JsonRule) -> Option<String> {
    let text = one.contains.as_deref().filter(|text| is_fixed(text))?;
    if let Some(no) = other.not_contains.as_deref().filter(|no| is_fixed(no) && text.contains(no)) {
        return Some(format!("`{no}` of `not_contains` stands in `{text}` of `contains`"));
    }
    let is_long = other.max_length.is_some_and(|most| text.chars().count() > most);
    is_long.then(|| format!("`{text}` of `contains` is longer than `max_length`"))
}

/// The types of the values that may fulfil a rule.
fn wanted_types(rule: &JsonRule) -> Vec<&'static str> {
    let mut types = TYPES.to_vec();
    let measured: &[&str] = &["string", "array", "object"];
    for (is_given, allowed) in [
        (rule.exists == Some(true) || rule.null == Some(false), &TYPES[..5]),
        (rule.null == Some(true) || rule.exists == Some(false), &["null"]),
        (rule.above.is_some() || rule.below.is_some(), &["number"]),
        (rule.matches.is_some(), &["string"]),
        (rule.contains.is_some(), &["string", "array"]),
        (rule.min_length.is_some() || rule.max_length.is_some(), measured),
        (rule.equals_query == Some(true) || rule.equals_template.is_some(), &["string", "number", "boolean"]),
    ] {
        types.retain(|kind| !is_given || allowed.contains(kind));
    }
    types.retain(|kind| rule.json_type.as_deref().is_none_or(|wanted| wanted == *kind));
    let listed: Vec<&str> = rule.equals.iter().chain(&rule.any_of).map(type_of).collect();
    types.retain(|kind| listed.is_empty() || listed.contains(kind));
    types
}

/// Whether a value may fulfil a rule, as far as its conditions hold no variables.
fn admits(rule: &JsonRule, value: &Value) -> bool {
    let fixed = |text: &Option<String>| text.as_deref().filter(|text| is_fixed(text)).map(str::to_owned);
    let is_found = |regex: &String| match Pattern::parse(regex) {
        Ok(Pattern::Fixed(regex)) => value.as_str().is_some_and(|text| regex.is_match(text)),
        _ => true,
    };
    let length = length(value);
    let listed = |list: &[Value]| list.is_empty() || list.iter().any(|it| equals(value, it));
    wanted_types(rule).contains(&type_of(value))
        && rule.equals.as_ref().is_none_or(|it| equals(value, it))
        && listed(&rule.any_of)
        && rule.not_equals.as_ref().is_none_or(|it| !equals(value, it))
        && rule.min_length.is_none_or(|least| length.is_some_and(|it| it >= least))
        && rule.max_length.is_none_or(|most| length.is_some_and(|it| it <= most))
        && rule.above.is_none_or(|bound| value.as_f64().is_some_and(|it| it > bound))
        && rule.below.is_none_or(|bound| value.as_f64().is_some_and(|it| it < bound))
        && fixed(&rule.contains).is_none_or(|text| contains(value, &text))
        && fixed(&rule.not_contains).is_none_or(|text| !contains(value, &text))
        && rule.matches.as_ref().is_none_or(is_found)
}
