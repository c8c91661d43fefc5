//! A value, or several, from an answer.

use regex::Regex;
use serde_json::Value;

use super::Reading;
use super::items::Item;
use super::source::{Source, captures};
use super::transform;
use crate::modules::definition::{Extractor as Entry, LongExtractor, Transform};
use crate::modules::html::Selectors;
use crate::modules::mistake::Mistakes;
use crate::modules::pattern;
use crate::modules::pointer::Pointer;
use crate::modules::rule::json::{JsonMatcher, as_text};
use crate::modules::scope::Scope;
use crate::modules::template::{Kind, Template};

/// Values of one extractor, unless it says otherwise.
const DEFAULT_LIMIT: usize = 50;
/// The most that it may say.
pub(crate) const MAX_LIMIT: usize = 1_000;

/// A compiled extractor.
#[derive(Debug, Clone)]
pub(crate) struct Extractor {
    /// Which probe's answer; `None`: the last one that was obtained.
    pub(crate) probe: Option<usize>,
    from: Vec<Source>,
    /// Elements to choose from; `from` is then relative to each.
    each: Option<Pointer>,
    filter: Vec<JsonMatcher>,
    regex: Option<Regex>,
    transforms: Vec<Transform>,
    labels: Vec<(Regex, String)>,
    format: Option<Template>,
    gives_array: bool,
    limit: usize,
}

impl Extractor {
    /// Compiles an extractor; `None` after noting what is wrong.
    pub(crate) fn compile(
        entry: &Entry,
        in_list: bool,
        selectors: &mut Selectors,
        scope: &Scope,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let before = mistakes.count();
        let long = match entry {
            Entry::Short(text) => {
                let source = Source::compile(text, in_list, selectors, scope, mistakes)?;
                let gives_array = source.is_plural();
                return Some(Self { gives_array, ..Self::plain(source) });
            }
            Entry::Long(long) => long,
        };
        if long.from.is_empty() {
            mistakes.add_in("from", "it is empty; name at least one KIND:ARGUMENT");
        }
        if matches!(long.limit, Some(0)) || long.limit.is_some_and(|limit| limit > MAX_LIMIT) {
            mistakes.add_in("limit", format!("allowed are 1 to {MAX_LIMIT}"));
        }
        scope.check_probe(long.probe, mistakes);
        if in_list && long.probe.is_some() {
            mistakes.add_in("probe", "inside `results` the list's own `probe` counts");
        }
        let is_chosen = long.each.is_some() || !long.filter.is_empty();
        let from = mistakes.list("from", &long.from, |mistakes, text| {
            Source::compile(text, in_list || long.each.is_some(), selectors, scope, mistakes)
        });
        let (each, from) = choose(long, from, mistakes);
        let gives_array = long.all || (!is_chosen && from.iter().any(Source::is_plural));
        let filter = mistakes
            .list("where", &long.filter, |mistakes, rule| JsonMatcher::compile(rule, scope, mistakes));
        let compiled = Self {
            probe: long.probe,
            each,
            filter,
            regex: long
                .regex
                .as_ref()
                .and_then(|text| mistakes.field("regex", |mistakes| mistakes.take(pattern::search(text)))),
            transforms: long.transform.clone(),
            labels: mistakes.list("labels", &long.labels, |mistakes, (text, label)| {
                Some((mistakes.take(pattern::search(text))?, label.clone()))
            }),
            format: long.format.as_ref().and_then(|text| {
                let scope = Scope { allows_value: true, ..scope.clone() };
                mistakes.field("format", |mistakes| scope.template(text, Kind::Plain, mistakes))
            }),
            gives_array,
            limit: long.limit.unwrap_or(DEFAULT_LIMIT),
            from,
        };
        (mistakes.count() == before).then_some(compiled)
    }

    fn plain(source: Source) -> Self {
        Self {
            probe: None,
            from: vec![source],
            each: None,
            filter: Vec::new(),
            regex: None,
            transforms: Vec::new(),
            labels: Vec::new(),
            format: None,
            gives_array: false,
            limit: DEFAULT_LIMIT,
        }
    }

    /// The sources, for validation.
    pub(crate) fn sources(&self) -> &[Source] {
        &self.from
    }

    /// Whether it looks at the body; `Some(true)`: title and `<meta>`s are enough.
    pub(crate) fn body_need(&self) -> Option<bool> {
        let mut reads = self.from.iter().filter(|source| source.reads_body()).peekable();
        reads.peek()?;
        Some(self.each.is_none() && reads.all(Source::reads_head_only))
    }

    /// All values, transformed, at most `limit`; not cleaned.
    pub(crate) fn values(&self, reading: &Reading<'_, '_>) -> Vec<Value> {
        let raw = match &self.each {
            None => self.first_source(reading),
            Some(pointer) => self.chosen(pointer, reading),
        };
        let mut values = Vec::new();
        for value in raw {
            for value in self.refine(value, reading) {
                if values.len() == self.limit {
                    return values;
                }
                values.push(value);
            }
        }
        values
    }

    /// One value: the first one, or all of them as an array where the extractor asks for that.
    pub(crate) fn value(&self, reading: &Reading<'_, '_>) -> Option<Value> {
        let values = self.values(reading);
        if self.gives_array {
            return (!values.is_empty()).then_some(Value::Array(values));
        }
        values.into_iter().next()
    }

    /// The first value that is a text, a number or a boolean, as text.
    pub(crate) fn text(&self, reading: &Reading<'_, '_>) -> Option<String> {
        self.values(reading).iter().find_map(|value| as_text(value).map(std::borrow::Cow::into_owned))
    }

    fn first_source(&self, reading: &Reading<'_, '_>) -> Vec<Value> {
        self.from
            .iter()
            .map(|source| source.read(reading))
            .find(|values| values.iter().any(|value| !is_blank(value)))
            .unwrap_or_default()
    }

    fn chosen(&self, pointer: &Pointer, reading: &Reading<'_, '_>) -> Vec<Value> {
        let root = match reading.item {
            Some(item) => Some(&*item.value),
            None => reading.answer.and_then(|answer| answer.json()),
        };
        let Some(root) = root else { return Vec::new() };
        let mut values = Vec::new();
        for found in pointer.select(root) {
            if self.filter.iter().all(|rule| rule.holds(found.value, &reading.values)) {
                let item = Item::json(found.value, found.key);
                values.extend(self.first_source(&Reading { item: Some(&item), ..*reading }));
            }
            if values.len() >= MAX_LIMIT {
                break;
            }
        }
        values
    }

    /// Regex, transforms, labels and format, in this order.
    fn refine(&self, value: Value, reading: &Reading<'_, '_>) -> Vec<Value> {
        let mut values = match &self.regex {
            None => vec![value],
            Some(regex) => as_text(&value)
                .map(|text| captures(regex, &text).take(MAX_LIMIT).map(Value::from).collect())
                .unwrap_or_default(),
        };
        for transform in &self.transforms {
            values = values.into_iter().flat_map(|value| transform::apply(*transform, value)).collect();
        }
        let values = values.into_iter().filter(|value| !is_blank(value));
        values.filter_map(|value| self.dress(value, reading)).collect()
    }

    fn dress(&self, mut value: Value, reading: &Reading<'_, '_>) -> Option<Value> {
        if !self.labels.is_empty()
            && let Some(text) = as_text(&value)
            && let Some((_, label)) = self.labels.iter().find(|(regex, _)| regex.is_match(&text))
        {
            value = Value::from(label.as_str());
        }
        if let Some(format) = &self.format {
            let text = as_text(&value)?;
            let values = crate::modules::template::Values { value: Some(&text), ..reading.values };
            value = Value::from(format.fill(&values).ok()?);
        }
        Some(value)
    }
}

/// Null and texts of nothing but white space are no values.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Where the elements are that `where` chooses from: `each`, else the parent of the last segment.
fn choose(
    long: &LongExtractor,
    from: Vec<Source>,
    mistakes: &mut Mistakes,
) -> (Option<Pointer>, Vec<Source>) {
    if let Some(text) = &long.each {
        let each = mistakes.field("each", |mistakes| mistakes.take(Pointer::parse(text)));
        return (each, from);
    }
    if long.filter.is_empty() {
        return (None, from);
    }
    match from.as_slice() {
        [Source::Json(pointer)] => {
            if let Some((front, last)) = pointer.split_last() {
                return (Some(front), vec![Source::Json(last)]);
            }
            mistakes.add_in("where", "the pointer in `from` has no parent; say `each`");
        }
        _ => {
            mistakes.add_in("where", "it chooses among JSON elements: give one `json:` in `from`, or `each`");
        }
    }
    (None, from)
}
