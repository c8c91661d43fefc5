//! The types of extractors and of the results of a hit.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

use super::json::JsonRule;
use super::source::{EXTRACTOR_KINDS, Source};
use super::text::{NAME, NAME_ALLOWED, Short, ShortOrLong};
use crate::base::words::words;
use crate::modules::pattern::SearchRegex;
use crate::modules::template::{Pattern, Template};

/// The most values of an extractor or a list.
pub(crate) const MAX_VALUES: usize = 1_000;

/// The pattern of a short extractor.
const SHORT: &str = "^[a-z_]+:";

/// Returns the message about an invalid short extractor.
fn short_allowed() -> String {
    format!("write KIND:ARGUMENT, where KIND is one of {EXTRACTOR_KINDS}")
}

/// An extractor: reads one or more values from an answer. The short form is one source, `KIND:ARGUMENT`. The manual's
/// page on catalogue entries lists the kinds.
pub type Extractor = ShortOrLong<LongExtractor>;

impl Short for LongExtractor {
    fn of_text(text: &str) -> Result<Self, String> {
        Ok(Self { from: vec![Source::parse(text)?], ..Self::default() })
    }

    fn as_text(&self) -> Option<&str> {
        let [source] = self.from.as_slice() else { return None };
        (*self == Self { from: self.from.clone(), ..Self::default() }).then_some(source)
    }

    fn schema() -> Schema {
        json_schema!({"type": "string", "format": "Source", "pattern": SHORT, "errorMessage": short_allowed()})
    }
}

/// The long form of an extractor, as an object with transforms and filters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "an object")]
#[schemars(rename = "long_extractor")]
pub struct LongExtractor {
    /// Short extractors, `KIND:ARGUMENT`, which are tried in order until
    /// one gives a value. Left out if `inner` is given.
    #[schemars(
        length(min = 1),
        extend("items" = {"type": "string", "format": "Source", "pattern": SHORT, "errorMessage": short_allowed()})
    )]
    pub from: Vec<Source>,
    /// The index of the probe whose answer is read; 0 is the first. Default: the last answer that was obtained.
    pub probe: Option<usize>,
    /// Conditions that an element of `each` must all fulfil to be kept. Their pointers are relative to the element.
    #[serde(rename = "where")]
    pub filter: Vec<JsonRule>,
    /// The elements to which `where` applies: a pointer with `*`, or `json:`, `jsonld:` or `script:`
    /// followed by one. `from` is then relative to each element.
    pub each: Option<Source>,
    /// An extractor that is used instead of `from`. It reads from each element that `each` and `where`
    /// selected, and can have an `inner` extractor itself.
    pub inner: Option<Box<LongExtractor>>,
    /// A regex, of which every match in a value gives a value: its first capture group, or the whole match
    /// if there is no group. A value without a match is dropped. Applied before `transform`.
    pub regex: Option<SearchRegex>,
    /// The transforms that are applied to every value, in order.
    pub transform: Vec<Transform>,
    /// Pairs of a regex and a label. The first regex that matches replaces the value
    /// by its label; a value without a match is kept.
    pub labels: Vec<(SearchRegex, String)>,
    /// A template that replaces each value, in which `{value}` is the value. Applied last.
    pub format: Option<Template>,
    /// Whether all values are given, as an array. By default it is the first value only, or all values if
    /// the pointer has a `*` and `each` is not given.
    pub all: bool,
    /// The most values that are read (default 50).
    #[schemars(range(min = 1, max = MAX_VALUES))]
    pub limit: Option<usize>,
}

/// A change to an extracted value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Transform {
    /// Removes white space at both ends and makes each run of it inside one space.
    Trim,
    /// Converts the value to lower case.
    Lower,
    /// Reads the text of an HTML fragment: tags are removed, entities decoded.
    HtmlText,
    /// Decodes percent-encoding.
    UrlDecode,
    /// Decodes the escapes of a JSON string (`\n`, `\u00fc`).
    JsonText,
    /// Makes an address in a page (`/a`, `//host/a`, `b?c`) absolute, based on the page's own address.
    AbsoluteUrl,
    /// Takes the host of a URL, or of an address without a scheme.
    UrlHost,
    /// Takes the last non-empty path segment of a URL.
    LastPathSegment,
    /// Removes a leading `*.`.
    StripWildcard,
    /// Removes a trailing dot.
    StripDot,
    /// Removes a leading `@`.
    StripAt,
    /// Removes a leading `mailto:` and a trailing query.
    StripMailto,
    /// Decodes an email address that Cloudflare hides in a page (`data-cfemail`).
    CloudflareEmail,
    /// Takes the last word that white space separates (the host in `10 mx.example.`).
    LastWord,
    /// Converts seconds since 1970 to RFC 3339.
    UnixTime,
    /// Converts milliseconds since 1970 to RFC 3339.
    UnixMillis,
    /// Converts a date or time in a usual form to RFC 3339. A value in another form is kept.
    DateTime,
    /// Converts a text such as `1,234` or `1.2K` to a JSON number.
    Number,
}

/// The main result of a hit, of which there is exactly one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schemars(inline)]
pub struct MainResult {
    /// The type of the result.
    #[serde(rename = "type")]
    pub result_type: ResultType,
    /// The extractor of the result's value. Default: the query's normal form.
    pub value: Option<Extractor>,
    /// Metadata names, each with its extractor. A name without a value is
    /// left out. `profile_url` is added from `profile`.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {"pattern": NAME, "errorMessage": NAME_ALLOWED}))]
    pub metadata: BTreeMap<String, Extractor>,
}

/// A list of results from one answer. It can be empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schemars(rename = "list_result")]
pub struct ListResult {
    /// The type of each result.
    #[serde(rename = "type")]
    pub result_type: ResultType,
    /// The index of the probe whose answer is read; 0 is the first. Default: the last answer that was obtained.
    pub probe: Option<usize>,
    /// The elements of the list: `json:/pointer/*`, `jsonld:/pointer`, `script:/pointer/*`, `css:SELECTOR`,
    /// `css:SELECTOR@ATTRIBUTE`, `regex:PATTERN` (every match), `header:NAME`, `lines:` (every non-empty line of the body),
    /// `json_lines:` (one JSON document per line) or another source.
    pub each: Source,
    /// Conditions that a JSON element must all fulfil to be kept. Their pointers are relative to the element.
    #[serde(default, rename = "where")]
    pub filter: Vec<JsonRule>,
    /// The extractor of each result's value, relative to the element. Default: the element itself. A
    /// `regex` that matches several times gives several results.
    pub value: Option<Extractor>,
    /// A regex (a template for regexes) that must be found in a value for it to be kept.
    pub keep: Option<Pattern>,
    /// Metadata names, each with its extractor, relative to the element.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {"pattern": NAME, "errorMessage": NAME_ALLOWED}))]
    pub metadata: BTreeMap<String, Extractor>,
    /// The most results of the list (default 100, at most 1,000).
    #[schemars(range(min = 1, max = MAX_VALUES))]
    pub limit: Option<usize>,
}

words! {
    /// The type of a result.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(inline)]
    #[expect(missing_docs, reason = "the names are the field's own")]
    pub enum ResultType {
        Account = "account",
        Profile = "profile",
        Email = "email",
        Username = "username",
        PersonName = "person_name",
        Url = "url",
        Domain = "domain",
        Subdomain = "subdomain",
        DnsRecord = "dns_record",
        IpAddress = "ip_address",
        Certificate = "certificate",
        Registration = "registration",
        Technology = "technology",
        Archive = "archive",
        Breach = "breach",
        Reputation = "reputation",
        PublicKey = "public_key",
        Phone = "phone",
        Tenant = "tenant",
    }
}

impl ResultType {
    /// Returns the names of the metadata that identify a result together with its type and value.
    ///
    /// Two results with the same value that differ in one of these are different results. `kind` and `service` of a
    /// technology are included because they say what the value is a name or number of (an iOS app, the site of a
    /// tracking service). The `role` of a technology, which is the purpose it serves for a domain, is not included.
    pub fn identifying(self) -> &'static [&'static str] {
        match self {
            Self::DnsRecord => &["record_type", "name"],
            Self::Technology => &["kind", "network", "service", "team_id"],
            Self::Certificate => &["serial", "issuer"],
            Self::Archive => &["archive"],
            Self::PublicKey => &["key_sha256"],
            _ => &[],
        }
    }
}
