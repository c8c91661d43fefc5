//! Extractors, which read one or more values from a response.

use std::borrow::Cow;

use regex::Captures;
use serde_json::Value;

use super::transform;
use super::{Item, Reading};
use crate::modules::definition::{LongExtractor, MAX_VALUES, Reads, Source, Transform, as_text};
use crate::modules::html::MAX_FOUND;
use crate::modules::pattern::{SearchRegex, Searches};
use crate::modules::pointer::{Key, Pointer};
use crate::modules::script_json::{self, MAX_COST, measure};
use crate::modules::template::Values;

/// The default maximum number of values of one extractor.
const DEFAULT_LIMIT: usize = 50;
/// The maximum size of a saved value, in bytes.
const MAX_SAVED: usize = 8 * 1024;

impl LongExtractor {
    /// Returns the extractor and those inside it, the outermost first.
    pub(crate) fn levels(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |long| long.inner.as_deref())
    }

    /// Returns the sources that are read in the end.
    pub(crate) fn sources(&self) -> &[Source] {
        self.levels().last().map_or(&[], |innermost| &innermost.from)
    }

    /// Returns whether the extractor reads the body. In a list, JSON is that of the element.
    pub(crate) fn reads_body(&self, is_in_list: bool) -> bool {
        let is_of_element = |source: &Source| matches!(source.reads, Reads::Json(_) | Reads::Count(_));
        let mut sources = self.levels().flat_map(|long| long.each.iter().chain(&long.from));
        sources.any(|source| source.reads_body() && !(is_in_list && is_of_element(source)))
    }

    /// Returns whether the extracted values can contain the address of the response.
    pub(crate) fn tells_address(&self) -> bool {
        self.sources().iter().any(|source| matches!(source.reads, Reads::FinalUrl))
            || self.levels().any(|long| long.transform.contains(&Transform::AbsoluteUrl))
    }

    /// Returns the first value, or all values as an array if the extractor's definition asks for an array.
    pub(crate) fn value(&self, reading: &Reading<'_, '_>) -> Option<Value> {
        let values = self.values(reading);
        if self.gives_array() {
            return (!values.is_empty()).then_some(Value::Array(values));
        }
        values.into_iter().next()
    }

    /// Returns the first value that is a text, a number or a boolean, as trimmed text, to be saved for a later request.
    /// Returns `None` if it is empty or too long.
    pub(crate) fn saved(&self, reading: &Reading<'_, '_>) -> Option<String> {
        let values = self.values(reading);
        let text = values.iter().find_map(as_text)?;
        let text = text.trim();
        (!text.is_empty() && text.len() <= MAX_SAVED).then(|| text.to_owned())
    }

    fn gives_array(&self) -> bool {
        let mut pointers = self.from.iter().filter_map(Source::pointer);
        self.all
            || (self.each.is_none() && pointers.any(Pointer::is_plural))
            || self.inner.as_ref().is_some_and(|inner| inner.gives_array())
    }

    /// Returns all values, at most `limit`, with the transforms applied. The values are not cleaned.
    pub(crate) fn values(&self, reading: &Reading<'_, '_>) -> Vec<Value> {
        let raw = match &self.each {
            Some(each) => self.select(each, reading),
            None => first_of(&self.from, reading),
        };
        let refined = raw.into_iter().flat_map(|value| self.refine(value, reading));
        refined.take(self.limit.unwrap_or(DEFAULT_LIMIT)).collect()
    }

    /// Returns what is read from the elements that fulfil `where`.
    fn select(&self, each: &Source, reading: &Reading<'_, '_>) -> Vec<Value> {
        let mut values = Vec::new();
        for item in each.items(reading) {
            if self.filter.iter().all(|rule| rule.holds(&item.value, &reading.values)) {
                let reading = Reading { item: Some(&item), ..*reading };
                values.extend(match &self.inner {
                    Some(inner) => inner.values(&reading),
                    None => first_of(&self.from, &reading),
                });
            }
            if values.len() >= MAX_VALUES {
                break;
            }
        }
        values
    }

    /// Applies the regex, the transforms, the labels and the format, in this order.
    fn refine(&self, value: Value, reading: &Reading<'_, '_>) -> Vec<Value> {
        let mut values = match &self.regex {
            None => vec![value],
            Some(regex) => {
                let text = as_text(&value).unwrap_or_default();
                let found = regex.captures(&text, reading.values.searches).take(MAX_VALUES);
                let group = |found: Captures<'_>| {
                    let group = if found.len() > 1 { found.get(1) } else { found.get(0) };
                    group.map(|group| Value::from(group.as_str()))
                };
                found.filter_map(group).collect()
            }
        };
        let base = reading.answer.map(|answer| &answer.response.final_url);
        for transform in &self.transform {
            let elements = values.into_iter().flat_map(transform::elements);
            values = elements.map(|element| transform::apply(*transform, element, base)).collect();
        }
        let values = values.into_iter().filter(|value| !is_blank(value));
        values.filter_map(|value| self.changed(value, reading)).collect()
    }

    fn changed(&self, mut value: Value, reading: &Reading<'_, '_>) -> Option<Value> {
        if !self.labels.is_empty()
            && let Some(text) = as_text(&value)
            && let Some((_, label)) =
                self.labels.iter().find(|(regex, _)| regex.is_found(&text, reading.values.searches))
        {
            value = Value::from(label.as_str());
        }
        if let Some(format) = &self.format {
            let text = as_text(&value)?;
            let values = Values { value: Some(&text), ..reading.values };
            value = Value::from(format.fill(&values).ok()?);
        }
        Some(value)
    }
}

/// Returns the values of the first source that has one.
fn first_of(from: &[Source], reading: &Reading<'_, '_>) -> Vec<Value> {
    let mut read = from.iter().map(|source| source.items(reading));
    let found = read.find(|items| items.iter().any(|item| !is_blank(&item.value))).unwrap_or_default();
    found.into_iter().map(|item| item.value.into_owned()).collect()
}

/// Returns whether a value is null, a text of white space only, or an empty array or object.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

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
                let read = |element| page.value(element, attribute.as_deref());
                values(page.select(selector).into_iter().filter_map(read).take(MAX_FOUND))
            }
            Reads::Meta(name) => values(answer?.page().metas(name)),
            Reads::Title => values(answer?.title()),
            Reads::JsonLd(pointer) => {
                answer?.json_ld().iter().flat_map(|object| select(pointer, object)).take(MAX_ITEMS).collect()
            }
            Reads::Script(pointer) => select(pointer, answer?.script(pointer)?),
            Reads::BodyHash(algorithm) => values(answer?.digest(*algorithm)),
            Reads::Regex(pattern) => matches(&*pattern.regex(&filled).ok()?, answer?.text(), filled.searches),
            Reads::Header(name) => values(answer?.response.headers_of(name)),
            Reads::Cookie(name) => values(answer?.cookie(name)),
            Reads::FinalUrl => values([answer?.response.final_url.as_str()]),
            Reads::Lines => values(lines(answer?.text())),
            Reads::JsonLines => {
                // All lines together have the limit of one document.
                let mut cost = 0;
                values(lines(answer?.text()).filter_map(|line| {
                    cost += measure(line)?.1;
                    if cost > MAX_COST {
                        filled.searches.set_cut(true);
                        return None;
                    }
                    script_json::read(line)
                }))
            }
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
