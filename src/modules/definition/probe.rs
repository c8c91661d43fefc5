//! The types of a probe.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::result::Extractor;
use super::text::{NAME, NAME_ALLOWED};
use crate::base::words::words;
use crate::modules::template::{self, FillError, Kind, Template, Values};

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

/// A probe: one outgoing request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schemars(rename = "probe")]
pub struct Probe {
    /// The URL (a template), beginning with `https://`, `http://` or `{saved.NAME}`.
    #[serde(deserialize_with = "template::url")]
    #[schemars(
        regex(pattern = r"^(https?://|\{saved\.)"),
        extend("errorMessage" = "a URL must begin with `https://`, `http://` or `{saved.NAME}`")
    )]
    pub url: Template,
    /// The HTTP method. Default: GET.
    #[serde(default)]
    pub method: Method,
    /// The client that sends the probe. Default: `http`. A browser opens the page with GET, follows
    /// redirects, and sends none of the entry's headers. For `whois`, `url` is `http://SERVER:43/QUERY`.
    #[serde(default)]
    pub via: Via,
    /// Header names, each with a template. `User-Agent` replaces the service's own.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {
        "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
        "errorMessage": "expected ASCII letters, digits and `-`"
    }))]
    pub headers: BTreeMap<String, Template>,
    /// The names of form fields, each with its value (a template), sent as `application/x-www-form-urlencoded`.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {
        "pattern": "^[^{}]*$",
        "errorMessage": "a name is sent as it is: use all characters but `{` and `}`"
    }))]
    pub form: BTreeMap<String, Template>,
    /// A JSON body; its strings are templates.
    #[schemars(with = "Option<Value>", extend("format" = "JsonBody"))]
    pub json: Option<JsonBody>,
    /// Whether redirects are followed (at most 5). By default a redirect is itself the answer.
    #[serde(default)]
    pub follow: bool,
    /// Names, each with an extractor that reads from the answer. Later probes use the value as `{saved.NAME}`.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {"pattern": NAME, "errorMessage": NAME_ALLOWED}))]
    pub save: BTreeMap<String, Extractor>,
    /// Whether the probe is sent only if the rules reached no conclusion from the answers so far (a fallback source).
    #[serde(default)]
    pub fallback: bool,
    /// Marks a list that is the same for every query. It is fetched once and shared by all checks.
    pub feed: Option<FeedEntry>,
}

/// A JSON body, whose strings are templates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct JsonBody {
    json: Value,
    /// The templates of the strings, in order.
    pub(crate) templates: Vec<Template>,
}

impl TryFrom<Value> for JsonBody {
    type Error = String;

    fn try_from(json: Value) -> Result<Self, String> {
        let mut templates = Vec::new();
        with_texts(&json, &mut |text| {
            templates.push(Template::parse(text, Kind::Plain)?);
            Ok::<_, String>(None)
        })?;
        Ok(Self { json, templates })
    }
}

impl From<JsonBody> for Value {
    fn from(body: JsonBody) -> Self {
        body.json
    }
}

impl JsonBody {
    /// Returns the filled body, without the members and elements that contain a missing optional key.
    pub(crate) fn fill(&self, values: &Values<'_>) -> Result<Value, FillError> {
        let mut templates = self.templates.iter();
        let filled = with_texts(&self.json, &mut |_| {
            let filled = templates.next().map_or(Err(FillError::LeftOut), |template| template.fill(values));
            kept(filled)
        })?;
        filled.ok_or(FillError::LeftOut)
    }
}

/// Turns the error for a missing optional key into `None`.
pub(crate) fn kept<T>(filled: Result<T, FillError>) -> Result<Option<T>, FillError> {
    match filled {
        Err(FillError::LeftOut) => Ok(None),
        filled => filled.map(Some),
    }
}

/// Returns a JSON value with other texts in place of those in it. What contains a text without a replacement is omitted.
pub(crate) fn with_texts<E>(
    json: &Value,
    replaced: &mut impl FnMut(&str) -> Result<Option<String>, E>,
) -> Result<Option<Value>, E> {
    Ok(match json {
        Value::String(text) => replaced(text)?.map(Value::String),
        Value::Array(elements) => {
            let elements = elements.iter().filter_map(|element| with_texts(element, replaced).transpose());
            Some(Value::Array(elements.collect::<Result<_, E>>()?))
        }
        Value::Object(members) => {
            let members = members.iter().filter_map(|(name, member)| {
                let member = with_texts(member, replaced).transpose()?;
                Some(member.map(|member| (name.clone(), member)))
            });
            Some(Value::Object(members.collect::<Result<_, E>>()?))
        }
        fixed => Some(fixed.clone()),
    })
}

/// A shared list. Its request contains no part of the query. Rules and extractors read it like any answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schemars(inline)]
pub struct FeedEntry {
    /// The time for which the list is kept in memory before it is fetched again, in seconds: 60 to 604800 (a week).
    #[schemars(range(min = 60, max = 604_800), extend("errorMessage" = "expected 60 to 604800 (a week)"))]
    pub keep_s: u32,
}
