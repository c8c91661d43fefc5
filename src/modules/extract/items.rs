//! The elements of a list result, and those that an extractor selects from.

use std::borrow::Cow;

use serde_json::Value;

use crate::modules::answer::Answer;
use crate::modules::definition::{Each, Elements};
use crate::modules::pointer::{Key, Pointer, Selected};
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
}

impl<'a> Item<'a> {
    fn text(index: usize, text: impl Into<String>) -> Self {
        let value = Cow::Owned(Value::String(text.into()));
        Self { value, key: Key::Index(index), groups: Vec::new() }
    }
}

impl Each {
    /// Returns the elements of a response, at most 5,000. There are none if a variable of the regex has no value.
    /// `inside` is the JSON element in which to select, if it is not the whole response.
    pub(crate) fn items<'a>(
        &self,
        answer: Option<&'a Answer<'_>>,
        inside: Option<&'a Value>,
        values: &Values<'_>,
    ) -> Vec<Item<'a>> {
        let select = |pointer: &Pointer, root: &'a Value| -> Vec<Item<'a>> {
            let found = pointer.select(root).into_iter().filter(|found| !found.value.is_null());
            let item =
                |it: Selected<'a>| Item { value: Cow::Borrowed(it.value), key: it.key, groups: Vec::new() };
            found.take(MAX_ITEMS).map(item).collect()
        };
        if let (Elements::Json(pointer), Some(root)) = (&self.elements, inside) {
            return select(pointer, root);
        }
        let Some(answer) = answer else { return Vec::new() };
        let texts = |texts: &mut dyn Iterator<Item = String>| {
            texts.take(MAX_ITEMS).enumerate().map(|(index, text)| Item::text(index, text)).collect()
        };
        let lines = answer.text().lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_ITEMS);
        match &self.elements {
            Elements::Json(pointer) => answer.json().map(|root| select(pointer, root)).unwrap_or_default(),
            Elements::JsonLd(pointer) => {
                answer.json_ld().iter().flat_map(|object| select(pointer, object)).take(MAX_ITEMS).collect()
            }
            Elements::Script(pointer) => {
                answer.script(pointer).map(|root| select(pointer, root)).unwrap_or_default()
            }
            Elements::Css(selector, attribute) => {
                texts(&mut answer.element_texts(selector, attribute.as_deref()))
            }
            Elements::Regex(pattern) => {
                let Ok(regex) = pattern.regex(values) else { return Vec::new() };
                let found = regex.captures(answer.text(), values.searches).take(MAX_ITEMS).enumerate();
                let items = found.map(|(index, found)| {
                    let groups: Vec<Option<String>> =
                        found.iter().map(|group| group.map(|group| group.as_str().to_owned())).collect();
                    let chosen = groups.get(1).or(groups.first()).cloned().flatten().unwrap_or_default();
                    Item { groups, ..Item::text(index, chosen) }
                });
                items.collect()
            }
            Elements::Header(name) => {
                let headers = answer.response.headers.iter().filter(|(known, _)| known == name);
                texts(&mut headers.map(|(_, value)| value.clone()))
            }
            Elements::Lines => texts(&mut lines.map(str::to_owned)),
            Elements::JsonLines => {
                let documents = lines.filter_map(script_json::read).enumerate();
                let item = |(index, value)| Item {
                    value: Cow::Owned(value),
                    key: Key::Index(index),
                    groups: Vec::new(),
                };
                documents.map(item).collect()
            }
        }
    }
}
