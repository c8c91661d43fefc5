//! What a rule may ask of an answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{is_false, is_true, yes};

/// A conjunction: every condition given must hold, on the answer of one probe.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatcherEntry {
    /// Which probe's answer: 0 is the first. Default: the last one that was obtained. Where a later
    /// probe could not be sent (a value was not there to be saved), only a `miss`, or a rule that names
    /// its probe, may fire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<usize>,
    /// Status codes (`200`) and classes (`"4xx"`), any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<StatusRule>,
    /// Regex searched in the final URL (after redirects). A template for regexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_url: Option<String>,
    /// Header name to regex that one of its values must match; `""` means: present.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub header: BTreeMap<String, String>,
    /// Header names that must be absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_header: Vec<String>,
    /// Texts (templates) of which all stand in the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// Texts (templates) of which at least one stands in the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any_word: Vec<String>,
    /// Texts (templates) of which none stands in the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_word: Vec<String>,
    /// `words`, `any_word`, `no_word` and `body_is` ignore ASCII and Unicode case.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ignore_case: bool,
    /// The whole trimmed body equals this text (a template). `""` means: an empty body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_is: Option<String>,
    /// Regex (linear time; multi-line, a template for regexes) found in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// Conditions on the body as JSON. A body that is no JSON fails them all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub json: Vec<JsonRule>,
    /// Conditions on the body as HTML.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub css: Vec<CssRule>,
    /// SHA-256 (hex) of the body as received, any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sha256: Vec<String>,
}

/// `200` or `"2xx"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StatusRule {
    /// One status code, 100 to 599.
    Code(u16),
    /// A class: `"1xx"` to `"5xx"`.
    Class(String),
}

/// A condition on the values that a JSON pointer selects. With several conditions in one rule, one and
/// the same value must fulfil them all; with `*` in the pointer, one of the values is enough.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonRule {
    /// RFC 6901 pointer; the segment `*` means every element or member. `""` is the whole document.
    pub at: String,
    /// `true`: a value is there (null counts as absent). `false`: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// `true`: the value is there and is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null: Option<bool>,
    /// Equal to this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// Equal to one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<Value>,
    /// No selected value equals this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_equals: Option<Value>,
    /// `true`: the value, as text, is the query's normal form, regardless of case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals_query: Option<bool>,
    /// Equal to this template once filled, regardless of case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals_template: Option<String>,
    /// `string`, `number`, `boolean`, `array`, `object` or `null`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub json_type: Option<String>,
    /// Length of a string (characters), array or object: at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<usize>,
    /// Length of a string (characters), array or object: at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    /// A number above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// A number below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// A string that holds this text (template), or an array that holds this string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// No selected value holds this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_contains: Option<String>,
    /// A string in which this regex is found. A template for regexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
}

/// A condition on the elements that a CSS selector finds. Short form: the selector alone (must be found).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CssRule {
    /// The selector finds an element.
    Found(String),
    /// The long form.
    Detailed(CssCondition),
}

/// The long form of [`CssRule`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CssCondition {
    /// Compound selectors (`tag#id.class[attr^="v"]`) joined by descendant or `>`; lists by `,`.
    pub select: String,
    /// `false`: no such element.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub exists: bool,
    /// Read this attribute instead of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// Regex found in one element's text (or attribute). A template for regexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// `true`: one element's trimmed text (or attribute), without a leading `@`, is the query,
    /// regardless of case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals_query: Option<bool>,
}
