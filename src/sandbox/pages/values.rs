//! Builds the parts of an answer that extractors read.

use serde_json::{Value, json};

use super::conditions::fulfil;
use super::context::{Context, Pattern};
use super::dns;
use super::draft::{Document, Part};
use super::html::Element;
use super::json::{lengthen, place, replace, segments};
use super::sample::as_text;
use crate::modules::definition::{
    Extractor, FieldType, ListResult, LongExtractor, ResultType, Source, Transform, field_type,
};
use crate::sandbox::people::Named;

/// The number of elements of a list result on one page.
const LIST_LENGTH: usize = 3;

/// An extractor, with the use of the value that it finds.
#[derive(Clone)]
pub(super) struct Reading<'a> {
    name: &'a str,
    kind: Option<ResultType>,
    keep: Option<&'a str>,
    /// The index of the list element that is read.
    index: usize,
    /// The value that it should find. Otherwise it is a plausible one for its name.
    given: Option<Value>,
    sources: Vec<(&'a str, &'a str)>,
    /// The long forms, the outermost first. Each one except the last has the next one as its `inner`.
    levels: Vec<&'a LongExtractor>,
}

/// Returns the parts for everything that a hit reads from the answer to the probe. `last` tells whether it is the
/// last answer, which extractors read by default.
pub(super) fn for_probe(context: &Context<'_>, probe: usize, last: bool) -> Vec<Part> {
    let reads = |extractor: &Extractor| match extractor {
        Extractor::Long(long) => long.probe.map_or(last, |at| at == probe),
        Extractor::Short(_) => last,
    };
    let main = context.entry.result.iter().flat_map(|main| {
        let value = main.value.iter().map(|extractor| ("value", Some(main.result_type), extractor));
        value.chain(main.metadata.iter().map(|(name, extractor)| (name.as_str(), None, extractor)))
    });
    let main = main.filter(|(.., extractor)| reads(extractor)).flat_map(|(name, kind, extractor)| {
        let reading = Reading { kind, ..Reading::new(name, Some(extractor)) };
        reading.given(context).into_iter().filter_map(|reading| reading.part(context))
    });
    main.chain(for_lists(context, probe, last, 0)).collect()
}

/// Returns the parts for the lists that a hit reads from a page of the probe's answer. The first page is page 0.
pub(super) fn for_lists(context: &Context<'_>, probe: usize, last: bool, page: usize) -> Vec<Part> {
    let lists = context.entry.results.iter().filter(|list| list.probe.map_or(last, |at| at == probe));
    let parts = lists.flat_map(|list| {
        let people = context.people.as_ref().and_then(|people| people.elements(list.result_type));
        let elements: Vec<(usize, Option<Named>)> = match people {
            None => (page * LIST_LENGTH..(page + 1) * LIST_LENGTH).map(|index| (index, None)).collect(),
            Some(named) if page == 0 => named.into_iter().map(Some).enumerate().collect(),
            Some(_) => Vec::new(),
        };
        elements.into_iter().filter_map(|(index, named)| for_element(context, list, index, named.as_ref()))
    });
    parts.collect()
}

/// Returns the parts for the values that later probes need from the answer to the probe.
pub(super) fn for_saving(context: &Context<'_>, probe: usize) -> Vec<Part> {
    let probes = &context.entry.probes;
    let saves = probes.get(probe).into_iter().flat_map(|probe| &probe.save);
    let parts = saves.filter_map(|(name, extractor)| {
        // The value is an address if the URL of a later probe begins with it.
        let start = format!("{{saved.{name}}}");
        let kind = probes.iter().any(|probe| probe.url.starts_with(&start)).then_some(ResultType::Url);
        Reading { kind, ..Reading::new(name, Some(extractor)) }.part(context)
    });
    parts.collect()
}

impl<'a> Reading<'a> {
    /// Returns the reading of an extractor. Without an extractor, a list element is itself the value.
    pub(super) fn new(name: &'a str, extractor: Option<&'a Extractor>) -> Self {
        let split = |source: &'a Source| source.split_once(':');
        let (sources, levels) = match extractor {
            None => (vec![("value", "")], Vec::new()),
            Some(Extractor::Short(text)) => (split(text).into_iter().collect(), Vec::new()),
            Some(Extractor::Long(long)) => {
                let levels: Vec<&LongExtractor> =
                    std::iter::successors(Some(&**long), |long| long.inner.as_deref()).collect();
                let from = levels.last().map(|innermost| &innermost.from).into_iter().flatten();
                (from.filter_map(split).collect(), levels)
            }
        };
        Self { name, kind: None, keep: None, index: 0, given: None, sources, levels }
    }

    /// Returns the readings of the values that people give for the name, or the reading itself if they give none.
    fn given(self, context: &Context<'_>) -> Vec<Self> {
        let Some(mut values) = context.people.as_ref().and_then(|people| people.values(self.name)) else {
            return vec![self];
        };
        if values.len() > 1 && self.transforms().any(|transform| *transform == Transform::Lines) {
            let lines: Vec<String> = values.iter().map(as_text).collect();
            values = vec![Value::String(lines.join("\n"))];
        }
        let given = values.into_iter().enumerate();
        given.map(|(index, value)| Self { index, given: Some(value), ..self.clone() }).collect()
    }

    /// Returns the value that it should find in an element of a list of accounts.
    fn given_by(&self, named: &Named) -> Option<Value> {
        let reads_name = self.kind == Some(ResultType::Username)
            || self.leaf().is_some_and(|leaf| {
                let leaf = leaf.to_lowercase();
                !["url", "href", "link"].iter().any(|part| leaf.contains(part))
            });
        match (self.kind, self.name) {
            (Some(_), _) if reads_name => Some(json!(named.username)),
            (Some(_), _) => Some(json!(named.address)),
            (None, "service") => Some(json!(named.module)),
            (None, "username") => Some(json!(named.username)),
            (None, "verified") => Some(json!(true)),
            (None, _) => None,
        }
    }

    /// Returns the transforms that the extractor applies, the first one first.
    fn transforms(&self) -> impl Iterator<Item = &'a Transform> {
        self.levels.iter().rev().flat_map(|long| &long.transform)
    }

    /// Returns the first value that `part` finds, starting at the innermost extractor.
    fn first<T>(&self, part: impl Fn(&'a LongExtractor) -> Option<T>) -> Option<T> {
        self.levels.iter().rev().find_map(|long| part(long))
    }

    /// Returns the regex that the extractor applies to a value.
    pub(super) fn regex(&self) -> Option<&'a str> {
        self.first(|long| long.regex.as_deref())
    }

    /// Returns the regex of the first source that is one.
    pub(super) fn regex_source(&self) -> Option<&'a str> {
        self.sources.iter().find(|(kind, _)| *kind == "regex").map(|(_, pattern)| *pattern)
    }

    /// Returns the last named part of the pointer of the first JSON source. It is a better name for a sample value
    /// than a type.
    fn leaf(&self) -> Option<&'a str> {
        let (_, pointer) = self.sources.iter().find(|(kind, _)| matches!(*kind, "json" | "script"))?;
        let leaf = pointer.rsplit('/').find(|part| *part != "*" && part.parse::<usize>().is_err())?;
        (!leaf.is_empty()).then_some(leaf)
    }

    fn part(&self, context: &Context<'_>) -> Option<Part> {
        let chosen = self.levels.first().and_then(|long| fulfil(context, &long.filter));
        let record = chosen.and_then(|chosen| dns::record(context, &chosen, 0));
        self.holding(context, &self.value(context, record.as_ref()))
    }

    /// Returns the part for the first source that can contain the value.
    pub(super) fn holding(&self, context: &Context<'_>, value: &Value) -> Option<Part> {
        self.sources.iter().find_map(|(kind, argument)| match *kind {
            // A constant or template has a value only if its `each` finds an element, so that element is created.
            "const" | "template" => {
                self.levels.first()?.each.as_ref()?;
                self.in_document(context, "json", "", &Value::Null)
            }
            "json" | "count" | "jsonld" | "script" => self.in_document(context, kind, argument, value),
            "meta" => {
                let key = if argument.contains(':') { "property" } else { "name" };
                let selector = format!("meta[{key}=\"{argument}\"]");
                Some(Part::Element(Element::new(&selector, Some("content"), as_text(value))))
            }
            "title" => Some(Part::Element(Element::new("title", None, as_text(value)))),
            "css" => Some(Part::Element(element_of(argument, as_text(value)))),
            "regex" => {
                let groups = [(0, as_text(value)), (1, as_text(value))];
                context.sampled_with(Pattern::Plain(argument), self.index, &groups).map(Part::Line)
            }
            "header" => Some(Part::Header((*argument).to_owned(), as_text(value))),
            "cookie" => {
                Some(Part::Header("Set-Cookie".to_owned(), format!("{argument}={}; Path=/", as_text(value))))
            }
            _ => None,
        })
    }

    /// Returns the part that puts the value into a JSON document, inside the elements that `each` and `where` select.
    fn in_document(&self, context: &Context<'_>, kind: &str, argument: &str, value: &Value) -> Option<Part> {
        let each = self.levels.first().and_then(|long| long.each.as_deref()?.split_once(':'));
        let document = Document::of(each.map_or(kind, |(kind, _)| kind));
        let (mut pointer, mut value) = (segments(argument), value.clone());
        for long in self.levels.iter().rev() {
            let (at, inside) = match &long.each {
                Some(each) => (segments(each), pointer),
                // `where` applies to the parent of the value.
                None if !long.filter.is_empty() => {
                    let (leaf, parent) = pointer.split_last()?;
                    (parent.to_vec(), vec![leaf.clone()])
                }
                None => (pointer, Vec::new()),
            };
            let mut element = fulfil(context, &long.filter)?;
            if !place(&mut element, &inside, &value) {
                lengthen(&mut element, &inside, &value);
            }
            (pointer, value) = (at, element);
        }
        Some(Part::Json { document, pointer, value })
    }

    /// Returns a value from which the extractor's own transforms make the intended value. `record` is the DNS record
    /// that it reads.
    fn value(&self, context: &Context<'_>, record: Option<&Value>) -> Value {
        let (sampler, index, leaf) = (&context.sampler, self.index, self.leaf());
        let typed = match self.kind {
            Some(kind) => sampler.typed(kind, index),
            None => sampler.field(self.name, index),
        };
        let sample = || typed.unwrap_or_else(|| sampler.named(leaf.unwrap_or(self.name), index));
        let plain = self.given.clone().unwrap_or_else(sample);
        let fitting = |value: Value, pattern| {
            if context.matches(pattern, &as_text(&value)) {
                return value;
            }
            let sampled = context.sampled_with(pattern, index, &[(1, as_text(&plain))]);
            sampled.map_or_else(|| plain.clone(), Value::String)
        };
        let recorded = leaf.and_then(|leaf| record?.get(leaf));
        let label = self.first(|long| long.labels.first()).filter(|_| recorded.is_none());
        let value = recorded.cloned().unwrap_or_else(|| {
            let kept =
                self.keep.map_or(plain.clone(), |keep| fitting(plain.clone(), Pattern::Template(keep)));
            // A given value already has the lines, and an absolute address remains one.
            let is_needless = |it: &&Transform| matches!(it, Transform::Lines | Transform::AbsoluteUrl);
            let transforms = self.transforms().filter(|it| self.given.is_none() || !is_needless(it));
            sampler.shaped(kept, transforms, self.name, index)
        });
        if let Some(dated) = self.dated(context) {
            return Value::String(dated);
        }
        let patterns = label.map(|(pattern, _)| pattern.as_str()).into_iter().chain(self.regex());
        patterns.map(Pattern::Plain).fold(value, fitting)
    }

    /// Returns a value in which the extractor's regex finds a date, or `None` if it looks for none.
    fn dated(&self, context: &Context<'_>) -> Option<String> {
        let pattern = Pattern::Plain(self.regex().or(self.regex_source())?);
        let is_date = matches!(field_type(self.name), Some((FieldType::Date, _)));
        let mut dates = context.sampler.dates(self.name, self.index).filter(|_| is_date);
        dates.find_map(|date| {
            if context.matches(pattern, &date) {
                return Some(date);
            }
            let text = context.sampled_with(pattern, self.index, &[(1, date.clone())])?;
            // The regex of a source is applied to the whole answer, in which the date is put later.
            text.contains(&date).then(|| if self.regex().is_some() { text } else { date })
        })
    }
}

/// Returns the element for a CSS source, with the text in it or in the attribute that the source names.
fn element_of(argument: &str, text: String) -> Element {
    match argument.rsplit_once('@').filter(|(_, attribute)| !attribute.contains([']', '"', ' '])) {
        Some((selector, attribute)) => Element::new(selector, Some(attribute), text),
        None => Element::new(argument, None, text),
    }
}

/// Returns the part for one element of a list result, which may have to name an account.
fn for_element(
    context: &Context<'_>,
    list: &ListResult,
    index: usize,
    named: Option<&Named>,
) -> Option<Part> {
    let (kind, argument) = list.each.split_once(':')?;
    // The value comes first.
    let own = Reading {
        kind: Some(list.result_type),
        keep: list.keep.as_deref(),
        ..Reading::new(list.result_type.as_str(), list.value.as_ref())
    };
    let metadata = list.metadata.iter().map(|(name, extractor)| Reading::new(name, Some(extractor)));
    let readings: Vec<Reading<'_>> = [own]
        .into_iter()
        .chain(metadata)
        .map(|reading| {
            let given = named.and_then(|named| reading.given_by(named));
            Reading { index, given, ..reading }
        })
        .collect();
    Some(match kind {
        "css" => Part::Element(html_element(context, &readings, argument)),
        "regex" => {
            let groups = group_values(context, &readings);
            let line = context.sampled_with(Pattern::Template(argument), index, &groups)?;
            // The pattern may not allow the address of this account.
            if named.is_some_and(|named| !line.contains(&named.address)) {
                return None;
            }
            Part::Line(line)
        }
        "header" => Part::Header(argument.to_owned(), text_element(context, &readings)?),
        "lines" => Part::Row(text_element(context, &readings)?),
        "json_lines" => Part::Row(json_element(context, list, &readings)?.to_string()),
        _ => {
            let value = json_element(context, list, &readings)?;
            Part::Json { document: Document::of(kind), pointer: segments(argument), value }
        }
    })
}

fn json_element(context: &Context<'_>, list: &ListResult, readings: &[Reading<'_>]) -> Option<Value> {
    let mut element = fulfil(context, &list.filter)?;
    let record = dns::record(context, &element, readings.first()?.index);
    for reading in readings {
        let value = reading.value(context, record.as_ref());
        let parts = reading.sources.iter().filter_map(|(kind, argument)| match *kind {
            "json" | "count" => reading.in_document(context, kind, argument, &value),
            "value" => reading.in_document(context, "json", "", &value),
            _ => None,
        });
        for part in parts.take(1) {
            let Part::Json { pointer, value, .. } = part else { continue };
            if place(&mut element, &pointer, &value) {
                continue;
            }
            if reading.given.is_some() {
                replace(&mut element, &pointer, &value);
            } else if record.is_none() {
                // The text of a DNS record must not be extended.
                lengthen(&mut element, &pointer, &value);
            }
        }
    }
    for (name, value) in record.iter().filter_map(Value::as_object).flatten() {
        place(&mut element, std::slice::from_ref(name), value);
    }
    Some(element)
}

fn html_element(context: &Context<'_>, readings: &[Reading<'_>], argument: &str) -> Element {
    let mut element = element_of(argument, String::new());
    for reading in readings {
        let text = as_text(&reading.value(context, None));
        match reading.sources.first() {
            Some(("css", inner)) => element.inside.push(element_of(inner, text)),
            Some(("value", _)) => match element.attributes.first_mut() {
                Some((_, read)) => *read = text,
                None => element.text = text,
            },
            _ => {}
        }
    }
    element
}

/// Returns the values for the groups of an `each` regex, the last group first, because a replacement moves the text
/// after it.
fn group_values(context: &Context<'_>, readings: &[Reading<'_>]) -> Vec<(usize, String)> {
    let groups = readings.iter().filter_map(|reading| {
        let number = match *reading.sources.first()? {
            ("group", number) => number.parse().ok()?,
            ("value", _) => 1,
            _ => return None,
        };
        Some((number, as_text(&reading.value(context, None))))
    });
    let mut groups: Vec<(usize, String)> = groups.collect();
    groups.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    groups
}

/// Returns a line or the value of a header that contains everything that is read from it.
fn text_element(context: &Context<'_>, readings: &[Reading<'_>]) -> Option<String> {
    let texts = readings.iter().filter_map(|reading| {
        let value = as_text(&reading.value(context, None));
        match reading.sources.first()? {
            ("value", _) => Some(value),
            ("regex", pattern) => context.sampled_with(Pattern::Plain(pattern), reading.index, &[(1, value)]),
            _ => None,
        }
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}
