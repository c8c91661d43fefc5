//! The elements of a list result.

use std::borrow::Cow;

use serde_json::Value;

use super::attribute::split_attribute;
use crate::modules::answer::Answer;
use crate::modules::html::{Element, SelectorId, Selectors};
use crate::modules::mistake::Mistakes;
use crate::modules::pattern::Pattern;
use crate::modules::pointer::{Key, Pointer};
use crate::modules::scope::Scope;
use crate::modules::script_json;
use crate::modules::template::Values;

/// The maximum number of elements that are read, before filters.
pub(super) const MAX_ITEMS: usize = 5_000;

/// One element of a list result.
#[derive(Debug, Clone)]
pub(crate) struct Item<'a> {
    pub(crate) value: Cow<'a, Value>,
    pub(crate) key: Key<'a>,
    /// The capture groups, with the whole match first.
    pub(crate) groups: Vec<Option<String>>,
    pub(crate) element: Option<&'a Element>,
}

impl<'a> Item<'a> {
    /// Returns an element for a JSON value.
    pub(crate) fn json(value: &'a Value, key: Key<'a>) -> Self {
        Self { value: Cow::Borrowed(value), key, groups: Vec::new(), element: None }
    }

    fn text(text: impl Into<String>, index: usize) -> Self {
        let value = Cow::Owned(Value::String(text.into()));
        Self { value, key: Key::Index(index), groups: Vec::new(), element: None }
    }
}

/// The compiled `each` field of a list result, which selects its elements.
#[derive(Debug, Clone)]
pub(crate) enum Each {
    Json(Pointer),
    JsonLd(Pointer),
    Script(Pointer),
    Css(SelectorId, Option<String>),
    Regex(Pattern),
    Header(String),
    Lines,
    JsonLines,
}

impl Each {
    /// Parses the text of an `each`.
    pub(crate) fn compile(
        text: &str,
        selectors: &mut Selectors,
        scope: &Scope,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let (kind, argument) = text.split_once(':').unwrap_or((text, ""));
        Some(match kind {
            "json" => Self::Json(mistakes.take(Pointer::parse(argument))?),
            "jsonld" => Self::JsonLd(mistakes.take(Pointer::parse(argument))?),
            "script" => Self::Script(mistakes.take(Pointer::parse(argument))?),
            "css" => {
                let (selector, attribute) = split_attribute(argument);
                Self::Css(mistakes.take(selectors.add(selector, attribute.as_deref()))?, attribute)
            }
            "regex" => Self::Regex(scope.pattern(argument, mistakes)?),
            "header" if !argument.is_empty() => Self::Header(argument.to_ascii_lowercase()),
            "lines" if argument.is_empty() => Self::Lines,
            "json_lines" if argument.is_empty() => Self::JsonLines,
            _ => {
                mistakes.add(format!(
                    "`{text}` gives no elements; write json:/POINTER/*, jsonld:/POINTER, script:/POINTER/*, css:SELECTOR, regex:PATTERN, header:NAME, lines: or json_lines:"
                ));
                return None;
            }
        })
    }

    /// Returns the number of capture groups of each element, or `None` if the elements have no groups.
    pub(crate) fn groups(&self) -> Option<usize> {
        match self {
            Self::Regex(pattern) => pattern.groups(),
            _ => None,
        }
    }

    /// Returns whether the elements are JSON values of any type, not texts.
    pub(crate) fn gives_json(&self) -> bool {
        matches!(self, Self::Json(_) | Self::JsonLd(_) | Self::Script(_) | Self::JsonLines)
    }

    /// Returns whether the elements are HTML elements.
    pub(crate) fn gives_elements(&self) -> bool {
        matches!(self, Self::Css(..))
    }

    /// Returns the elements of a response, at most 5,000. There are none if a variable of the regex has no value.
    pub(crate) fn items<'a>(&self, answer: &'a Answer<'_>, values: &Values<'_>) -> Vec<Item<'a>> {
        match self {
            Self::Json(pointer) => answer.json().map(|root| select(pointer, root)).unwrap_or_default(),
            Self::JsonLd(pointer) => {
                answer.json_ld().iter().flat_map(|object| select(pointer, object)).take(MAX_ITEMS).collect()
            }
            Self::Script(pointer) => {
                answer.script(pointer).map(|root| select(pointer, root)).unwrap_or_default()
            }
            Self::Css(id, attribute) => {
                let page = answer.page();
                let read = page.elements(*id).iter().enumerate().filter_map(|(index, element)| {
                    let text = match attribute {
                        Some(name) => element.attribute(name)?.to_owned(),
                        None => page.text_of(element),
                    };
                    Some(Item { element: Some(element), ..Item::text(text, index) })
                });
                read.collect()
            }
            Self::Regex(pattern) => {
                let Ok(regex) = pattern.regex(values) else { return Vec::new() };
                let found = regex.captures(answer.text(), values.searches).take(MAX_ITEMS).enumerate();
                let items = found.map(|(index, found)| {
                    let groups: Vec<Option<String>> =
                        found.iter().map(|group| group.map(|group| group.as_str().to_owned())).collect();
                    let chosen = groups.get(1).or(groups.first()).cloned().flatten().unwrap_or_default();
                    Item { groups, ..Item::text(chosen, index) }
                });
                items.collect()
            }
            Self::Header(name) => {
                let headers = answer.response.headers.iter().filter(|(known, _)| known == name);
                headers.enumerate().map(|(index, (_, value))| Item::text(value.as_str(), index)).collect()
            }
            Self::Lines => lines(answer).enumerate().map(|(index, line)| Item::text(line, index)).collect(),
            Self::JsonLines => lines(answer)
                .filter_map(script_json::read)
                .enumerate()
                .map(|(index, value)| {
                    let key = Key::Index(index);
                    Item { value: Cow::Owned(value), key, groups: Vec::new(), element: None }
                })
                .collect(),
        }
    }
}

fn lines<'a>(answer: &'a Answer<'_>) -> impl Iterator<Item = &'a str> {
    answer.text().lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_ITEMS)
}

fn select<'a>(pointer: &Pointer, root: &'a Value) -> Vec<Item<'a>> {
    let found = pointer.select(root).into_iter().filter(|found| !found.value.is_null());
    found.take(MAX_ITEMS).map(|found| Item::json(found.value, found.key)).collect()
}
