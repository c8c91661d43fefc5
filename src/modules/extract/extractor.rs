//! Extractors, which read one or more values from a response.

use serde_json::Value;

use super::items::Item;
use super::reading::Reading;
use super::source::{Source, captures};
use super::transform;
use crate::modules::answer::Answer;
use crate::modules::definition::{Extractor as Entry, LongExtractor, MAX_VALUES, Transform};
use crate::modules::html::Selectors;
use crate::modules::mistake::Mistakes;
use crate::modules::pattern::{self, SearchRegex};
use crate::modules::pointer::{Pointer, Selected};
use crate::modules::rule::json::{JsonMatcher, as_text};
use crate::modules::scope::Scope;
use crate::modules::template::{Kind, Template};

/// The default maximum number of values of one extractor.
const DEFAULT_LIMIT: usize = 50;

/// The maximum size of a saved value, in bytes.
const MAX_SAVED: usize = 8 * 1024;

/// The maximum nesting depth of `inner`.
const MAX_LEVELS: usize = 4;

/// The place of the elements from which `each` and `where` select.
#[derive(Debug, Clone)]
enum Elements {
    Json(Pointer),
    JsonLd(Pointer),
    Script(Pointer),
}

/// A compiled extractor.
#[derive(Debug, Clone)]
pub(crate) struct Extractor {
    /// The index of the probe whose response is read, or `None` for the last response that was obtained.
    pub(crate) probe: Option<usize>,
    from: Vec<Source>,
    /// The elements to select from. The sources in `from` are then relative to each element.
    each: Option<Elements>,
    /// The extractor that reads from each element, instead of `from`.
    inner: Option<Box<Extractor>>,
    filter: Vec<JsonMatcher>,
    regex: Option<SearchRegex>,
    transforms: Vec<Transform>,
    labels: Vec<(SearchRegex, String)>,
    format: Option<Template>,
    gives_array: bool,
    limit: usize,
}

impl Extractor {
    /// Compiles an extractor. If it is invalid, adds the errors to `mistakes` and returns `None`.
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
        scope.check_probe(long.probe, mistakes);
        if in_list && long.probe.is_some() {
            mistakes.add_in("probe", "inside `results` the list's own `probe` is used");
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
                .and_then(|text| mistakes.field("regex", |mistakes| pattern::read_search(text, mistakes))),
            transforms: long.transform.clone(),
            labels: mistakes.list("labels", &long.labels, |mistakes, (text, label)| {
                Some((pattern::read_search(text, mistakes)?, label.clone()))
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

    /// Returns the sources, for validation.
    pub(crate) fn sources(&self) -> &[Source] {
        &self.from
    }

    /// Returns `None` if the extractor does not read the body, and `Some(true)` if it reads only the title
    /// and the `<meta>` elements.
    pub(crate) fn body_need(&self) -> Option<bool> {
        if self.inner.is_some() {
            return Some(false);
        }
        let mut reads = self.from.iter().filter(|source| source.reads_body()).peekable();
        reads.peek()?;
        Some(self.each.is_none() && reads.all(Source::reads_head_only))
    }

    /// Returns whether the extracted values can contain the address of the response.
    pub(crate) fn tells_address(&self) -> bool {
        self.from.iter().any(|source| matches!(source, Source::FinalUrl))
            || self.transforms.contains(&Transform::AbsoluteUrl)
            || self.inner.as_ref().is_some_and(|inner| inner.tells_address())
    }

    /// Returns whether the extractor finds values only in a JSON body.
    pub(crate) fn needs_json(&self) -> bool {
        match &self.each {
            Some(each) => matches!(each, Elements::Json(_)),
            None => !self.from.is_empty() && self.from.iter().all(|source| matches!(source, Source::Json(_))),
        }
    }

    /// Returns all values, at most `limit`, with the transforms applied. The values are not cleaned.
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

    /// Returns the first value, or all values as an array if the extractor's definition asks for an array.
    pub(crate) fn value(&self, reading: &Reading<'_, '_>) -> Option<Value> {
        let values = self.values(reading);
        if self.gives_array {
            return (!values.is_empty()).then_some(Value::Array(values));
        }
        values.into_iter().next()
    }

    /// Returns the first value that is a text, a number or a boolean, as text.
    pub(crate) fn text(&self, reading: &Reading<'_, '_>) -> Option<String> {
        self.values(reading).iter().find_map(|value| as_text(value).map(std::borrow::Cow::into_owned))
    }

    /// Returns the first value, trimmed, to be saved for a later request. Returns `None` if it is empty or
    /// too long.
    pub(crate) fn saved(&self, reading: &Reading<'_, '_>) -> Option<String> {
        let text = self.text(reading)?;
        let text = text.trim();
        (!text.is_empty() && text.len() <= MAX_SAVED).then(|| text.to_owned())
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
            Some(regex) => as_text(&value)
                .map(|text| {
                    captures(regex, &text, reading.values.searches)
                        .take(MAX_VALUES)
                        .map(Value::from)
                        .collect()
                })
                .unwrap_or_default(),
        };
        let base = reading.answer.map(|answer| &answer.response.final_url);
        for transform in &self.transforms {
            values = values.into_iter().flat_map(|value| transform::apply(*transform, value, base)).collect();
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
            let values = crate::modules::template::Values { value: Some(&text), ..reading.values };
            value = Value::from(format.fill(&values).ok()?);
        }
        Some(value)
    }
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

impl Elements {
    /// Parses the text of an `each`, which is a pointer with an optional kind before it.
    fn parse(text: &str, in_list: bool) -> Result<Self, String> {
        let (kind, pointer) = match text.split_once(':') {
            Some((kind, pointer)) if !kind.contains('/') => (kind, pointer),
            _ => ("json", text),
        };
        let elements = match kind {
            "json" => Self::Json,
            "jsonld" | "script" if in_list => {
                return Err(format!(
                    "`{kind}:` is not allowed here: elements are selected from the element itself"
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
                objects.iter().flat_map(|object| pointer.select(object)).take(MAX_VALUES).collect()
            }
            Self::Script(pointer) => {
                let root = reading.answer.and_then(|answer| answer.script(pointer));
                root.map(|root| pointer.select(root)).unwrap_or_default()
            }
        }
    }
}

/// Checks the fields of an extractor with `inner`, which reads from the JSON elements of `each`.
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
        mistakes.add_in("inner", format!("at most {MAX_LEVELS} levels of nesting are allowed"));
    }
    if long.each.is_none() {
        mistakes.add_in("inner", "set `each` to the elements that it reads from");
    }
    if !long.from.is_empty() {
        mistakes.add_in("from", "`inner` reads instead of it: leave one of them out");
    }
}

/// Returns the elements from which `where` selects: those of `each`, or else the parent of the last path
/// segment.
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
            mistakes.add_in("where", "the pointer in `from` has no parent; set `each`");
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
