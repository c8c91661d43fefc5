//! Conditions on the values that a JSON pointer selects.

use std::borrow::Cow;

use serde_json::Value;

use crate::modules::definition::{JsonRule, JsonType};
use crate::modules::mistake::Mistakes;
use crate::modules::pattern::Pattern;
use crate::modules::pointer::Pointer;
use crate::modules::scope::Scope;
use crate::modules::template::{Kind, Template, Values};
use crate::modules::text::same_name;

/// A compiled [`JsonRule`].
#[derive(Debug, Clone)]
pub(crate) struct JsonMatcher {
    at: Pointer,
    exists: Option<bool>,
    /// The tests that a single value must all pass.
    positive: Vec<Test>,
    /// The tests that no value may pass.
    negative: Vec<Test>,
    /// The description for people, such as `/login equals_query`.
    label: String,
    echoes_query: bool,
}

#[derive(Debug, Clone)]
enum Test {
    Null(bool),
    AnyOf(Vec<Value>),
    Query,
    Template(Template),
    Type(JsonType),
    MinLength(usize),
    MaxLength(usize),
    Above(f64),
    Below(f64),
    Contains(Template),
    Matches(Pattern),
}

impl JsonMatcher {
    /// Compiles a rule. If it is invalid, adds the errors to `mistakes` and returns `None`.
    pub(crate) fn compile(rule: &JsonRule, scope: &Scope, mistakes: &mut Mistakes) -> Option<Self> {
        let before = mistakes.count();
        let at = mistakes.field("at", |mistakes| mistakes.take(Pointer::parse(&rule.at)));
        let (mut positive, mut negative, mut words) = (Vec::new(), Vec::new(), Vec::new());
        let mut note = |word: &str, test: Option<Test>, is_positive: bool| {
            if let Some(test) = test {
                words.push(word.to_owned());
                if is_positive { &mut positive } else { &mut negative }.push(test);
            }
        };
        note("null", rule.null.map(Test::Null), true);
        note("equals", rule.equals.clone().map(|value| Test::AnyOf(vec![value])), true);
        note("any_of", (!rule.any_of.is_empty()).then(|| Test::AnyOf(rule.any_of.clone())), true);
        note("not_equals", rule.not_equals.clone().map(|value| Test::AnyOf(vec![value])), false);
        if let Some(wanted) = rule.equals_query {
            note("equals_query", Some(Test::Query), wanted);
        }
        let template = |field: &str, text: &Option<String>, mistakes: &mut Mistakes| {
            let text = text.as_deref()?;
            mistakes.field(field, |mistakes| scope.template(text, Kind::Plain, mistakes))
        };
        let equals_template = template("equals_template", &rule.equals_template, mistakes);
        let shows_query = equals_template.as_ref().is_some_and(Template::shows_query);
        note("equals_template", equals_template.map(Test::Template), true);
        note("type", rule.json_type.map(Test::Type), true);
        note("min_length", rule.min_length.map(Test::MinLength), true);
        note("max_length", rule.max_length.map(Test::MaxLength), true);
        note("above", rule.above.map(Test::Above), true);
        note("below", rule.below.map(Test::Below), true);
        note("contains", template("contains", &rule.contains, mistakes).map(Test::Contains), true);
        note(
            "not_contains",
            template("not_contains", &rule.not_contains, mistakes).map(Test::Contains),
            false,
        );
        for (field, text, is_positive) in
            [("matches", &rule.matches, true), ("not_matches", &rule.not_matches, false)]
        {
            let pattern = text
                .as_deref()
                .and_then(|text| mistakes.field(field, |mistakes| scope.pattern(text, mistakes)));
            note(field, pattern.map(Test::Matches), is_positive);
        }
        if rule.exists.is_some() {
            words.push(if rule.exists == Some(true) { "exists" } else { "missing" }.to_owned());
        }
        if words.is_empty() && mistakes.count() == before {
            mistakes.add("no condition beside `at` (an empty `any_of` is none); add `\"exists\": true` or a condition on the value");
        }
        if mistakes.count() > before {
            return None;
        }
        let label =
            format!("{} {}", if rule.at.is_empty() { "(document)" } else { &rule.at }, words.join("+"));
        let echoes_query = rule.equals_query == Some(true) || shows_query;
        Some(Self { at: at?, exists: rule.exists, positive, negative, label, echoes_query })
    }

    /// Returns whether the rule holds on `root`. If the pointer selects more values than are read, no value
    /// can be proved to be missing.
    pub(crate) fn holds(&self, root: &Value, values: &Values<'_>) -> bool {
        let (selected, is_whole) = self.at.select_known(root);
        if !is_whole && (self.exists == Some(false) || !self.negative.is_empty()) {
            return false;
        }
        let is_there = selected.iter().any(|found| !found.value.is_null());
        self.exists.is_none_or(|wanted| wanted == is_there)
            && (self.positive.is_empty()
                || selected
                    .iter()
                    .any(|found| self.positive.iter().all(|test| test.holds(found.value, values))))
            && !selected.iter().any(|found| self.negative.iter().any(|test| test.holds(found.value, values)))
    }

    /// Returns the pointer and the conditions, for the evidence of a result.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Returns whether the rule holds only if the response repeats the query.
    pub(crate) fn echoes_query(&self) -> bool {
        self.echoes_query
    }

    /// Returns whether the rule requires at most that a value is absent or empty, and of which type it is.
    pub(crate) fn is_bare(&self) -> bool {
        self.exists != Some(true) && self.positive.iter().all(Test::is_bare)
    }

    /// Returns whether the rule can hold only if there is a value.
    pub(crate) fn is_positive(&self) -> bool {
        !self.positive.is_empty() || self.exists == Some(true)
    }
}

impl Test {
    fn holds(&self, value: &Value, values: &Values<'_>) -> bool {
        match self {
            Self::Null(wanted) => value.is_null() == *wanted,
            Self::AnyOf(list) => list.iter().any(|wanted| equals(value, wanted)),
            Self::Query => as_text(value).is_some_and(|text| same_name(&text, values.name)),
            Self::Template(template) => as_text(value)
                .is_some_and(|text| template.fill(values).is_ok_and(|wanted| same_name(&text, &wanted))),
            Self::Type(kind) => JsonType::of(value) == *kind,
            Self::MinLength(least) => length(value).is_some_and(|length| length >= *least),
            Self::MaxLength(most) => length(value).is_some_and(|length| length <= *most),
            Self::Above(bound) => value.as_f64().is_some_and(|number| number > *bound),
            Self::Below(bound) => value.as_f64().is_some_and(|number| number < *bound),
            Self::Contains(template) => template.fill(values).is_ok_and(|wanted| contains(value, &wanted)),
            Self::Matches(pattern) => value.as_str().is_some_and(|text| pattern.is_found(text, values)),
        }
    }

    /// Returns whether an empty value or each value of some type passes.
    fn is_bare(&self) -> bool {
        match self {
            Self::Null(wanted) => *wanted,
            Self::AnyOf(list) => list.iter().all(is_empty),
            Self::Type(_) => true,
            Self::MaxLength(most) => *most == 0,
            Self::Below(bound) => *bound <= 1.0,
            Self::Query
            | Self::Template(_)
            | Self::MinLength(_)
            | Self::Above(_)
            | Self::Contains(_)
            | Self::Matches(_) => false,
        }
    }
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

fn contains(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => text.contains(wanted),
        Value::Array(elements) => elements.iter().any(|element| element.as_str() == Some(wanted)),
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
