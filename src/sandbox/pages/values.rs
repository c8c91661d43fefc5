//! Builds the parts of an answer that extractors read.

use serde_json::{Value, json};

use super::conditions::fulfil;
use super::context::{Context, Pattern};
use super::dns;
use super::draft::{Document, Part};
use super::html::Element;
use super::json::{place, segments, text_at};
use super::sample::as_text;
use crate::modules::definition::{
    Extractor, FieldType, ListResult, LongExtractor, ResultType, Transform, field_type,
};
use crate::sandbox::people::Named;

/// The number of elements of a list result.
const LIST_LENGTH: usize = 3;

/// An extractor, with the use of the value that it finds.
#[derive(Clone)]
struct Reading<'a> {
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
    let is_read = |at: Option<usize>| at.map_or(last, |at| at == probe);
    let main = context.entry.result.iter().flat_map(|main| {
        let value = main.value.iter().map(|extractor| Reading {
            kind: Some(main.result_type),
            ..Reading::new("value", Some(extractor))
        });
        value.chain(main.metadata.iter().map(|(name, extractor)| Reading::new(name, Some(extractor))))
    });
    let main = main
        .filter(|reading| is_read(reading.levels.first().and_then(|long| long.probe)))
        .flat_map(|reading| reading.given(context))
        .filter_map(|reading| reading.part(context));
    let lists = context.entry.results.iter().filter(|list| is_read(list.probe)).flat_map(|list| {
        let people = context.people.as_ref().and_then(|people| people.elements(list.result_type));
        let elements: Vec<Option<Named>> =
            people.map_or(vec![None; LIST_LENGTH], |named| named.into_iter().map(Some).collect());
        let elements = elements.into_iter().enumerate();
        elements.filter_map(|(index, named)| for_element(context, list, index, named.as_ref()))
    });
    main.chain(lists).collect()
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
    fn new(name: &'a str, extractor: Option<&'a Extractor>) -> Self {
        let levels: Vec<&LongExtractor> = extractor.iter().flat_map(|extractor| extractor.levels()).collect();
        let sources = match levels.last() {
            None => vec![("value", "")],
            Some(innermost) => innermost.from.iter().filter_map(|source| source.split_once(':')).collect(),
        };
        Self { name, kind: None, keep: None, index: 0, given: None, sources, levels }
    }

    /// Returns the readings of the values that people give for the name, or the reading itself if they give none.
    fn given(self, context: &Context<'_>) -> Vec<Self> {
        let Some(values) = context.people.as_ref().and_then(|people| people.values(self.name)) else {
            return vec![self];
        };
        let given = values.into_iter().enumerate();
        given.map(|(index, value)| Self { index, given: Some(value), ..self.clone() }).collect()
    }

    /// Returns the value that it should find in an element of a list of accounts.
    fn given_by(&self, named: &Named) -> Option<Value> {
        let reads_name = self.kind == Some(ResultType::Username)
            || self
                .leaf()
                .map(str::to_lowercase)
                .is_some_and(|leaf| !["url", "href", "link"].iter().any(|part| leaf.contains(part)));
        match (self.kind, self.name) {
            (Some(_), _) if reads_name => Some(json!(named.username)),
            (Some(_), _) => Some(json!(named.address)),
            (None, "service") => Some(json!(named.module)),
            (None, "username") => Some(json!(named.username)),
            (None, "verified") => Some(json!(true)),
            (None, _) => None,
        }
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
        let value = self.value(context, record.as_ref());
        let text = || as_text(&value);
        // The first source that can contain the value is used.
        self.sources.iter().find_map(|(kind, argument)| match *kind {
            // A constant or template has a value only if its `each` finds an element, so that element is created.
            "const" | "template" => {
                self.levels.first()?.each.as_ref()?;
                self.in_document(context, "json", "", &Value::Null)
            }
            "json" | "count" | "jsonld" | "script" => self.in_document(context, kind, argument, &value),
            "meta" => {
                let key = if argument.contains(':') { "property" } else { "name" };
                let selector = format!("meta[{key}=\"{argument}\"]");
                Some(Part::Element(Element::new(&selector, Some("content"), text())))
            }
            "title" => Some(Part::Element(Element::new("title", None, text()))),
            "css" => Some(Part::Element(element_of(argument, text()))),
            "regex" => {
                let groups = [(0, text()), (1, text())];
                context.sampled_with(Pattern::Plain(argument), self.index, &groups).map(Part::Line)
            }
            "header" => Some(Part::Header((*argument).to_owned(), text())),
            "cookie" => Some(Part::Header("Set-Cookie".to_owned(), format!("{argument}={}; Path=/", text()))),
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
                None => (pointer, Vec::new()),
            };
            let mut element = fulfil(context, &long.filter)?;
            if !place(&mut element, &inside, &value)
                && let Some(known) = text_at(&mut element, &inside)
            {
                // `where` already needs another text there.
                known.push_str(&format!(" {}", as_text(&value)));
            }
            (pointer, value) = (at, element);
        }
        Some(Part::Json { document, pointer, value })
    }

    /// Returns a value from which the extractor's own transforms make the intended value. `record` is the DNS record
    /// that it reads.
    fn value(&self, context: &Context<'_>, record: Option<&Value>) -> Value {
        let (sampler, index, leaf) = (&context.sampler, self.index, self.leaf());
        let plain = self.given.clone().unwrap_or_else(|| {
            let typed = match self.kind {
                Some(kind) => sampler.typed(kind, index),
                None => sampler.field(self.name, index),
            };
            typed.unwrap_or_else(|| sampler.named(leaf.unwrap_or(self.name), index))
        });
        let fitting = |value: Value, pattern| {
            if context.matches(pattern, &as_text(&value)) {
                return value;
            }
            let sampled = context.sampled_with(pattern, index, &[(1, as_text(&plain))]);
            sampled.map_or_else(|| plain.clone(), Value::String)
        };
        let innermost_first = || self.levels.iter().rev();
        let recorded = leaf.and_then(|leaf| record?.get(leaf)).cloned();
        let label = innermost_first().find_map(|long| long.labels.first()).filter(|_| recorded.is_none());
        let value = recorded.unwrap_or_else(|| {
            let kept =
                self.keep.map_or(plain.clone(), |keep| fitting(plain.clone(), Pattern::Template(keep)));
            let transforms: Vec<&Transform> = innermost_first().flat_map(|long| &long.transform).collect();
            sampler.shaped(kept, &transforms, self.name, index)
        });
        let regex = innermost_first().find_map(|long| long.regex.as_deref());
        if let Some(dated) = self.dated(context, regex) {
            return Value::String(dated);
        }
        let patterns = label.map(|(pattern, _)| pattern.as_str()).into_iter().chain(regex);
        patterns.map(Pattern::Plain).fold(value, fitting)
    }

    /// Returns a value in which the extractor's regex finds a date, or `None` if it looks for none.
    fn dated(&self, context: &Context<'_>, regex: Option<&str>) -> Option<String> {
        let source = self.sources.iter().find(|(kind, _)| *kind == "regex").map(|(_, pattern)| *pattern);
        let pattern = Pattern::Plain(regex.or(source)?);
        let is_date = matches!(field_type(self.name), Some((FieldType::Date, _)));
        let mut dates = context.sampler.dates(self.name, self.index).filter(|_| is_date);
        dates.find_map(|date| {
            if context.matches(pattern, &date) {
                return Some(date);
            }
            let text = context.sampled_with(pattern, self.index, &[(1, date.clone())])?;
            // The regex of a source is applied to the whole answer, in which the date is put later.
            text.contains(&date).then(|| if regex.is_some() { text } else { date })
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
    let readings = [own].into_iter().chain(metadata).map(|reading| {
        let given = named.and_then(|named| reading.given_by(named));
        Reading { index, given, ..reading }
    });
    let readings: Vec<Reading<'_>> = readings.collect();
    let text = |reading: &Reading<'_>| as_text(&reading.value(context, None));
    Some(match kind {
        "css" => {
            let mut element = element_of(argument, String::new());
            for reading in &readings {
                match (reading.sources.first(), element.attributes.first_mut()) {
                    (Some(("css", inner)), _) => element.inside.push(element_of(inner, text(reading))),
                    (Some(("value", _)), Some((_, read))) => *read = text(reading),
                    (Some(("value", _)), None) => element.text = text(reading),
                    _ => {}
                }
            }
            Part::Element(element)
        }
        "regex" => {
            let groups = readings.iter().filter_map(|reading| match *reading.sources.first()? {
                ("group", number) => Some((number.parse().ok()?, text(reading))),
                ("value", _) => Some((1, text(reading))),
                _ => None,
            });
            let mut groups: Vec<(usize, String)> = groups.collect();
            // The last group comes first, because a replacement moves the text after it.
            groups.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
            let line = context.sampled_with(Pattern::Template(argument), index, &groups)?;
            // The pattern may not allow the address of this account.
            Part::Line(Some(line).filter(|line| named.is_none_or(|named| line.contains(&named.address)))?)
        }
        "header" => Part::Header(argument.to_owned(), text(readings.first()?)),
        "lines" => Part::Row(text(readings.first()?)),
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
        let part = reading.sources.iter().find_map(|(kind, argument)| match *kind {
            "json" | "count" => reading.in_document(context, kind, argument, &value),
            "value" => reading.in_document(context, "json", "", &value),
            _ => None,
        });
        if let Some(Part::Json { pointer, value, .. }) = part
            && !place(&mut element, &pointer, &value)
            && reading.given.is_some()
            && let Some(known) = text_at(&mut element, &pointer)
        {
            *known = as_text(&value);
        }
    }
    for (name, value) in record.iter().filter_map(Value::as_object).flatten() {
        place(&mut element, std::slice::from_ref(name), value);
    }
    Some(element)
}
