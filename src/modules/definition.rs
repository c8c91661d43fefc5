//! The rule language: what an entry of the catalogue may say, as serde types.
//!
//! These types are the syntax only. [`super::catalog`] compiles them and refuses what makes no sense.
//! Unknown fields are errors everywhere.
//!
//! # Templates
//! Strings marked *template* may hold `{query}`, `{local}`, `{domain}`, `{saved.NAME}` (from an earlier
//! probe's `save`), `{config.NAME}` (an operator's key), each with filters: `{query|lower}`,
//! `{query|md5}`, `{query|sha1}`, `{query|sha256}`, `{domain|registrable}`, `{domain|label}` (the first
//! label of the registrable part), `{query|urlencode}`. A literal brace is doubled: `{{`, `}}`.
//! Values are escaped for where they stand: URL host, URL path, URL query, JSON string, form field,
//! header, regex. A missing value ends the check (`skipped` for a query or config value, `error` for a
//! saved one); a request is never sent half-filled.
//!
//! # Extractor texts
//! A short extractor is one string, `KIND:ARGUMENT`:
//! `json:/a/*/b` (JSON pointer, `*` = every element or member) · `css:SELECTOR` (text) or
//! `css:SELECTOR@ATTRIBUTE` · `meta:NAME` (`<meta>` by name or property) · `jsonld:/pointer` (in any
//! JSON-LD block of the page) · `regex:PATTERN` (first capture group, else the whole match) ·
//! `header:NAME` · `cookie:NAME` (set by this answer) · `final_url:` · `title:` (text of `<title>`) ·
//! `template:TEXT` (a template) · `const:TEXT` · `count:/pointer` (how many values are there).
//! Inside `results[].value` and `.metadata`, `json:` is relative to the element that `each` gave, and
//! `group:N` reads a capture group of an `each` regex.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::query::SearchType;

fn yes() -> bool {
    true
}

fn is_true(flag: &bool) -> bool {
    *flag
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

/// One module as it stands in a catalogue file. A file is a JSON array of entries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Unique name: lower-case ASCII letters, digits, `_`, `-`, `.`; at most 64.
    pub id: String,
    /// The name people know.
    pub platform: String,
    /// What kind of query the module takes.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// One lower-case word or two, such as `coding`, `social`, `dns`.
    pub category: String,
    /// Further words to select by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Popularity: 1 is the most visited. Popular modules are asked early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// `false`: loaded and listed, never run.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub enabled: bool,
    /// Adult content: off unless asked for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub nsfw: bool,
    /// Touches a sign-in page (never with a password): off unless the operator switches it on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub discovery: bool,
    /// Who sees the traffic.
    #[serde(default, skip_serializing_if = "Contact::is_default")]
    pub contact: Contact,
    /// The site's front page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// Template: the page a person would open for this query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Regex that the whole normal form must match, else `skipped`. Anchored by the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts: Option<String>,
    /// Which scripts a username may be written in here.
    #[serde(default, skip_serializing_if = "Scripts::is_default")]
    pub scripts: Scripts,
    /// Characters to remove from the query first (for sites whose names cannot hold them).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strip: Option<String>,
    /// Email: only addresses of these domains are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domain_in: Vec<String>,
    /// `config.NAME`s without which the module is `skipped`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// At least this many milliseconds between two checks of this module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_ms: Option<u64>,
    /// At most this many checks of this module a day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_day: Option<u32>,
    /// One to three requests, sent in order.
    pub probes: Vec<ProbeEntry>,
    /// The module's own barriers, beside the global list. They win over everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barrier: Vec<MatcherEntry>,
    /// Alternatives that mean: it is there.
    pub hit: Vec<MatcherEntry>,
    /// Alternatives that mean: it is not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub miss: Vec<MatcherEntry>,
    /// A miss here means "nothing public", not "no account".
    #[serde(default, skip_serializing_if = "is_false")]
    pub weak_miss: bool,
    /// Whether a hit is confirmed by asking for a made-up name. Default: yes for usernames and email
    /// addresses, no for domains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<bool>,
    /// The main result of a hit: always exactly one. Without it and without `results`, a username or
    /// email module yields `{"type": "account"}` with the query as its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<MainResult>,
    /// Further results: zero to many each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ListResult>,
    /// Queries that are known to hit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
    /// A word for the next author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Who sees the traffic of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contact {
    /// A third party that holds data about the query.
    #[default]
    ThirdParty,
    /// A DNS resolver.
    Resolver,
    /// The site of the domain that is looked up.
    TargetWeb,
    /// A third party that fetches that site when asked.
    ThirdPartyScan,
}

impl Contact {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Which scripts a module's usernames may be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scripts {
    /// ASCII only; a query in another script is `skipped`.
    #[default]
    Ascii,
    /// Letters of any script.
    Any,
}

impl Scripts {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// HTTP methods a probe may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// The default.
    #[default]
    Get,
    /// No body comes back: for rules on status and headers alone.
    Head,
    /// With a body.
    Post,
    /// With a body.
    Put,
}

impl Method {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// `GET`, `HEAD`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }
}

/// What carries a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// A plain HTTP request.
    #[default]
    Http,
    /// A page opened in a real browser: such a module is premium.
    Browser,
}

impl Via {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// One outgoing request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeEntry {
    /// Template: `https://…` (or `http://…`).
    pub url: String,
    /// Default GET.
    #[serde(default, skip_serializing_if = "Method::is_default")]
    pub method: Method,
    /// Default `http`.
    #[serde(default, skip_serializing_if = "Via::is_default")]
    pub via: Via,
    /// Header name to template. `User-Agent` replaces the service's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Form fields (templates), sent as `application/x-www-form-urlencoded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<BTreeMap<String, String>>,
    /// A JSON body; its strings are templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// A text body (template); give `Content-Type` among the headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether redirects are followed (at most 5). Default: no, a redirect is an answer.
    #[serde(default, skip_serializing_if = "is_false")]
    pub follow: bool,
    /// NAME to extractor: read from the answer, used by later probes as `{saved.NAME}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub save: BTreeMap<String, Extractor>,
    /// Sent only when the rules came to no conclusion on the answers so far (a fallback source).
    #[serde(default, skip_serializing_if = "is_false")]
    pub fallback: bool,
}

/// A conjunction: every condition given must hold, on the answer of one probe.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatcherEntry {
    /// Which probe's answer: 0 is the first. Default: the last one that was obtained.
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
    /// A string in which this regex is found.
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

/// Reads a value, or several, from an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Extractor {
    /// `KIND:ARGUMENT`, see the top of this file.
    Short(String),
    /// With transforms, filters and alternatives.
    Long(LongExtractor),
}

/// The long form of [`Extractor`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongExtractor {
    /// `KIND:ARGUMENT`; several are tried in turn until one gives a value.
    pub from: Vec<String>,
    /// Which probe's answer. Default: the last one that was obtained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<usize>,
    /// Keep only the elements (the parent of the last pointer segment) that fulfil all of these;
    /// pointers are relative to the element.
    #[serde(default, rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<JsonRule>,
    /// Where `where` elements are: a pointer with `*`. `from` is then relative to each element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<String>,
    /// Applied in turn to every value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transform: Vec<Transform>,
    /// Value to label: the first regex that matches gives the label; without a match the value stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<(String, String)>,
    /// `true`: all values as an array; `false` (default): the first one, or the array itself where the
    /// pointer has a `*`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub all: bool,
    /// At most this many values (default 50).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Named, small changes to an extracted value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transform {
    /// White space off both ends, runs of it inside made one space.
    Trim,
    /// Lower case.
    Lower,
    /// Text of an HTML fragment: tags removed, entities decoded.
    HtmlText,
    /// Percent-decoding.
    UrlDecode,
    /// The host of a URL, or of an address without a scheme.
    UrlHost,
    /// The last non-empty path segment of a URL.
    LastPathSegment,
    /// One value for each line.
    Lines,
    /// One value for each part between white space or commas.
    Split,
    /// A leading `*.` off.
    StripWildcard,
    /// A trailing dot off.
    StripDot,
    /// A leading `@` off.
    StripAt,
    /// A leading `mailto:` and a trailing query off.
    StripMailto,
    /// The character strings of a DNS TXT record, joined, without their quotes.
    UnquoteTxt,
    /// The last white-space separated word (the host in `10 mx.example.`).
    LastWord,
    /// Seconds since 1970 to RFC 3339.
    UnixTime,
    /// Milliseconds since 1970 to RFC 3339.
    UnixMillis,
    /// A date or time in a usual form to RFC 3339; an unknown form stays as it is.
    DateTime,
    /// A JSON number from text like `1,234` or `1.2K`.
    Number,
}

/// The one main result of a hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MainResult {
    /// What was found.
    #[serde(rename = "type")]
    pub result_type: ResultType,
    /// Default: the query's normal form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Extractor>,
    /// Name to extractor; a name without a value is left out. `profile_url` is added from `profile`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Extractor>,
}

/// Zero to many results from one answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListResult {
    /// What each of them is.
    #[serde(rename = "type")]
    pub result_type: ResultType,
    /// Which probe's answer. Default: the last one that was obtained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<usize>,
    /// The elements: `json:/pointer/*`, `css:SELECTOR`, `regex:PATTERN` (every match) or `lines:`
    /// (every non-empty line of the body; `json_lines:` for one JSON document a line).
    pub each: String,
    /// Keep only the JSON elements that fulfil all of these (pointers relative to the element).
    #[serde(default, rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<JsonRule>,
    /// Relative to the element. Without it: the element itself. Transforms that give several values
    /// (`lines`, `split`) give several results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Extractor>,
    /// Keep only values in which this regex (a template for regexes) is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
    /// Relative to the element.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Extractor>,
    /// At most this many results (default 100, at most 1,000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// The kinds of entities that a module may yield (`type` of a result).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the field's own")]
pub enum ResultType {
    Account,
    Profile,
    Email,
    Username,
    PersonName,
    Url,
    Domain,
    Subdomain,
    DnsRecord,
    IpAddress,
    Certificate,
    Registration,
    Technology,
    Archive,
    Breach,
    Reputation,
    PublicKey,
    Phone,
    Tenant,
}

impl ResultType {
    /// The name that the contract shows, such as `person_name`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Profile => "profile",
            Self::Email => "email",
            Self::Username => "username",
            Self::PersonName => "person_name",
            Self::Url => "url",
            Self::Domain => "domain",
            Self::Subdomain => "subdomain",
            Self::DnsRecord => "dns_record",
            Self::IpAddress => "ip_address",
            Self::Certificate => "certificate",
            Self::Registration => "registration",
            Self::Technology => "technology",
            Self::Archive => "archive",
            Self::Breach => "breach",
            Self::Reputation => "reputation",
            Self::PublicKey => "public_key",
            Self::Phone => "phone",
            Self::Tenant => "tenant",
        }
    }
}
