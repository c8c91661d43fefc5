//! Reads what sources find in an answer.

use std::borrow::Cow;

use serde_json::Value;

use super::{Item, Reading};
use crate::modules::answer::Answer;
use crate::modules::definition::{Reads, Source};
use crate::modules::pattern::{SearchRegex, Searches};
use crate::modules::pointer::{Key, Pointer};
use crate::modules::script_json;
use crate::modules::template::Values;

/// The maximum number of items that a source gives, before filters.
pub(super) const MAX_ITEMS: usize = 5_000;

impl Source {
    /// Returns what the source finds, without nulls, at most 5,000 items. There are none if a variable has no value.
    pub(crate) fn items<'a>(&self, reading: &Reading<'a, '_>) -> Vec<Item<'a>> {
        let root = || match reading.item {
            Some(item) => Some(&*item.value),
            None => reading.answer?.json(),
        };
        match &self.reads {
            Reads::Json(pointer) => root().map(|root| select(pointer, root)).unwrap_or_default(),
            Reads::Count(pointer) => {
                let count = |root| pointer.select(root).iter().filter(|found| !found.value.is_null()).count();
                values(root().map(count))
            }
            Reads::Template(template) => values(template.fill(&reading.values).ok()),
            Reads::Const(text) => values([text.as_str()]),
            Reads::Item => reading.item.cloned().into_iter().collect(),
            Reads::Key => match reading.item.map(|item| item.key) {
                Some(Key::Member(name)) => values([name]),
                Some(Key::Index(index)) => values([index]),
                Some(Key::Root) | None => Vec::new(),
            },
            Reads::Group(group) => values(reading.item.and_then(|item| item.groups.get(*group)?.as_deref())),
            _ => reading.answer.map(|answer| self.items_of(answer, &reading.values)).unwrap_or_default(),
        }
    }

    fn items_of<'a>(&self, answer: &'a Answer<'_>, filled: &Values<'_>) -> Vec<Item<'a>> {
        let lines = || answer.text().lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_ITEMS);
        match &self.reads {
            Reads::Css(selector, attribute) => values(answer.element_texts(selector, attribute.as_deref())),
            Reads::Meta(name) => values(answer.page().metas(name)),
            Reads::Title => values(answer.page().title.as_deref()),
            Reads::JsonLd(pointer) => {
                answer.json_ld().iter().flat_map(|object| select(pointer, object)).take(MAX_ITEMS).collect()
            }
            Reads::Script(pointer) => {
                answer.script(pointer).map(|root| select(pointer, root)).unwrap_or_default()
            }
            Reads::BodyHash(algorithm) => values(answer.digest(*algorithm)),
            Reads::Regex(regex) => matches(regex, answer.text(), filled.searches),
            Reads::Matches(pattern) => {
                let regex = pattern.regex(filled);
                regex.map(|regex| matches(&regex, answer.text(), filled.searches)).unwrap_or_default()
            }
            Reads::Header(name) => {
                let headers = answer.response.headers.iter();
                values(headers.filter(|(known, _)| known == name).map(|(_, value)| value.as_str()))
            }
            Reads::Cookie(name) => values(answer.cookie(name)),
            Reads::FinalUrl => values([answer.response.final_url.as_str()]),
            Reads::Lines => values(lines()),
            Reads::JsonLines => values(lines().filter_map(script_json::read)),
            _ => Vec::new(),
        }
    }
}

/// Returns items with the given values, numbered in order.
fn values<'a, T: Into<Value>>(found: impl IntoIterator<Item = T>) -> Vec<Item<'a>> {
    let found = found.into_iter().take(MAX_ITEMS).enumerate();
    let item = |(index, value): (_, T)| Item {
        value: Cow::Owned(value.into()),
        key: Key::Index(index),
        groups: Vec::new(),
    };
    found.map(item).collect()
}

/// Returns every match, with the first capture group as its value, or the whole match if the regex has no groups.
fn matches<'a>(regex: &SearchRegex, text: &str, searches: &Searches) -> Vec<Item<'a>> {
    let found = regex.captures(text, searches).take(MAX_ITEMS).enumerate();
    let item = |(index, found): (_, regex::Captures<'_>)| {
        let groups: Vec<Option<String>> =
            found.iter().map(|group| group.map(|group| group.as_str().to_owned())).collect();
        let chosen = groups.get(1).or(groups.first()).cloned().flatten();
        Item { value: Cow::Owned(chosen.unwrap_or_default().into()), key: Key::Index(index), groups }
    };
    found.map(item).collect()
}

fn select<'a>(pointer: &Pointer, root: &'a Value) -> Vec<Item<'a>> {
    let found = pointer.select(root).into_iter().filter(|found| !found.value.is_null()).take(MAX_ITEMS);
    found.map(|it| Item { value: Cow::Borrowed(it.value), key: it.key, groups: Vec::new() }).collect()
}
