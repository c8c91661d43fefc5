//! Reads the values of sources.

use serde_json::Value;

use super::reading::Reading;
use crate::modules::answer::Answer;
use crate::modules::definition::{Reads, Source};
use crate::modules::pattern::{SearchRegex, Searches};
use crate::modules::pointer::{Key, Pointer};

/// The maximum number of values that one source gives.
const MAX_VALUES: usize = 5_000;

impl Source {
    /// Returns the values that the source finds, unchanged, without nulls.
    pub(crate) fn read(&self, reading: &Reading<'_, '_>) -> Vec<Value> {
        let root = || match reading.item {
            Some(item) => Some(&*item.value),
            None => reading.answer?.json(),
        };
        match &self.reads {
            Reads::Json(pointer) => root().map(|root| select(pointer, root)).unwrap_or_default(),
            Reads::Count(pointer) => {
                let count = |root| pointer.select(root).iter().filter(|found| !found.value.is_null()).count();
                root().map(|root| Value::from(count(root))).into_iter().collect()
            }
            Reads::Template(template) => texts(template.fill(&reading.values).ok()),
            Reads::Const(text) => vec![Value::from(text.as_str())],
            Reads::Item => reading.item.map(|item| item.value.clone().into_owned()).into_iter().collect(),
            Reads::Key => reading.item.and_then(|item| key(item.key)).into_iter().collect(),
            Reads::Group(group) => texts(reading.item.and_then(|item| item.groups.get(*group)?.as_deref())),
            _ => reading
                .answer
                .map(|answer| self.read_answer(answer, reading.values.searches))
                .unwrap_or_default(),
        }
    }

    fn read_answer(&self, answer: &Answer<'_>, searches: &Searches) -> Vec<Value> {
        match &self.reads {
            Reads::Css(selector, attribute) => texts(answer.element_texts(selector, attribute.as_deref())),
            Reads::Meta(name) => texts(answer.page().metas(name)),
            Reads::Title => texts(answer.page().title.as_deref()),
            Reads::JsonLd(pointer) => {
                answer.json_ld().iter().flat_map(|object| select(pointer, object)).take(MAX_VALUES).collect()
            }
            Reads::Script(pointer) => {
                answer.script(pointer).map(|root| select(pointer, root)).unwrap_or_default()
            }
            Reads::BodyHash(algorithm) => answer.digest(*algorithm).into_iter().cloned().collect(),
            Reads::Regex(regex) => texts(captures(regex, answer.text(), searches).take(MAX_VALUES)),
            Reads::Header(name) => {
                let headers = answer.response.headers.iter();
                texts(headers.filter(|(known, _)| known == name).map(|(_, value)| value.as_str()))
            }
            Reads::Cookie(name) => texts(answer.cookie(name)),
            Reads::FinalUrl => vec![Value::from(answer.response.final_url.as_str())],
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

fn select(pointer: &Pointer, root: &Value) -> Vec<Value> {
    let found = pointer.select(root).into_iter().filter(|found| !found.value.is_null());
    found.take(MAX_VALUES).map(|found| found.value.clone()).collect()
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
