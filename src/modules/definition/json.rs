//! Conditions on JSON.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::modules::pointer::Pointer;
use crate::modules::template::{Pattern, Template, Values};
use crate::modules::text::same_name;

/// The types of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names are those of JSON")]
pub enum JsonType {
    String,
    Number,
    Boolean,
    Array,
    Object,
    Null,
}

impl JsonType {
    /// Returns the type of a value.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}

/// A condition on the values that a JSON pointer selects. If a rule has several conditions, one value must
/// fulfil them all. If the pointer has a `*`, it is enough that one of the values does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schemars(rename = "json_rule", extend("minProperties" = 2, "errorMessage" = "say `\"exists\": true`, or what the value must be"))]
pub struct JsonRule {
    /// An RFC 6901 pointer. The segment `*` selects every element or member; `""` is the whole document.
    #[schemars(regex(pattern = "^(/|$)"), extend("errorMessage" = "a JSON pointer is empty or begins with `/`"))]
    pub at: Pointer,
    /// Whether a value must be present (`true`) or absent (`false`). Null counts as absent.
    pub exists: Option<bool>,
    /// The JSON value that the selected value must equal.
    #[serde(default, deserialize_with = "value", skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// The JSON values of which the selected value must equal one.
    #[schemars(length(min = 1))]
    pub any_of: Option<Vec<Value>>,
    /// The JSON value that no selected value may equal.
    #[serde(default, deserialize_with = "value", skip_serializing_if = "Option::is_none")]
    pub not_equals: Option<Value>,
    /// Whether the value, as text, must be the query's normal form, regardless of case.
    pub equals_query: Option<bool>,
    /// A template whose filled text the value must equal, regardless of case.
    pub equals_template: Option<Template>,
    /// The type of the value: `string`, `number`, `boolean`, `array`, `object` or `null`.
    #[serde(rename = "type")]
    pub json_type: Option<JsonType>,
    /// The least length of a string (in characters), array or object.
    pub min_length: Option<usize>,
    /// The greatest length of a string (in characters), array or object.
    pub max_length: Option<usize>,
    /// The number that the value must exceed.
    pub above: Option<f64>,
    /// The number that the value must be below.
    pub below: Option<f64>,
    /// The text (template) that must be part of a string, or an element of an array.
    pub contains: Option<Template>,
    /// The text that no selected value may contain.
    pub not_contains: Option<Template>,
    /// A regex (a template for regexes) that must be found in a string.
    pub matches: Option<Pattern>,
    /// A regex (a template for regexes) that must not be found in any selected string.
    pub not_matches: Option<Pattern>,
}

impl JsonRule {
    /// Returns the conditions on values: the name of each, whether one value must meet it (otherwise, no value may), and
    /// whether it requires at most that a value is absent or empty, and of which type it is.
    fn conditions(&self) -> impl Iterator<Item = (&'static str, bool, bool)> {
        let is_not_query = self.equals_query == Some(false);
        let all = [
            ("equals", self.equals.is_some(), true, self.equals.iter().all(is_empty)),
            ("any_of", self.any_of.is_some(), true, self.any_of.iter().flatten().all(is_empty)),
            ("not_equals", self.not_equals.is_some(), false, true),
            ("equals_query", self.equals_query.is_some(), !is_not_query, is_not_query),
            ("equals_template", self.equals_template.is_some(), true, false),
            ("type", self.json_type.is_some(), true, true),
            ("min_length", self.min_length.is_some(), true, false),
            ("max_length", self.max_length.is_some(), true, self.max_length == Some(0)),
            ("above", self.above.is_some(), true, false),
            ("below", self.below.is_some(), true, self.below <= Some(1.0)),
            ("contains", self.contains.is_some(), true, false),
            ("not_contains", self.not_contains.is_some(), false, true),
            ("matches", self.matches.is_some(), true, false),
            ("not_matches", self.not_matches.is_some(), false, true),
        ];
        let set = all.into_iter().filter(|(_, is_set, ..)| *is_set);
        set.map(|(name, _, is_positive, is_bare)| (name, is_positive, is_bare))
    }

    /// Returns whether the rule holds on `root`. If the pointer selects more values than are read, no value
    /// can be proved to be missing.
    pub(crate) fn holds(&self, root: &Value, values: &Values<'_>) -> bool {
        let (selected, is_whole) = self.at.select_known(root);
        let requires_one = self.conditions().any(|(_, is_positive, _)| is_positive);
        let excludes_any = self.conditions().any(|(_, is_positive, _)| !is_positive);
        if !is_whole && (self.exists == Some(false) || excludes_any) {
            return false;
        }
        let is_there = selected.iter().any(|found| !found.value.is_null());
        self.exists.is_none_or(|wanted| wanted == is_there)
            && (!requires_one || selected.iter().any(|found| self.fits(found.value, values)))
            && !selected.iter().any(|found| self.excludes(found.value, values))
    }

    /// Returns whether a value meets all conditions that one value must meet.
    fn fits(&self, value: &Value, values: &Values<'_>) -> bool {
        self.equals.as_ref().is_none_or(|wanted| equals(wanted, value))
            && self.any_of.as_ref().is_none_or(|all| all.iter().any(|wanted| equals(wanted, value)))
            && (self.equals_query != Some(true) || is_query(value, values))
            && self.equals_template.as_ref().is_none_or(|wanted| equals_text(wanted, value, values))
            && self.json_type.is_none_or(|wanted| wanted == JsonType::of(value))
            && self.min_length.is_none_or(|least| length(value) >= Some(least))
            && self.max_length.is_none_or(|most| length(value).is_some_and(|length| length <= most))
            && self.above.is_none_or(|bound| value.as_f64() > Some(bound))
            && self.below.is_none_or(|bound| value.as_f64().is_some_and(|number| number < bound))
            && self.contains.as_ref().is_none_or(|wanted| contains(wanted, value, values))
            && self.matches.as_ref().is_none_or(|wanted| matches(wanted, value, values))
    }

    /// Returns whether a value meets a condition that no value may meet.
    fn excludes(&self, value: &Value, values: &Values<'_>) -> bool {
        self.not_equals.as_ref().is_some_and(|unwanted| equals(unwanted, value))
            || (self.equals_query == Some(false) && is_query(value, values))
            || self.not_contains.as_ref().is_some_and(|unwanted| contains(unwanted, value, values))
            || self.not_matches.as_ref().is_some_and(|unwanted| matches(unwanted, value, values))
    }

    /// Returns the pointer and the conditions, such as `/login equals_query`, for the evidence of a result.
    pub(crate) fn label(&self) -> String {
        let exists = self.exists.map(|wanted| if wanted { "exists" } else { "missing" });
        let names: Vec<&str> = self.conditions().map(|(name, ..)| name).chain(exists).collect();
        let at = if self.at.is_empty() { "(document)" } else { &*self.at };
        format!("{at} {}", names.join("+"))
    }

    /// Returns whether the rule holds only if the response repeats the query.
    pub(crate) fn echoes_query(&self) -> bool {
        self.equals_query == Some(true) || self.equals_template.as_ref().is_some_and(Template::shows_query)
    }

    /// Returns whether the rule requires at most that a value is absent or empty, and of which type it is.
    pub(crate) fn is_bare(&self) -> bool {
        self.exists != Some(true) && self.conditions().all(|(.., is_bare)| is_bare)
    }

    /// Returns whether the rule can hold only if there is a value.
    pub(crate) fn is_positive(&self) -> bool {
        self.exists == Some(true) || self.conditions().any(|(_, is_positive, _)| is_positive)
    }
}

/// Reads a value that may be null, which is not a missing one.
fn value<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

fn is_query(value: &Value, values: &Values<'_>) -> bool {
    as_text(value).is_some_and(|text| same_name(&text, values.name))
}

fn equals_text(wanted: &Template, value: &Value, values: &Values<'_>) -> bool {
    let texts = as_text(value).zip(wanted.fill(values).ok());
    texts.is_some_and(|(text, wanted)| same_name(&text, &wanted))
}

/// Returns whether a value is null, zero or without content.
fn is_empty(value: &Value) -> bool {
    value.is_null() || length(value) == Some(0) || value.as_f64() == Some(0.0)
}

/// Returns whether two values are equal. `1` equals `1.0`, since JSON has one type of number.
fn equals(wanted: &Value, value: &Value) -> bool {
    // Two integers are compared as integers, since large ones may become equal as floats.
    wanted == value
        || ((wanted.is_f64() || value.is_f64())
            && matches!((wanted.as_f64(), value.as_f64()), (Some(a), Some(b)) if a.total_cmp(&b).is_eq()))
}

fn contains(wanted: &Template, value: &Value, values: &Values<'_>) -> bool {
    let Ok(wanted) = wanted.fill(values) else { return false };
    match value {
        Value::String(text) => text.contains(&wanted),
        Value::Array(elements) => elements.iter().any(|element| element.as_str() == Some(wanted.as_str())),
        _ => false,
    }
}

fn matches(wanted: &Pattern, value: &Value, values: &Values<'_>) -> bool {
    value.as_str().is_some_and(|text| wanted.is_found(text, values))
}

fn length(value: &Value) -> Option<usize> {
    match value {
        Value::String(text) => Some(text.chars().count()),
        Value::Array(elements) => Some(elements.len()),
        Value::Object(members) => Some(members.len()),
        _ => None,
    }
}

/// Returns a scalar value as text.
pub(crate) fn as_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(flag) => Some(Cow::Borrowed(if *flag { "true" } else { "false" })),
        _ => None,
    }
}
