//! Conditions on JSON.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
    /// Whether the value must be present and null.
    pub null: Option<bool>,
    /// The JSON value that the selected value must equal.
    pub equals: Option<Value>,
    /// The JSON values of which the selected value must equal one.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub any_of: Vec<Value>,
    /// The JSON value that no selected value may equal.
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
    /// Returns whether the rule holds on `root`. If the pointer selects more values than are read, no value
    /// can be proved to be missing.
    pub(crate) fn holds(&self, root: &Value, values: &Values<'_>) -> bool {
        let (selected, is_whole) = self.at.select_known(root);
        let is_negative = self.conditions().any(|(_, is_positive)| !is_positive);
        if !is_whole && (self.exists == Some(false) || is_negative) {
            return false;
        }
        let is_there = selected.iter().any(|found| !found.value.is_null());
        self.exists.is_none_or(|wanted| wanted == is_there)
            && (!self.conditions().any(|(_, is_positive)| is_positive)
                || selected.iter().any(|found| self.fits(found.value, values)))
            && !(is_negative && selected.iter().any(|found| self.is_excluded(found.value, values)))
    }

    /// Returns the conditions on values, each with whether one value must meet it (or else no value may).
    fn conditions(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let conditions = [
            (self.null.is_some(), "null", true),
            (self.equals.is_some(), "equals", true),
            (!self.any_of.is_empty(), "any_of", true),
            (self.not_equals.is_some(), "not_equals", false),
            (self.equals_query.is_some(), "equals_query", self.equals_query == Some(true)),
            (self.equals_template.is_some(), "equals_template", true),
            (self.json_type.is_some(), "type", true),
            (self.min_length.is_some(), "min_length", true),
            (self.max_length.is_some(), "max_length", true),
            (self.above.is_some(), "above", true),
            (self.below.is_some(), "below", true),
            (self.contains.is_some(), "contains", true),
            (self.not_contains.is_some(), "not_contains", false),
            (self.matches.is_some(), "matches", true),
            (self.not_matches.is_some(), "not_matches", false),
        ];
        let set = conditions.into_iter().filter(|(is_set, ..)| *is_set);
        set.map(|(_, name, is_positive)| (name, is_positive))
    }

    /// Returns whether a value meets every condition that one value must meet.
    fn fits(&self, value: &Value, values: &Values<'_>) -> bool {
        let is = |wanted: &Template| {
            as_text(value)
                .is_some_and(|text| wanted.fill(values).is_ok_and(|wanted| same_name(&text, &wanted)))
        };
        let number_is = |fits: &dyn Fn(f64) -> bool| value.as_f64().is_some_and(fits);
        let length_is = |fits: &dyn Fn(usize) -> bool| length(value).is_some_and(fits);
        self.null.is_none_or(|wanted| wanted == value.is_null())
            && self.equals.as_ref().is_none_or(|wanted| equals(value, wanted))
            && (self.any_of.is_empty() || self.any_of.iter().any(|wanted| equals(value, wanted)))
            && (self.equals_query != Some(true) || is_query(value, values))
            && self.equals_template.as_ref().is_none_or(is)
            && self.json_type.is_none_or(|wanted| wanted == JsonType::of(value))
            && self.min_length.is_none_or(|least| length_is(&|length| length >= least))
            && self.max_length.is_none_or(|most| length_is(&|length| length <= most))
            && self.above.is_none_or(|bound| number_is(&|number| number > bound))
            && self.below.is_none_or(|bound| number_is(&|number| number < bound))
            && self.contains.as_ref().is_none_or(|wanted| contains(value, wanted, values))
            && self
                .matches
                .as_ref()
                .is_none_or(|wanted| value.as_str().is_some_and(|text| wanted.is_found(text, values)))
    }

    /// Returns whether a value meets a condition that no value may meet.
    fn is_excluded(&self, value: &Value, values: &Values<'_>) -> bool {
        self.not_equals.as_ref().is_some_and(|wanted| equals(value, wanted))
            || (self.equals_query == Some(false) && is_query(value, values))
            || self.not_contains.as_ref().is_some_and(|wanted| contains(value, wanted, values))
            || self
                .not_matches
                .as_ref()
                .is_some_and(|wanted| value.as_str().is_some_and(|text| wanted.is_found(text, values)))
    }

    /// Returns the pointer and the conditions, such as `/login equals_query`, for the evidence of a result.
    pub(crate) fn label(&self) -> String {
        let exists = self.exists.map(|wanted| if wanted { "exists" } else { "missing" });
        let names: Vec<&str> = self.conditions().map(|(name, _)| name).chain(exists).collect();
        let at = if self.at.is_empty() { "(document)" } else { &*self.at };
        format!("{at} {}", names.join("+"))
    }

    /// Returns whether the rule holds only if the response repeats the query.
    pub(crate) fn echoes_query(&self) -> bool {
        self.equals_query == Some(true) || self.equals_template.as_ref().is_some_and(Template::shows_query)
    }

    /// Returns whether the rule requires at most that a value is absent or empty, and of which type it is.
    pub(crate) fn is_bare(&self) -> bool {
        self.exists != Some(true)
            && self.null != Some(false)
            && self.equals.iter().chain(&self.any_of).all(is_empty)
            && self.equals_query != Some(true)
            && self.equals_template.is_none()
            && self.min_length.is_none()
            && self.max_length.is_none_or(|most| most == 0)
            && self.above.is_none()
            && self.below.is_none_or(|bound| bound <= 1.0)
            && self.contains.is_none()
            && self.matches.is_none()
    }

    /// Returns whether the rule can hold only if there is a value.
    pub(crate) fn is_positive(&self) -> bool {
        self.exists == Some(true) || self.conditions().any(|(_, is_positive)| is_positive)
    }
}

fn is_query(value: &Value, values: &Values<'_>) -> bool {
    as_text(value).is_some_and(|text| same_name(&text, values.name))
}

/// Returns whether a value is null, zero or without content.
fn is_empty(value: &Value) -> bool {
    value.is_null() || length(value) == Some(0) || value.as_f64() == Some(0.0)
}

/// Returns whether two values are equal. `1` equals `1.0`, since JSON has one type of number.
fn equals(one: &Value, other: &Value) -> bool {
    // Two integers are compared as integers, since large ones may become equal as floats.
    one == other
        || ((one.is_f64() || other.is_f64())
            && matches!((one.as_f64(), other.as_f64()), (Some(a), Some(b)) if a.total_cmp(&b).is_eq()))
}

fn contains(value: &Value, wanted: &Template, values: &Values<'_>) -> bool {
    let Ok(wanted) = wanted.fill(values) else { return false };
    match value {
        Value::String(text) => text.contains(&wanted),
        Value::Array(elements) => elements.iter().any(|element| element.as_str() == Some(wanted.as_str())),
        _ => false,
    }
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
