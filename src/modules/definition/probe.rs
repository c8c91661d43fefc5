//! What a probe sends.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::is_false;
use super::result::Extractor;

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

impl ProbeEntry {
    /// Whether redirects are followed: a browser always does.
    pub fn follows(&self) -> bool {
        self.follow || self.via == Via::Browser
    }
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
    /// Default `http`. A browser opens the page with GET, follows redirects, and sends no header of the
    /// entry's.
    #[serde(default, skip_serializing_if = "Via::is_default")]
    pub via: Via,
    /// Header name to template. `User-Agent` replaces the service's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Form fields (templates), sent as `application/x-www-form-urlencoded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<BTreeMap<String, String>>,
    /// Fields (templates), sent as `multipart/form-data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multipart: Option<BTreeMap<String, String>>,
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
    /// For `"via": "browser"`: what shows that the page is ready to be judged, in place of what the rules tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilEntry>,
    /// A list that is the same for every query: fetched once, shared by all checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<FeedEntry>,
    /// Further pages of the answer, for `results`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PagesEntry>,
}

/// What shows that a rendered page is ready to be judged: any one of these. Templates all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UntilEntry {
    /// Selectors of which one finds an element.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub css: Vec<String>,
    /// Parts of the visible text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// Parts of the title.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub title: Vec<String>,
    /// Parts of the rendered document's HTML.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<String>,
    /// Parts of the address in the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub url: Vec<String>,
}

/// A shared list. Its request names no query; rules and extractors read it like any answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedEntry {
    /// How long it is kept in memory before it is fetched again, in seconds: 60 to 604800 (a week).
    pub keep_s: u32,
}

/// Further pages of a hit. Rules judge the first page; `results` read all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PagesEntry {
    /// Read from each page: what leads to the next one. Without a value, the page is the last.
    pub next: Extractor,
    /// Template with `{page}`, the value of `next`. Without it the value is the address of the next
    /// page, resolved against the page's. Only the probe's own host is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// At most this many pages, the first one included: 2 to 20 (default 5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
}
