//! What a probe sends in its body.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use url::form_urlencoded::Serializer;

use super::multipart;
use crate::modules::definition::{Method, ProbeEntry};
use crate::modules::mistake::Mistakes;
use crate::modules::scope::Scope;
use crate::modules::template::{FillError, Kind, Template, Values};

/// A compiled body.
#[derive(Debug, Clone)]
pub(super) enum Body {
    Form(Vec<Field>),
    Multipart(Vec<Field>),
    Json(JsonBody),
    /// Its `Content-Type` stands among the headers.
    Text(Template),
}

/// Name and value.
type Field = (Template, Template);

#[derive(Debug, Clone)]
pub(super) enum JsonBody {
    Fixed(Value),
    Text(Template),
    Array(Vec<JsonBody>),
    Object(Vec<(String, JsonBody)>),
}

/// Compiles what a probe sends in its body.
pub(super) fn compile(entry: &ProbeEntry, scope: &Scope, mistakes: &mut Mistakes) -> Option<Body> {
    let given = [entry.form.is_some(), entry.multipart.is_some(), entry.json.is_some(), entry.text.is_some()];
    let count = given.iter().filter(|is_given| **is_given).count();
    if count > 1 {
        mistakes.add("`form`, `multipart`, `json` and `text` exclude each other: one body a probe");
    }
    let takes_body = matches!(entry.method, Method::Post | Method::Put);
    if count > 0 && !takes_body {
        mistakes.add_in("method", format!("{} has no body; say POST or PUT", entry.method.as_str()));
    }
    if let Some(form) = &entry.form {
        return mistakes.field("form", |mistakes| Some(Body::Form(fields(form, scope, mistakes))));
    }
    if let Some(form) = &entry.multipart {
        if entry.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type")) {
            mistakes.add_in("headers", "the `Content-Type` of `multipart` is set by the program");
        }
        return mistakes.field("multipart", |mistakes| Some(Body::Multipart(fields(form, scope, mistakes))));
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
    if template.is_optional() {
        mistakes.add_in(
            "text",
            "a key that may be missing (`{config.NAME?}`) has no place here: nothing can be left out of a text",
        );
    }
    Some(Body::Text(template))
}

fn fields(form: &BTreeMap<String, String>, scope: &Scope, mistakes: &mut Mistakes) -> Vec<Field> {
    let fields = form.iter().filter_map(|(name, value)| {
        mistakes.field(name, |mistakes| {
            let name = scope.template(name, Kind::Plain, mistakes)?;
            Some((name, scope.template(value, Kind::Plain, mistakes)?))
        })
    });
    fields.collect()
}

/// The filled fields, without those that hold a missing optional key.
fn filled(fields: &[Field], values: &Values<'_>) -> Result<Vec<(String, String)>, FillError> {
    let fill = |(name, value): &Field| Ok((name.fill(values)?, value.fill(values)?));
    fields.iter().filter_map(|field| kept(fill(field))).collect()
}

/// What is left out is no error here.
fn kept<T>(result: Result<T, FillError>) -> Option<Result<T, FillError>> {
    match result {
        Err(FillError::LeftOut) => None,
        result => Some(result),
    }
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
    /// Every template in it.
    pub(super) fn templates<'t>(&'t self, out: &mut Vec<&'t Template>) {
        match self {
            Self::Form(fields) | Self::Multipart(fields) => {
                out.extend(fields.iter().flat_map(|(name, value)| [name, value]));
            }
            Self::Text(template) => out.push(template),
            Self::Json(json) => json.templates(out),
        }
    }

    /// Its `Content-Type`, and the bytes.
    pub(super) fn bytes(&self, values: &Values<'_>) -> Result<(String, Vec<u8>), FillError> {
        Ok(match self {
            Self::Form(fields) => {
                let mut form = Serializer::new(String::new());
                form.extend_pairs(filled(fields, values)?);
                ("application/x-www-form-urlencoded".into(), form.finish().into_bytes())
            }
            Self::Multipart(fields) => multipart::write(&filled(fields, values)?),
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
                let filled = elements.iter().filter_map(|element| kept(element.fill(values)));
                Value::Array(filled.collect::<Result<_, _>>()?)
            }
            Self::Object(members) => {
                let mut filled = Map::new();
                for (name, member) in members {
                    if let Some(member) = kept(member.fill(values)) {
                        filled.insert(name.clone(), member?);
                    }
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
