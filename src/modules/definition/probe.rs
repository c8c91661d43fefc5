//! The types of a probe's request.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::limits::{NAME, NAME_ALLOWED, is_false};
use super::result::Extractor;
use crate::base::words::words;

words! {
    /// The HTTP method of a probe.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "UPPERCASE")]
    #[schemars(inline)]
    pub enum Method {
        /// A GET request, the default.
        #[default]
        Get = "GET",
        /// A HEAD request, whose answer has no body: only for rules on status and headers.
        Head = "HEAD",
        /// A POST request, which can have a body.
        Post = "POST",
        /// A PUT request, which can have a body.
        Put = "PUT",
    }
}

impl Method {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The client that sends a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Via {
    /// A plain HTTP request.
    #[default]
    Http,
    /// A page opened in a real browser. Such a module is premium.
    Browser,
    /// A WHOIS query, whose answer is a text with the status 200.
    Whois,
}

impl ProbeEntry {
    /// Returns whether redirects are followed. A browser always follows them.
    pub fn follows(&self) -> bool {
        self.follow || self.via == Via::Browser
    }
}

impl Via {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A probe: one outgoing request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "probe")]
pub struct ProbeEntry {
    /// The URL (a template), beginning with `https://`, `http://` or `{saved.NAME}`.
    #[schemars(
        regex(pattern = r"^(https?://|\{saved\.)"),
        extend("errorMessage" = "a URL must begin with `https://`, `http://` or `{saved.NAME}`")
    )]
    pub url: String,
    /// The HTTP method. Default: GET.
    #[serde(default, skip_serializing_if = "Method::is_default")]
    pub method: Method,
    /// The client that sends the probe. Default: `http`. A browser opens the page with GET, follows
    /// redirects, and sends none of the entry's headers. For `whois`, `url` is `http://SERVER:43/QUERY`.
    #[serde(default, skip_serializing_if = "Via::is_default")]
    pub via: Via,
    /// Header names, each with a template. `User-Agent` replaces the service's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = {
        "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
        "errorMessage": "allowed are ASCII letters, digits and `-`"
    }))]
    pub headers: BTreeMap<String, String>,
    /// The form fields (templates), sent as `application/x-www-form-urlencoded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<BTreeMap<String, String>>,
    /// A JSON body; its strings are templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// A text body (a template) of any other kind, such as
    /// `multipart/form-data`. `Content-Type` must be among the headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether redirects are followed (at most 5). By default a redirect is itself the answer.
    #[serde(default, skip_serializing_if = "is_false")]
    pub follow: bool,
    /// Names, each with an extractor that reads from the answer. Later probes use the value as `{saved.NAME}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = {"pattern": NAME, "errorMessage": NAME_ALLOWED}))]
    pub save: BTreeMap<String, Extractor>,
    /// Whether the probe is sent only if the rules reached no conclusion from the answers so far (a fallback source).
    #[serde(default, skip_serializing_if = "is_false")]
    pub fallback: bool,
    /// Marks a list that is the same for every query. It is fetched once and shared by all checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<FeedEntry>,
}

/// A shared list. Its request contains no part of the query. Rules and extractors read it like any answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct FeedEntry {
    /// The time for which the list is kept in memory before it is fetched again, in seconds: 60 to 604800 (a week).
    #[schemars(range(min = 60, max = 604_800), extend("errorMessage" = "allowed are 60 to 604800 (a week)"))]
    pub keep_s: u32,
}
