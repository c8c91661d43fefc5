//! A compiled probe: how its request is made and what is saved from its answer.

use serde_json::{Map, Value};
use url::Url;
use url::form_urlencoded::Serializer;

use super::definition::{Method, ProbeEntry, Via};
use super::extract::Reading;
use super::extract::extractor::Extractor;
use super::html::Selectors;
use super::mistake::Mistakes;
use super::probe::{Request, Trace};
use super::scope::Scope;
use super::template::{FillError, Host, Kind, Saved, Template, Values, is_name};

/// Redirects that `follow` allows.
const MAX_REDIRECTS: u8 = 5;
/// The most bytes of a saved value.
const MAX_SAVED: usize = 8 * 1024;
/// Headers that the program sets itself.
const RESERVED: [&str; 6] =
    ["host", "content-length", "transfer-encoding", "connection", "accept-encoding", "expect"];

/// A compiled [`ProbeEntry`].
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    url: Template,
    pub(crate) host: Host,
    pub(crate) method: Method,
    pub(crate) via: Via,
    headers: Vec<(String, Template)>,
    body: Option<Body>,
    follow: bool,
    pub(crate) save: Vec<(String, Extractor)>,
    pub(crate) fallback: bool,
    /// How much of the answer's body the rules need.
    pub(crate) body_limit: usize,
    /// Rules read this answer as JSON.
    pub(crate) wants_json: bool,
}

#[derive(Debug, Clone)]
enum Body {
    Form(Vec<(Template, Template)>),
    Json(JsonBody),
    /// Its `Content-Type` stands among the headers.
    Text(Template),
}

#[derive(Debug, Clone)]
enum JsonBody {
    Fixed(Value),
    Text(Template),
    Array(Vec<JsonBody>),
    Object(Vec<(String, JsonBody)>),
}

impl Plan {
    /// Compiles a probe; `body_limit` and `wants_json` are set once the rules are known.
    pub(crate) fn compile(
        entry: &ProbeEntry,
        selectors: &mut Selectors,
        scope: &Scope,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let before = mistakes.count();
        let url = mistakes.field("url", |mistakes| {
            let url = scope.template(&entry.url, Kind::Url, mistakes)?;
            check_url(&url, mistakes);
            Some(url)
        });
        let headers = compile_headers(entry, scope, mistakes);
        let body = compile_body(entry, scope, mistakes);
        if entry.via == Via::Browser && (entry.method != Method::Get || body.is_some()) {
            mistakes.add_in("via", "a browser opens pages: method GET, no body");
        }
        let save = mistakes.field("save", |mistakes| {
            let saves = entry.save.iter().filter_map(|(name, extractor)| {
                if !is_name(name) {
                    mistakes.add(format!("`{name}` is no name; allowed are a-z, 0-9 and `_`, at most 40"));
                }
                let compiled = mistakes.field(name, |mistakes| {
                    Extractor::compile(extractor, false, selectors, scope, mistakes)
                })?;
                if compiled.probe.is_some() {
                    mistakes.add(format!("`{name}` reads the answer of its own probe: leave `probe` out"));
                }
                Some((name.clone(), compiled))
            });
            saves.collect()
        });
        let url = url?;
        (mistakes.count() == before).then(|| Self {
            host: url.host(),
            url,
            method: entry.method,
            via: entry.via,
            headers,
            body,
            follow: entry.follow,
            save,
            fallback: entry.fallback,
            body_limit: 0,
            wants_json: false,
        })
    }

    /// Fills everything in. Nothing half-filled ever leaves here.
    pub(crate) fn request(
        &self,
        values: &Values<'_>,
        user_agent: &str,
        trace: Trace,
    ) -> Result<Request, FillError> {
        let url = Url::parse(&self.url.fill(values)?).map_err(|_| FillError::Unfit)?;
        let mut headers = Vec::with_capacity(self.headers.len() + 2);
        for (name, template) in &self.headers {
            headers.push((name.clone(), template.fill(values)?));
        }
        let mut body = self.body.as_ref().map(|body| body.bytes(values)).transpose()?;
        if let Some((content_type, _)) = &mut body
            && let Some(at) = headers.iter().position(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        {
            *content_type = headers.remove(at).1;
        }
        let accept = if self.wants_json {
            "application/json, */*;q=0.8"
        } else {
            "text/html, application/xhtml+xml;q=0.9, */*;q=0.8"
        };
        for (name, value) in [("User-Agent", user_agent), ("Accept", accept)] {
            if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                headers.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(Request {
            method: self.method,
            via: self.via,
            url,
            headers,
            body,
            max_redirects: if self.follow { MAX_REDIRECTS } else { 0 },
            body_limit: self.body_limit,
            trace,
        })
    }

    /// Adds what is to be saved from this probe's answer.
    pub(crate) fn save(&self, reading: &Reading<'_, '_>, saved: &mut Saved) {
        let found: Vec<(String, String)> = self
            .save
            .iter()
            .filter_map(|(name, extractor)| {
                let text = extractor.text(reading)?;
                let text = text.trim();
                (!text.is_empty() && text.len() <= MAX_SAVED).then(|| (name.clone(), text.to_owned()))
            })
            .collect();
        saved.extend(found);
    }

    /// Keys and saved values that its request asks for.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        let mut templates = vec![&self.url];
        templates.extend(self.headers.iter().map(|(_, template)| template));
        match &self.body {
            Some(Body::Form(fields)) => {
                templates.extend(fields.iter().flat_map(|(name, value)| [name, value]));
            }
            Some(Body::Text(template)) => templates.push(template),
            Some(Body::Json(json)) => json.templates(&mut templates),
            None => {}
        }
        templates
    }
}

/// Tries the address with examples in its slots.
fn check_url(url: &Template, mistakes: &mut Mistakes) {
    let example = url.example();
    match Url::parse(&example) {
        Err(error) => mistakes.add(format!("`{example}` (filled with an example) is no URL: {error}")),
        Ok(parsed) => {
            let host = parsed.host_str().unwrap_or_default();
            if parsed.host().is_none() || (!host.contains('.') && !host.contains("example")) {
                mistakes.add(format!("`{host}` is no public host name"));
            }
        }
    }
}

fn compile_headers(entry: &ProbeEntry, scope: &Scope, mistakes: &mut Mistakes) -> Vec<(String, Template)> {
    let mut seen: Vec<String> = Vec::new();
    mistakes.field("headers", |mistakes| {
        let headers = entry.headers.iter().filter_map(|(name, text)| {
            let lower = name.to_ascii_lowercase();
            if !is_token(name) {
                mistakes.add(format!("`{name}` is no header name"));
            }
            if RESERVED.contains(&lower.as_str()) {
                mistakes.add(format!("`{name}` is set by the program"));
            }
            if seen.contains(&lower) {
                mistakes.add(format!("`{name}` stands twice; upper and lower case are the same"));
            }
            seen.push(lower);
            mistakes.field(name, |mistakes| {
                let template = scope.template(text, Kind::Header, mistakes)?;
                if template.texts().any(|text| text.chars().any(|c| c.is_control() || !c.is_ascii())) {
                    mistakes.add("a header value holds printable ASCII only");
                }
                Some((name.clone(), template))
            })
        });
        headers.collect()
    })
}

/// A token of RFC 9110.
fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn compile_body(entry: &ProbeEntry, scope: &Scope, mistakes: &mut Mistakes) -> Option<Body> {
    let given = [entry.form.is_some(), entry.json.is_some(), entry.text.is_some()];
    let count = given.iter().filter(|is_given| **is_given).count();
    if count > 1 {
        mistakes.add("`form`, `json` and `text` exclude each other: one body a probe");
    }
    let takes_body = matches!(entry.method, Method::Post | Method::Put);
    if count > 0 && !takes_body {
        mistakes.add_in("method", format!("{} has no body; say POST or PUT", entry.method.as_str()));
    }
    if let Some(form) = &entry.form {
        return mistakes.field("form", |mistakes| {
            let fields = form.iter().filter_map(|(name, value)| {
                mistakes.field(name, |mistakes| {
                    let name = scope.template(name, Kind::Plain, mistakes)?;
                    Some((name, scope.template(value, Kind::Plain, mistakes)?))
                })
            });
            Some(Body::Form(fields.collect()))
        });
    }
    if let Some(json) = &entry.json {
        return mistakes.field("json", |mistakes| JsonBody::compile(json, scope, mistakes).map(Body::Json));
    }
    let text = entry.text.as_deref()?;
    let content_type = entry.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let Some((_, content_type)) = content_type else {
        mistakes.add_in("text", "say its `Content-Type` among the headers");
        return None;
    };
    let template =
        mistakes.field("text", |mistakes| scope.template(text, kind_of(content_type), mistakes))?;
    Some(Body::Text(template))
}

/// How values are escaped in a text body of that type.
fn kind_of(content_type: &str) -> Kind {
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if media_type.ends_with("json") || media_type.ends_with("javascript") {
        Kind::Json
    } else if media_type.ends_with("xml") {
        Kind::Xml
    } else if media_type == "application/x-www-form-urlencoded" {
        Kind::Form
    } else {
        Kind::Plain
    }
}

impl Body {
    fn bytes(&self, values: &Values<'_>) -> Result<(String, Vec<u8>), FillError> {
        Ok(match self {
            Self::Form(fields) => {
                let mut form = Serializer::new(String::new());
                for (name, value) in fields {
                    form.append_pair(&name.fill(values)?, &value.fill(values)?);
                }
                ("application/x-www-form-urlencoded".into(), form.finish().into_bytes())
            }
            Self::Json(json) => ("application/json".into(), json.fill(values)?.to_string().into_bytes()),
            Self::Text(text) => ("text/plain; charset=utf-8".into(), text.fill(values)?.into_bytes()),
        })
    }
}

impl JsonBody {
    fn compile(value: &Value, scope: &Scope, mistakes: &mut Mistakes) -> Option<Self> {
        Some(match value {
            Value::String(text) => Self::Text(scope.template(text, Kind::Plain, mistakes)?),
            Value::Array(elements) => {
                let mut compiled = Vec::new();
                for (index, element) in elements.iter().enumerate() {
                    compiled
                        .push(mistakes.element(index, |mistakes| Self::compile(element, scope, mistakes))?);
                }
                Self::Array(compiled)
            }
            Value::Object(members) => {
                let mut compiled = Vec::new();
                for (name, member) in members {
                    let member = mistakes.field(name, |mistakes| Self::compile(member, scope, mistakes))?;
                    compiled.push((name.clone(), member));
                }
                Self::Object(compiled)
            }
            fixed => Self::Fixed(fixed.clone()),
        })
    }

    fn fill(&self, values: &Values<'_>) -> Result<Value, FillError> {
        Ok(match self {
            Self::Fixed(value) => value.clone(),
            Self::Text(template) => Value::String(template.fill(values)?),
            Self::Array(elements) => {
                Value::Array(elements.iter().map(|element| element.fill(values)).collect::<Result<_, _>>()?)
            }
            Self::Object(members) => {
                let mut filled = Map::new();
                for (name, member) in members {
                    filled.insert(name.clone(), member.fill(values)?);
                }
                Value::Object(filled)
            }
        })
    }

    fn templates<'t>(&'t self, out: &mut Vec<&'t Template>) {
        match self {
            Self::Fixed(_) => {}
            Self::Text(template) => out.push(template),
            Self::Array(elements) => elements.iter().for_each(|element| element.templates(out)),
            Self::Object(members) => members.iter().for_each(|(_, member)| member.templates(out)),
        }
    }
}
