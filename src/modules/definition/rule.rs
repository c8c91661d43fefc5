//! The types of the rules that are applied to an answer.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::limits::{is_false, is_true, yes};
use super::text;
use crate::modules::html::Selector;
use crate::modules::pattern::{Pattern, SearchRegex};
use crate::modules::pointer::Pointer;
use crate::modules::template::Template;

/// A rule whose conditions must all hold for the answer of one probe.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "matcher", extend("minProperties" = 1, "errorMessage" = "it would match every answer; add at least a `status`"))]
pub struct Matcher {
    /// The index of the probe whose answer the rule reads; 0 is the first. Default: the last answer that was
    /// obtained. If a later probe could not be sent because a saved value was missing, only a `miss` rule or
    /// a rule with a `probe` can hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<usize>,
    /// Status codes (`200`) and classes (`"4xx"`), one of which must match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<StatusRule>,
    /// A regex (a template for regexes) that is searched in the final URL, after redirects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub final_url: Option<Pattern>,
    /// Header names, each with a regex that one of its values must match. `""` matches if the header is present.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub header: BTreeMap<String, SearchRegex>,
    /// Header names that must be absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_header: Vec<String>,
    /// Texts (templates) that must all be in the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)))]
    pub words: Vec<Template>,
    /// Texts (templates) of which at least one must be in the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)))]
    pub any_word: Vec<Template>,
    /// Texts (templates) that must not be in the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)))]
    pub no_word: Vec<Template>,
    /// Texts (templates) that must all be in the visible text of the page, with runs of white space made one
    /// space. The title, scripts, styles, templates and hidden elements are not visible text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<Template>,
    /// A text (template) that must be in the page's title, with runs of white space made one space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Template>,
    /// The whole title of the page (a template), with runs of white space made one space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title_is: Option<Template>,
    /// Whether `words`, `any_word`, `no_word`, `body_is`, `text`, `title` and `title_is` ignore ASCII and Unicode case.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ignore_case: bool,
    /// The text (a template) that the whole trimmed body must equal. `""` matches an empty body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_is: Option<Template>,
    /// A regex (a template for regexes) that is searched in the body. It runs in linear time and in multi-line mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub regex: Option<Pattern>,
    /// Whether the head of the page must show the query as a whole word, in any case: in the title, the
    /// canonical address, `og:title`, `og:url` or `profile:username`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shows_query: bool,
    /// Conditions on the body as JSON. None of them holds for a body that is not JSON.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub json: Vec<JsonRule>,
    /// Conditions on the body as HTML.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub css: Vec<CssRule>,
}

/// A status code (`200`) or a class of status codes (`"2xx"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum StatusRule {
    /// One status code, 100 to 599.
    Code(
        #[schemars(
            range(min = 100, max = 599),
            extend("errorMessage" = "allowed are 100 to 599 and \"1xx\" to \"5xx\"")
        )]
        u16,
    ),
    /// A class of status codes: `"1xx"` to `"5xx"`.
    Class(StatusClass),
}

impl StatusRule {
    /// Returns the first and the last status code that match.
    pub(crate) fn range(self) -> (u16, u16) {
        let from = match self {
            Self::Code(code) => return (code, code),
            Self::Class(StatusClass::Informational) => 100,
            Self::Class(StatusClass::Success) => 200,
            Self::Class(StatusClass::Redirection) => 300,
            Self::Class(StatusClass::ClientError) => 400,
            Self::Class(StatusClass::ServerError) => 500,
        };
        (from, from + 99)
    }
}

impl fmt::Display for StatusRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "{code}"),
            Self::Class(_) => write!(f, "{}xx", self.range().0 / 100),
        }
    }
}

/// A class of status codes, named as in RFC 9110, section 15.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names are those of the RFC")]
pub enum StatusClass {
    #[serde(rename = "1xx")]
    Informational,
    #[serde(rename = "2xx")]
    Success,
    #[serde(rename = "3xx")]
    Redirection,
    #[serde(rename = "4xx")]
    ClientError,
    #[serde(rename = "5xx")]
    ServerError,
}

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
#[serde(deny_unknown_fields)]
#[schemars(rename = "json_rule", extend("minProperties" = 2, "errorMessage" = "say `\"exists\": true`, or what the value must be"))]
pub struct JsonRule {
    /// An RFC 6901 pointer. The segment `*` selects every element or member; `""` is the whole document.
    #[schemars(regex(pattern = "^(/|$)"), extend("errorMessage" = "a JSON pointer is empty or begins with `/`"))]
    pub at: Pointer,
    /// Whether a value must be present (`true`) or absent (`false`). Null counts as absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// Whether the value must be present and null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null: Option<bool>,
    /// The JSON value that the selected value must equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// The JSON values of which the selected value must equal one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<Value>,
    /// The JSON value that no selected value may equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_equals: Option<Value>,
    /// Whether the value, as text, must be the query's normal form, regardless of case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals_query: Option<bool>,
    /// A template whose filled text the value must equal, regardless of case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals_template: Option<Template>,
    /// The type of the value: `string`, `number`, `boolean`, `array`, `object` or `null`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub json_type: Option<JsonType>,
    /// The least length of a string (in characters), array or object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<usize>,
    /// The greatest length of a string (in characters), array or object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    /// The number that the value must exceed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// The number that the value must be below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// The text (template) that must be part of a string, or an element of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<Template>,
    /// The text that no selected value may contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_contains: Option<Template>,
    /// A regex (a template for regexes) that must be found in a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<Pattern>,
    /// A regex (a template for regexes) that must not be found in any selected string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_matches: Option<Pattern>,
}

/// A condition on the elements that a CSS selector finds. The short form is
/// the selector alone, which must find an element.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum CssRule {
    /// A selector that must find an element.
    Found(Selector),
    /// The long form of the condition, as an object.
    Detailed(CssCondition),
}

/// The long form of a condition on the elements that a CSS selector finds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "css_rule")]
pub struct CssCondition {
    /// The selector: compound selectors (`tag#id.class[attr^="v"]`) joined by a space, in a list joined by `,`.
    #[schemars(length(min = 1))]
    pub select: Selector,
    /// Whether there must be such an element (`true`, the default) or must not be one (`false`).
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub exists: bool,
    /// The attribute that is read instead of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// A regex (a template for regexes) that must be found in the text (or attribute) of one element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<Pattern>,
    /// Whether the trimmed text (or attribute) of one element, without a
    /// leading `@`, must be the query, regardless of case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals_query: Option<bool>,
}

impl<'de> Deserialize<'de> for CssRule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text::read_either(from, |text| Selector::parse(text).map(Self::Found), Self::Detailed)
    }
}
