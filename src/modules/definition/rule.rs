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
    /// Texts (templates) of which all stand in the visible text of the page, white space squeezed: what
    /// scripts, styles, templates and hidden elements hold does not count, nor does the title.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// A text (template) that stands in the page's title, white space squeezed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The page's whole title, white space squeezed (a template).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title_is: Option<String>,
    /// `words`, `any_word`, `no_word`, `body_is`, `text`, `title` and `title_is` ignore ASCII and Unicode case.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ignore_case: bool,
    /// The whole trimmed body equals this text (a template). `""` means: an empty body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_is: Option<String>,
    /// Regex (linear time; multi-line, a template for regexes) found in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// `true`: the head of the page shows the query as a whole word, in any case: its title, its canonical
    /// address, `og:title`, `og:url` or `profile:username`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shows_query: bool,
    /// Conditions on the body as JSON. A body that is no JSON fails them all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub json: Vec<JsonRule>,
    /// Conditions on JSON inside the page's `<script>` elements, each on the first document that has the
    /// rule's pointer. A page without such JSON fails them all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub script: Vec<JsonRule>,
    /// Conditions on the body as HTML, or as XML where it says that it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub css: Vec<CssRule>,
    /// Digests of the body as received; any one of them.
    #[serde(default, skip_serializing_if = "BodyHash::is_empty")]
    pub body_hash: BodyHash,
}

/// Digests of a body. One of all that are listed is enough.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyHash {
    /// 64 hex digits each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sha256: Vec<String>,
    /// 40 hex digits each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sha1: Vec<String>,
    /// 32 hex digits each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub md5: Vec<String>,
    /// The favicon hash of the search engines for hosts: MurmurHash3 (x86, 32 bits, seed 0) as a signed
    /// number, of the body in base64 with a line break after every 76 characters and at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mmh3: Vec<i32>,
}

impl BodyHash {
    /// Whether nothing is listed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
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
