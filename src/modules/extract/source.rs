//! The source of one value, written as `KIND:ARGUMENT`.

use serde_json::Value;

use super::attribute::split_attribute;
use super::reading::Reading;
use crate::modules::answer::Answer;
use crate::modules::definition::EXTRACTOR_KINDS;
use crate::modules::digest::Algorithm;
use crate::modules::html::{SelectorId, Selectors};
use crate::modules::mistake::Mistakes;
use crate::modules::pattern::{self, SearchRegex, Searches};
use crate::modules::pointer::{Key, Pointer};
use crate::modules::scope::Scope;
use crate::modules::template::{Kind, Template};

/// The maximum number of values that one source gives.
const MAX_VALUES: usize = 5_000;

/// A compiled source, written as `KIND:ARGUMENT`.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Json(Pointer),
    Css(SelectorId, Option<String>),
    Meta(String),
    JsonLd(Pointer),
    Script(Pointer),
    Regex(SearchRegex),
    Header(String),
    Cookie(String),
    FinalUrl,
    Title,
    Template(Template),
    Const(String),
    Count(Pointer),
    BodyHash(Algorithm),
    /// The current element of a list. The variants below are its key, a capture group and an attribute.
    Item,
    Key,
    Group(usize),
    Attribute(String),
}

impl Source {
    /// Parses the text of a source. `in_list` says whether it may read the element of a list.
    pub(crate) fn compile(
        text: &str,
        in_list: bool,
        selectors: &mut Selectors,
        scope: &Scope,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let no_kind = || {
            format!(
                "`{text}` is not a valid extractor; write KIND:ARGUMENT, where KIND is one of {EXTRACTOR_KINDS}"
            )
        };
        let (kind, argument) = mistakes.take(text.split_once(':').ok_or_else(no_kind))?;
        let needs_argument = match kind {
            "css" | "meta" | "regex" | "header" | "cookie" | "template" | "body_hash" => true,
            "group" | "attr" => in_list,
            _ => false,
        };
        if needs_argument && argument.is_empty() {
            mistakes.add(format!("`{kind}:` lacks its argument"));
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
            "regex" => Self::Regex(pattern::read_search(argument, mistakes)?),
            "header" => Self::Header(argument.to_ascii_lowercase()),
            "cookie" => Self::Cookie(argument.to_owned()),
            "body_hash" => {
                let unknown = || {
                    let known = Algorithm::ALL.map(Algorithm::as_str).join(", ");
                    format!("`{argument}` is not a known algorithm; allowed are {known}")
                };
                Self::BodyHash(mistakes.take(Algorithm::from_name(argument).ok_or_else(unknown))?)
            }
            "final_url" => Self::FinalUrl,
            "title" => Self::Title,
            "template" => Self::Template(scope.template(argument, Kind::Plain, mistakes)?),
            "const" => Self::Const(argument.to_owned()),
            "value" if in_list => Self::Item,
            "key" if in_list => Self::Key,
            "group" if in_list => {
                let refused = |_| format!("`{argument}` is not the number of a capture group");
                Self::Group(mistakes.take(argument.parse().map_err(refused))?)
            }
            "attr" if in_list => {
                let name = argument.to_ascii_lowercase();
                selectors.want(&name);
                Self::Attribute(name)
            }
            _ => {
                mistakes.add(format!(
                    "`{kind}:` is not an extractor that is allowed here; allowed are {EXTRACTOR_KINDS}"
                ));
                return None;
            }
        })
    }

    /// Returns whether the source reads the body.
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

    /// Returns whether the source reads only the title and the `<meta>` elements of the body.
    pub(crate) fn reads_head_only(&self) -> bool {
        matches!(self, Self::Meta(_) | Self::Title)
    }

    /// Returns whether the source can give several values by its syntax.
    pub(crate) fn is_plural(&self) -> bool {
        matches!(self, Self::Json(pointer) | Self::JsonLd(pointer) | Self::Script(pointer) if pointer.is_plural())
    }

    /// Returns the values that the source finds, unchanged, without nulls.
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
            _ => reading
                .answer
                .map(|answer| self.read_answer(answer, reading.values.searches))
                .unwrap_or_default(),
        }
    }

    fn read_answer(&self, answer: &Answer<'_>, searches: &Searches) -> Vec<Value> {
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
            Self::Regex(regex) => texts(captures(regex, answer.text(), searches).take(MAX_VALUES)),
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

/// Returns the first capture group of every match, or the whole match if the regex has no groups.
pub(super) fn captures<'t>(
    regex: &SearchRegex,
    text: &'t str,
    searches: &Searches,
) -> impl Iterator<Item = &'t str> {
    regex.captures(text, searches).filter_map(|found| {
        let group = if found.len() > 1 { found.get(1) } else { found.get(0) };
        group.map(|group| group.as_str())
    })
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
