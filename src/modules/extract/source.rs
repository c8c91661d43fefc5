//! Where one value comes from: `KIND:ARGUMENT`.

use regex::Regex;
use serde_json::Value;

use super::Reading;
use crate::modules::answer::Answer;
use crate::modules::digest::Algorithm;
use crate::modules::html::{SelectorId, Selectors};
use crate::modules::mistake::Mistakes;
use crate::modules::pattern;
use crate::modules::pointer::{Key, Pointer};
use crate::modules::scope::Scope;
use crate::modules::template::{Kind, Template};

/// The most values that one source gives.
const MAX_VALUES: usize = 5_000;

/// A compiled `KIND:ARGUMENT`.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Json(Pointer),
    Css(SelectorId, Option<String>),
    Meta(String),
    JsonLd(Pointer),
    Script(Pointer),
    Regex(Regex),
    Header(String),
    Cookie(String),
    FinalUrl,
    Title,
    Template(Template),
    Const(String),
    Count(Pointer),
    BodyHash(Algorithm),
    /// The element of a list, its key, a capture group, an attribute.
    Item,
    Key,
    Group(usize),
    Attribute(String),
}

const KINDS: &str = "json, css, meta, jsonld, script, regex, header, cookie, final_url, title, template, const, count, body_hash; in `results` also value, key, group, attr";

impl Source {
    /// Reads a source's text. `in_list`: the element of a list may be read.
    pub(crate) fn compile(
        text: &str,
        in_list: bool,
        selectors: &mut Selectors,
        scope: &Scope,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let Some((kind, argument)) = text.split_once(':') else {
            mistakes.add(format!("`{text}` is no extractor; write KIND:ARGUMENT, KIND being one of {KINDS}"));
            return None;
        };
        let needs_argument = match kind {
            "css" | "meta" | "regex" | "header" | "cookie" | "template" | "body_hash" => true,
            "group" | "attr" => in_list,
            _ => false,
        };
        if needs_argument && argument.is_empty() {
            mistakes.add(format!("`{kind}:` lacks what it reads"));
            return None;
        }
        Some(match kind {
            "json" => Self::Json(mistakes.take(Pointer::parse(argument))?),
            "jsonld" => Self::JsonLd(mistakes.take(Pointer::parse(argument))?),
            "script" => Self::Script(mistakes.take(Pointer::parse(argument))?),
            "count" => Self::Count(mistakes.take(Pointer::parse(argument))?),
            "css" => {
                let (selector, attribute) = split_attribute(argument);
                let id = mistakes.take(selectors.add(selector, attribute.as_deref()))?;
                Self::Css(id, attribute)
            }
            "meta" => Self::Meta(argument.to_ascii_lowercase()),
            "regex" => Self::Regex(mistakes.take(pattern::search(argument))?),
            "header" => Self::Header(argument.to_ascii_lowercase()),
            "cookie" => Self::Cookie(argument.to_owned()),
            "body_hash" => match Algorithm::from_name(argument) {
                Some(algorithm) => Self::BodyHash(algorithm),
                None => {
                    let names = Algorithm::NAMES;
                    mistakes.add(format!("`{argument}` is no algorithm; there are {names}"));
                    return None;
                }
            },
            "final_url" => Self::FinalUrl,
            "title" => Self::Title,
            "template" => Self::Template(scope.template(argument, Kind::Plain, mistakes)?),
            "const" => Self::Const(argument.to_owned()),
            "value" if in_list => Self::Item,
            "key" if in_list => Self::Key,
            "group" if in_list => match argument.parse() {
                Ok(group) => Self::Group(group),
                Err(_) => {
                    mistakes.add(format!("`{argument}` is no number of a capture group"));
                    return None;
                }
            },
            "attr" if in_list => {
                let name = argument.to_ascii_lowercase();
                selectors.want(&name);
                Self::Attribute(name)
            }
            _ => {
                mistakes.add(format!("`{kind}:` is no extractor here; there are {KINDS}"));
                return None;
            }
        })
    }

    /// Whether it looks at the body.
    pub(crate) fn reads_body(&self) -> bool {
        matches!(
            self,
            Self::Json(_)
                | Self::Css(..)
                | Self::Meta(_)
                | Self::JsonLd(_)
                | Self::Script(_)
                | Self::BodyHash(_)
                | Self::Regex(_)
                | Self::Title
                | Self::Count(_)
        )
    }

    /// Whether title and `<meta>`s are enough of the body.
    pub(crate) fn reads_head_only(&self) -> bool {
        matches!(self, Self::Meta(_) | Self::Title)
    }

    /// Whether it may give several values by its own form.
    pub(crate) fn is_plural(&self) -> bool {
        matches!(self, Self::Json(pointer) | Self::JsonLd(pointer) | Self::Script(pointer) if pointer.is_plural())
    }

    /// The values that it finds, as they stand; null counts as none.
    pub(crate) fn read(&self, reading: &Reading<'_, '_>) -> Vec<Value> {
        match self {
            Self::Json(pointer) => root(reading).map(|root| select(pointer, root)).unwrap_or_default(),
            Self::Count(pointer) => root(reading)
                .map(|root| {
                    vec![Value::from(
                        pointer.select(root).iter().filter(|found| !found.value.is_null()).count(),
                    )]
                })
                .unwrap_or_default(),
            Self::Template(template) => texts(template.fill(&reading.values).ok()),
            Self::Const(text) => vec![Value::from(text.as_str())],
            Self::Item => reading.item.map(|item| item.value.clone().into_owned()).into_iter().collect(),
            Self::Key => reading.item.and_then(|item| key(item.key)).into_iter().collect(),
            Self::Group(group) => texts(reading.item.and_then(|item| item.groups.get(*group)?.as_deref())),
            Self::Attribute(name) => texts(reading.item.and_then(|item| item.element?.attribute(name))),
            _ => reading.answer.map(|answer| self.read_answer(answer)).unwrap_or_default(),
        }
    }

    fn read_answer(&self, answer: &Answer<'_>) -> Vec<Value> {
        match self {
            Self::Css(id, attribute) => {
                let page = answer.page();
                let read = page.elements(*id).iter().filter_map(|element| match attribute {
                    Some(name) => element.attribute(name).map(str::to_owned),
                    None => Some(page.text_of(element)),
                });
                texts(read)
            }
            Self::Meta(name) => texts(answer.page().metas(name)),
            Self::Title => texts(answer.page().title.as_deref()),
            Self::JsonLd(pointer) => {
                answer.json_ld().iter().flat_map(|object| select(pointer, object)).take(MAX_VALUES).collect()
            }
            Self::Script(pointer) => {
                answer.script(pointer).map(|root| select(pointer, root)).unwrap_or_default()
            }
            Self::BodyHash(algorithm) => answer.digest(*algorithm).into_iter().cloned().collect(),
            Self::Regex(regex) => texts(captures(regex, answer.text()).take(MAX_VALUES)),
            Self::Header(name) => {
                let headers = answer.response.headers.iter();
                texts(headers.filter(|(known, _)| known == name).map(|(_, value)| value.as_str()))
            }
            Self::Cookie(name) => texts(answer.cookie(name)),
            Self::FinalUrl => vec![Value::from(answer.response.final_url.as_str())],
            _ => Vec::new(),
        }
    }
}

/// First capture group, else the whole match, of every match.
pub(super) fn captures<'t>(regex: &Regex, text: &'t str) -> impl Iterator<Item = &'t str> {
    regex.captures_iter(text).filter_map(|found| {
        let group = if found.len() > 1 { found.get(1) } else { found.get(0) };
        group.map(|group| group.as_str())
    })
}

/// `SELECTOR@ATTRIBUTE`; an `@` inside brackets or quotes belongs to the selector.
pub(super) fn split_attribute(text: &str) -> (&str, Option<String>) {
    match text.rsplit_once('@') {
        Some((selector, attribute))
            if !attribute.is_empty()
                && attribute.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:".contains(&b)) =>
        {
            (selector.trim_end(), Some(attribute.to_ascii_lowercase()))
        }
        _ => (text, None),
    }
}

fn root<'a>(reading: &Reading<'a, '_>) -> Option<&'a Value> {
    match reading.item {
        Some(item) => Some(&item.value),
        None => reading.answer?.json(),
    }
}

fn select(pointer: &Pointer, root: &Value) -> Vec<Value> {
    let found = pointer.select(root);
    found
        .iter()
        .filter(|found| !found.value.is_null())
        .take(MAX_VALUES)
        .map(|found| found.value.clone())
        .collect()
}

fn key(key: Key<'_>) -> Option<Value> {
    match key {
        Key::Root => None,
        Key::Member(name) => Some(Value::from(name)),
        Key::Index(index) => Some(Value::from(index)),
    }
}

fn texts<T: Into<String>>(found: impl IntoIterator<Item = T>) -> Vec<Value> {
    found.into_iter().take(MAX_VALUES).map(|text| Value::String(text.into())).collect()
}
