//! The types of a probe.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::limits::{NAME, NAME_ALLOWED, is_false};
use super::result::Extractor;
use crate::base::words::words;
use crate::modules::template::{FillError, HeaderTemplate, Kind, Template, UrlTemplate, Values};

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

impl Probe {
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
#[serde(deny_unknown_fields, expecting = "an object")]
#[schemars(rename = "probe")]
pub struct Probe {
    /// The URL (a template), beginning with `https://`, `http://` or `{saved.NAME}`.
    #[schemars(
        regex(pattern = r"^(https?://|\{saved\.)"),
        extend("errorMessage" = "a URL must begin with `https://`, `http://` or `{saved.NAME}`")
    )]
    pub url: UrlTemplate,
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
    pub headers: BTreeMap<String, HeaderTemplate>,
    /// The form fields (templates), sent as `application/x-www-form-urlencoded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<BTreeMap<Template, Template>>,
    /// A JSON body; its strings are templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub json: Option<JsonBody>,
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

/// A JSON body, whose strings are templates.
#[derive(Debug, Clone)]
pub struct JsonBody {
    json: Value,
    /// The templates of the strings, in order.
    templates: Vec<Template>,
}

impl JsonBody {
    fn parse(json: Value) -> Result<Self, String> {
        let mut templates = Vec::new();
        collect_templates(&json, &mut templates)?;
        Ok(Self { json, templates })
    }

    /// Returns the templates of the strings.
    pub(crate) fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// Returns the filled body, without the members and elements that contain a missing optional key.
    pub(crate) fn fill(&self, values: &Values<'_>) -> Result<Value, FillError> {
        let filled = filled(&self.json, &mut self.templates.iter(), values)?;
        filled.ok_or(FillError::LeftOut)
    }
}

impl PartialEq for JsonBody {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl<'de> Deserialize<'de> for JsonBody {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(Value::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl Serialize for JsonBody {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(to)
    }
}

fn collect_templates(json: &Value, out: &mut Vec<Template>) -> Result<(), String> {
    match json {
        Value::String(text) => {
            out.push(Template::parse(text, Kind::Plain)?);
            Ok(())
        }
        Value::Array(elements) => elements.iter().try_for_each(|it| collect_templates(it, out)),
        Value::Object(members) => members.values().try_for_each(|it| collect_templates(it, out)),
        _ => Ok(()),
    }
}

fn filled(
    json: &Value,
    templates: &mut std::slice::Iter<'_, Template>,
    values: &Values<'_>,
) -> Result<Option<Value>, FillError> {
    Ok(Some(match json {
        Value::String(_) => match templates.next().map(|template| template.fill(values)) {
            Some(Ok(text)) => Value::String(text),
            Some(Err(FillError::LeftOut)) | None => return Ok(None),
            Some(Err(error)) => return Err(error),
        },
        Value::Array(elements) => {
            let mut kept = Vec::with_capacity(elements.len());
            for element in elements {
                kept.extend(filled(element, templates, values)?);
            }
            Value::Array(kept)
        }
        Value::Object(members) => {
            let mut kept = Map::new();
            for (name, member) in members {
                if let Some(member) = filled(member, templates, values)? {
                    kept.insert(name.clone(), member);
                }
            }
            Value::Object(kept)
        }
        fixed => fixed.clone(),
    }))
}

/// A shared list. Its request contains no part of the query. Rules and extractors read it like any answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schemars(inline)]
pub struct FeedEntry {
    /// The time for which the list is kept in memory before it is fetched again, in seconds: 60 to 604800 (a week).
    #[schemars(range(min = 60, max = 604_800), extend("errorMessage" = "allowed are 60 to 604800 (a week)"))]
    pub keep_s: u32,
}
