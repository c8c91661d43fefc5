//! The body of a probe's request.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use url::form_urlencoded::Serializer;

use crate::modules::definition::{Method, ProbeEntry};
use crate::modules::mistake::Mistakes;
use crate::modules::scope::Scope;
use crate::modules::template::{FillError, Kind, Template, Values};

/// The compiled body of a request.
#[derive(Debug, Clone)]
pub(super) enum Body {
    Form(Vec<Field>),
    Json(JsonBody),
    /// A text body. Its `Content-Type` is one of the probe's headers.
    Text(Template),
}

/// The name and the value of a form field.
type Field = (Template, Template);

#[derive(Debug, Clone)]
pub(super) enum JsonBody {
    Fixed(Value),
    Text(Template),
    Array(Vec<JsonBody>),
    Object(Vec<(String, JsonBody)>),
}

/// Compiles the body of a probe's request.
pub(super) fn compile(entry: &ProbeEntry, scope: &Scope, mistakes: &mut Mistakes) -> Option<Body> {
    let given = [entry.form.is_some(), entry.json.is_some(), entry.text.is_some()];
    let count = given.iter().filter(|is_given| **is_given).count();
    if count > 1 {
        mistakes.add("`form`, `json` and `text` exclude each other: a probe has one body");
    }
    let takes_body = matches!(entry.method, Method::Post | Method::Put);
    if count > 0 && !takes_body {
        mistakes.add_in("method", format!("{} has no body; use POST or PUT", entry.method.as_str()));
    }
    if let Some(form) = &entry.form {
        return mistakes.field("form", |mistakes| Some(Body::Form(fields(form, scope, mistakes))));
    }
    if let Some(json) = &entry.json {
        return mistakes.field("json", |mistakes| JsonBody::compile(json, scope, mistakes).map(Body::Json));
    }
    let text = entry.text.as_deref()?;
    let content_type = entry.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let Some((_, content_type)) = content_type else {
        mistakes.add_in("text", "add a `Content-Type` header");
        return None;
    };
    let template =
        mistakes.field("text", |mistakes| scope.template(text, kind_of(content_type), mistakes))?;
    if template.is_optional() {
        mistakes.add_in(
            "text",
            "a key that may be missing (`{config.NAME?}`) is not allowed here: nothing can be left out of a text",
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

/// Returns the filled fields, without those that contain a missing optional key.
fn filled(fields: &[Field], values: &Values<'_>) -> Result<Vec<(String, String)>, FillError> {
    let fill = |(name, value): &Field| Ok((name.fill(values)?, value.fill(values)?));
    fields.iter().filter_map(|field| kept(fill(field))).collect()
}

/// Turns the error for a missing optional key into `None`.
fn kept<T>(result: Result<T, FillError>) -> Option<Result<T, FillError>> {
    match result {
        Err(FillError::LeftOut) => None,
        result => Some(result),
    }
}

/// Returns how values are escaped in a text body of the given content type.
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
    /// Adds every template of the body to `out`.
    pub(super) fn templates<'t>(&'t self, out: &mut Vec<&'t Template>) {
        match self {
            Self::Form(fields) => out.extend(fields.iter().flat_map(|(name, value)| [name, value])),
            Self::Text(template) => out.push(template),
            Self::Json(json) => json.templates(out),
        }
    }

    /// Returns the `Content-Type` and the bytes of the body.
    pub(super) fn bytes(&self, values: &Values<'_>) -> Result<(String, Vec<u8>), FillError> {
        Ok(match self {
            Self::Form(fields) => {
                let mut form = Serializer::new(String::new());
                form.extend_pairs(filled(fields, values)?);
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
