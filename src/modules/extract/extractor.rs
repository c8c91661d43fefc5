//! A value, or several, from an answer.

use regex::Regex;
use serde_json::Value;

use super::Reading;
use super::items::Item;
use super::source::{Source, captures};
use super::transform;
use crate::modules::answer::Answer;
use crate::modules::definition::{Extractor as Entry, LongExtractor, Transform};
use crate::modules::html::Selectors;
use crate::modules::mistake::Mistakes;
use crate::modules::pattern;
use crate::modules::pointer::{Pointer, Selected};
use crate::modules::rule::json::{JsonMatcher, as_text};
use crate::modules::scope::Scope;
use crate::modules::template::{Kind, Template};

/// Values of one extractor, unless it says otherwise.
const DEFAULT_LIMIT: usize = 50;
/// The most that it may say.
pub(crate) const MAX_LIMIT: usize = 1_000;

/// The most levels of `inner`.
const MAX_LEVELS: usize = 4;

/// Where the elements are that `each` and `where` choose from.
#[derive(Debug, Clone)]
enum Elements {
    Json(Pointer),
    JsonLd(Pointer),
    Script(Pointer),
}

/// A compiled extractor.
#[derive(Debug, Clone)]
pub(crate) struct Extractor {
    /// Which probe's answer; `None`: the last one that was obtained.
    pub(crate) probe: Option<usize>,
    from: Vec<Source>,
    /// Elements to choose from; `from` is then relative to each.
    each: Option<Elements>,
    /// What reads from each of them, instead of `from`.
    inner: Option<Box<Extractor>>,
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
        let long = match entry {
            Entry::Short(text) => {
                let source = Source::compile(text, in_list, selectors, scope, mistakes)?;
                let gives_array = source.is_plural();
                return Some(Self { gives_array, ..Self::plain(source) });
            }
            Entry::Long(long) => long,
        };
        Self::compile_long(long, in_list, 0, selectors, scope, mistakes)
    }

    fn compile_long(
        long: &LongExtractor,
        in_list: bool,
        level: usize,
        selectors: &mut Selectors,
        scope: &Scope,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let before = mistakes.count();
        check_inner(long, level, mistakes);
        if long.from.is_empty() && long.inner.is_none() {
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
        let (each, from) = choose(long, in_list, from, mistakes);
        let inner = long.inner.as_ref().filter(|_| level < MAX_LEVELS).and_then(|inner| {
            mistakes.field("inner", |mistakes| {
                Self::compile_long(inner, true, level + 1, selectors, scope, mistakes).map(Box::new)
            })
        });
        let is_plural = !is_chosen && from.iter().any(Source::is_plural);
        let gives_array = long.all || is_plural || inner.as_ref().is_some_and(|inner| inner.gives_array);
        let filter = mistakes
            .list("where", &long.filter, |mistakes, rule| JsonMatcher::compile(rule, scope, mistakes));
        let compiled = Self {
            probe: long.probe,
            each,
            inner,
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
            inner: None,
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
        if self.inner.is_some() {
            return Some(false);
        }
        let mut reads = self.from.iter().filter(|source| source.reads_body()).peekable();
        reads.peek()?;
        Some(self.each.is_none() && reads.all(Source::reads_head_only))
    }

    /// Whether the address of the answer goes into what it gives.
    pub(crate) fn tells_address(&self) -> bool {
        self.from.iter().any(|source| matches!(source, Source::FinalUrl))
            || self.transforms.contains(&Transform::AbsoluteUrl)
            || self.inner.as_ref().is_some_and(|inner| inner.tells_address())
    }

    /// Whether it gives nothing unless the body is JSON.
    pub(crate) fn needs_json(&self) -> bool {
        match &self.each {
            Some(each) => matches!(each, Elements::Json(_)),
            None => !self.from.is_empty() && self.from.iter().all(|source| matches!(source, Source::Json(_))),
        }
    }

    /// All values, transformed, at most `limit`; not cleaned.
    pub(crate) fn values(&self, reading: &Reading<'_, '_>) -> Vec<Value> {
        let raw = match &self.each {
            None => self.first_source(reading),
            Some(elements) => self.chosen(elements, reading),
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

    fn chosen(&self, elements: &Elements, reading: &Reading<'_, '_>) -> Vec<Value> {
        let mut values = Vec::new();
        for found in elements.select(reading) {
            if self.filter.iter().all(|rule| rule.holds(found.value, &reading.values)) {
                let item = Item::json(found.value, found.key);
                let reading = Reading { item: Some(&item), ..*reading };
                values.extend(match &self.inner {
                    Some(inner) => inner.values(&reading),
                    None => self.first_source(&reading),
                });
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
        let base = reading.answer.map(|answer| &answer.response.final_url);
        for transform in &self.transforms {
            values = values.into_iter().flat_map(|value| transform::apply(*transform, value, base)).collect();
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

impl Elements {
    /// Reads the text of an `each`: a pointer, or one with its kind in front.
    fn parse(text: &str, in_list: bool) -> Result<Self, String> {
        let (kind, pointer) = match text.split_once(':') {
            Some((kind, pointer)) if !kind.contains('/') => (kind, pointer),
            _ => ("json", text),
        };
        let elements = match kind {
            "json" => Self::Json,
            "jsonld" | "script" if in_list => {
                return Err(format!(
                    "`{kind}:` cannot stand here: elements are chosen from the element itself"
                ));
            }
            "jsonld" => Self::JsonLd,
            "script" => Self::Script,
            _ => {
                return Err(format!(
                    "`{kind}:` gives no elements; write /POINTER/*, jsonld:/POINTER or script:/POINTER/*"
                ));
            }
        };
        Pointer::parse(pointer).map(elements)
    }

    fn select<'v>(&self, reading: &Reading<'v, '_>) -> Vec<Selected<'v>> {
        match self {
            Self::Json(pointer) => {
                let root = match reading.item {
                    Some(item) => Some(&*item.value),
                    None => reading.answer.and_then(|answer| answer.json()),
                };
                root.map(|root| pointer.select(root)).unwrap_or_default()
            }
            Self::JsonLd(pointer) => {
                let objects = reading.answer.map(Answer::json_ld).unwrap_or_default();
                objects.iter().flat_map(|object| pointer.select(object)).take(MAX_LIMIT).collect()
            }
            Self::Script(pointer) => {
                let root = reading.answer.and_then(|answer| answer.script(pointer));
                root.map(|root| pointer.select(root)).unwrap_or_default()
            }
        }
    }
}

/// `inner` reads from elements that something must choose.
fn check_inner(long: &LongExtractor, level: usize, mistakes: &mut Mistakes) {
    if level > 0 && long.probe.is_some() {
        mistakes.add_in("probe", "inside `inner` the answer is the outer extractor's");
    }
    for (index, text) in long.from.iter().enumerate().filter(|_| level > 0) {
        if text.starts_with("group:") || text.starts_with("attr:") {
            mistakes.add_in(&format!("from[{index}]"), "the elements that `inner` reads from are JSON");
        }
    }
    if long.inner.is_none() {
        return;
    }
    if level >= MAX_LEVELS {
        mistakes.add_in("inner", format!("it goes {MAX_LEVELS} levels deep at the most"));
    }
    if long.each.is_none() {
        mistakes.add_in("inner", "say in `each` where the elements are that it reads from");
    }
    if !long.from.is_empty() {
        mistakes.add_in("from", "`inner` reads instead of it: leave one of them out");
    }
}

/// Where the elements are that `where` chooses from: `each`, else the parent of the last segment.
fn choose(
    long: &LongExtractor,
    in_list: bool,
    from: Vec<Source>,
    mistakes: &mut Mistakes,
) -> (Option<Elements>, Vec<Source>) {
    if let Some(text) = &long.each {
        let each = mistakes.field("each", |mistakes| mistakes.take(Elements::parse(text, in_list)));
        return (each, from);
    }
    if long.filter.is_empty() || long.inner.is_some() {
        return (None, from);
    }
    match from.as_slice() {
        [source @ (Source::Json(pointer) | Source::Script(pointer))] => {
            if let Some((front, last)) = pointer.split_last() {
                let is_json = matches!(source, Source::Json(_));
                let elements = if is_json { Elements::Json(front) } else { Elements::Script(front) };
                return (Some(elements), vec![Source::Json(last)]);
            }
            mistakes.add_in("where", "the pointer in `from` has no parent; say `each`");
        }
        _ => {
            mistakes.add_in(
                "where",
                "it chooses among JSON elements: give one `json:` or `script:` in `from`, or `each`",
            );
        }
    }
    (None, from)
}
