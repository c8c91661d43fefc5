//! What a hit yields.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_false;
use super::rule::JsonRule;

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
    /// `KIND:ARGUMENT`; several are tried in turn until one gives a value. Left out where `inner` stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// Which probe's answer. Default: the last one that was obtained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<usize>,
    /// Keep only the elements (the parent of the last pointer segment) that fulfil all of these;
    /// pointers are relative to the element.
    #[serde(default, rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<JsonRule>,
    /// Where `where` elements are: a pointer with `*`, or `json:`, `jsonld:` or `script:` with one.
    /// `from` is then relative to each element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<String>,
    /// Instead of `from`: an extractor that reads from each element that `each` and `where` chose, and
    /// may choose among what is inside it in turn (at most 4 levels).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner: Option<Box<LongExtractor>>,
    /// Every match of this regex in a value gives a value: its first capture group, else the whole
    /// match. A value without a match is dropped. Before `transform`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// Applied in turn to every value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transform: Vec<Transform>,
    /// Value to label: the first regex that matches gives the label; without a match the value stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<(String, String)>,
    /// A template around each value, which stands in it as `{value}`. Last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// `true`: all values as an array; `false` (default): the first one, or all of them where the pointer
    /// has a `*` and nothing is chosen by `each` or `where`.
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
    /// Upper case.
    Upper,
    /// A whole number in decimal digits (of any size up to 100) as lower-case hex digits, without `0x`.
    Hex,
    /// Text of an HTML fragment: tags removed, entities decoded.
    HtmlText,
    /// Percent-decoding.
    UrlDecode,
    /// An address as it stands in a page (`/a`, `//host/a`, `b?c`) made absolute against the page's own.
    AbsoluteUrl,
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
    /// The elements: `json:/pointer/*`, `jsonld:/pointer`, `script:/pointer/*`, `css:SELECTOR`, `css:SELECTOR@ATTRIBUTE`,
    /// `regex:PATTERN` (every match), `header:NAME`, `lines:` (every non-empty line of the body) or
    /// `json_lines:` (one JSON document a line).
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
    /// Members of the metadata that are part of what a result is: results of one value that differ in one
    /// of these are two, and the texts of these are compared wherever results are.
    ///
    /// `kind` and `service` of a technology say what its value is a name or number of (an iOS app, the site
    /// of a tracking service); what a product does for a domain is a `role`, and no part of it.
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
