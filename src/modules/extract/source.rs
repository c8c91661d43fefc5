//! Reads what sources find in an answer.

use std::borrow::Cow;

use serde_json::Value;

use super::{Item, Reading};
use crate::modules::definition::{Reads, Source};
use crate::modules::pattern::{SearchRegex, Searches};
use crate::modules::pointer::{Key, Pointer};
use crate::modules::script_json;

/// The maximum number of items that a source gives, before filters.
pub(super) const MAX_ITEMS: usize = 5_000;

impl Source {
    /// Returns what the source finds, without nulls, at most 5,000 items. There are none if a variable has no value.
    pub(crate) fn items<'a>(&self, reading: &Reading<'a, '_>) -> Vec<Item<'a>> {
        self.read(reading).unwrap_or_default()
    }

    fn read<'a>(&self, reading: &Reading<'a, '_>) -> Option<Vec<Item<'a>>> {
        let Reading { answer, values: filled, item } = *reading;
        let root = || match item {
            Some(item) => Some(&*item.value),
            None => answer?.json(),
        };
        let lines =
            |text: &'a str| text.lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_ITEMS);
        Some(match &self.reads {
            Reads::Json(pointer) => select(pointer, root()?),
            Reads::Count(pointer) => {
                values([pointer.select(root()?).iter().filter(|found| !found.value.is_null()).count()])
            }
            Reads::Template(template) => values(template.fill(&filled).ok()),
            Reads::Const(text) => values([text.as_str()]),
            Reads::Item => vec![item?.clone()],
            Reads::Key => match item?.key {
                Key::Member(name) => values([name]),
                Key::Index(index) => values([index]),
                Key::Root => Vec::new(),
            },
            Reads::Group(group) => values(item?.groups.get(*group)?.as_deref()),
            Reads::Css(selector, attribute) => {
                let page = answer?.page();
                let found = page.select(selector).into_iter();
                values(found.filter_map(|element| page.value(element, attribute.as_deref())))
            }
            Reads::Meta(name) => values(answer?.page().metas(name)),
            Reads::Title => values(answer?.title()),
            Reads::JsonLd(pointer) => {
                answer?.json_ld().iter().flat_map(|object| select(pointer, object)).take(MAX_ITEMS).collect()
            }
            Reads::Script(pointer) => select(pointer, answer?.script(pointer)?),
            Reads::BodyHash(algorithm) => values(answer?.digest(*algorithm)),
            Reads::Regex(pattern) => matches(&*pattern.regex(&filled).ok()?, answer?.text(), filled.searches),
            Reads::Header(name) => {
                let headers = answer?.response.headers.iter();
                values(headers.filter(|(known, _)| known == name).map(|(_, value)| value.as_str()))
            }
            Reads::Cookie(name) => values(answer?.cookie(name)),
            Reads::FinalUrl => values([answer?.response.final_url.as_str()]),
            Reads::Lines => values(lines(answer?.text())),
            Reads::JsonLines => values(lines(answer?.text()).filter_map(script_json::read)),
        })
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
