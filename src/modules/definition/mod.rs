//! The rule language: what an entry of the catalogue may say, as serde types.
//!
//! These types are the syntax only. [`super::catalog`] compiles them and refuses what makes no sense.
//! Unknown fields are errors everywhere.
//!
//! # Templates
//! Strings marked *template* may hold `{query}`, `{local}`, `{domain}`, `{saved.NAME}` (from an earlier
//! probe's `save`), `{config.NAME}` (an operator's key; not in rules and results), each with filters, in
//! turn: `lower`, `md5`, `sha1`, `sha256` (hex, of the lower-cased value), `registrable` (the part that
//! can be registered), `label` (its first label), `urlencode`. A literal brace is doubled: `{{`, `}}`.
//! Values are escaped for where they stand: URL host, URL path, URL query, JSON string, form field,
//! header, regex. In a URL they are percent-encoded anyway, `urlencode` or not. A URL may begin with a
//! saved address: `{saved.NAME}/more`. A missing value ends the check (`skipped` for a query or config
//! value, `error` for a saved one); a request is never sent half-filled.
//!
//! In a *template for regexes* quantifiers and escapes keep their single braces: `[a-z]{3,5}`, `\p{L}`,
//! `\{` mean what they always mean; any other literal brace is doubled.
//!
//! # Extractor texts
//! A short extractor is one string, `KIND:ARGUMENT`:
//!
//! | text | reads |
//! |---|---|
//! | `json:/a/*/b` | JSON pointer; `*` is every element or member |
//! | `css:SELECTOR`, `css:SELECTOR@ATTRIBUTE` | text or attribute of the elements found |
//! | `meta:NAME` | `content` of the `<meta>` of that name or property |
//! | `jsonld:/pointer` | in any JSON-LD block of the page |
//! | `regex:PATTERN` | first capture group, else the whole match, in the body |
//! | `header:NAME`, `cookie:NAME` | of this answer |
//! | `final_url:`, `title:` | the address after redirects; the text of `<title>` |
//! | `template:TEXT`, `const:TEXT` | a template; the text itself |
//! | `count:/pointer` | how many values are there |
//!
//! Inside `results[].value` and `.metadata`, `json:` and `count:` are relative to the element that `each`
//! gave; `value:` is the element itself, `key:` its member name or index, `group:N` a capture group of an
//! `each` regex, `attr:NAME` an attribute of an `each` CSS element.

use serde::{Deserialize, Serialize};

use super::query::SearchType;

mod probe;
mod result;
mod rule;

pub use probe::{Method, ProbeEntry, Via};
pub use result::{Extractor, ListResult, LongExtractor, MainResult, ResultType, Transform};
pub use rule::{CssCondition, CssRule, JsonRule, MatcherEntry, StatusRule};

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
