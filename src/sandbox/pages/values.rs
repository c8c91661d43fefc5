//! Builds the parts of an answer that extractors read.

use serde_json::{Value, json};

use super::context::Context;
use super::dns;
use super::draft::{Draft, Element, Form};
use super::json::{fulfil, place, segments, text_at};
use super::matcher;
use super::sample::as_text;
use crate::modules::definition::{
    Extractor, FieldType, ListResult, LongExtractor, Reads, ResultType, field_type,
};
use crate::modules::pattern::SearchRegex;
use crate::modules::template::Pattern;
use crate::sandbox::people::Named;

/// The number of elements of a list result.
const LIST_LENGTH: usize = 3;

/// An extractor, with the use of the value that it finds.
#[derive(Clone)]
struct Reading<'a> {
    name: &'a str,
    kind: Option<ResultType>,
    keep: Option<&'a Pattern>,
    /// The index of the list element that is read.
    index: usize,
    /// The value that it should find. Otherwise it is a plausible one for its name.
    given: Option<Value>,
    sources: Vec<(&'a str, &'a str)>,
    /// The long forms, the outermost first. Each one except the last has the next one as its `inner`.
    levels: Vec<&'a LongExtractor>,
}

/// Adds everything that a hit reads from the answer to the probe. `last` says whether it is the last answer, which
/// extractors read by default.
pub(super) fn add(context: &Context<'_>, probe: usize, last: bool, draft: &mut Draft) {
    let is_read = |at: Option<usize>| at.map_or(last, |at| at == probe);
    if let Some(main) = &context.entry.result {
        let value = main.value.iter().map(|extractor| Reading {
            kind: Some(main.result_type),
            ..Reading::new("value", Some(extractor))
        });
        let metadata = main.metadata.iter().map(|(name, extractor)| Reading::new(name, Some(extractor)));
        let all = value.chain(metadata).filter(|it| is_read(it.levels.first().and_then(|long| long.probe)));
        for reading in all.flat_map(|reading| reading.given(context)) {
            reading.add(context, draft);
        }
    }
    for list in context.entry.results.iter().filter(|list| is_read(list.probe)) {
        let people = context.people.as_ref().and_then(|people| people.elements(list.result_type));
        let elements: Vec<Option<Named>> =
            people.map_or(vec![None; LIST_LENGTH], |named| named.into_iter().map(Some).collect());
        for (index, named) in elements.into_iter().enumerate() {
            add_element(context, list, index, named.as_ref(), draft);
        }
    }
}

/// Adds the values that later probes need from the answer to the probe.
pub(super) fn add_saved(context: &Context<'_>, probe: usize, draft: &mut Draft) {
    let probes = &context.entry.probes;
    for (name, extractor) in probes.get(probe).into_iter().flat_map(|probe| &probe.save) {
        // The value is an address if the URL of a later probe begins with it.
        let start = format!("{{saved.{name}}}");
        let kind = probes.iter().any(|probe| probe.url.starts_with(&start)).then_some(ResultType::Url);
        Reading { kind, ..Reading::new(name, Some(extractor)) }.add(context, draft);
    }
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

    /// Adds the value where the first source reads it that has a place for it.
    fn add(&self, context: &Context<'_>, draft: &mut Draft) -> bool {
        let chosen = self.levels.first().and_then(|long| fulfil(context, &long.filter));
        let record = chosen.and_then(|chosen| dns::record(context, &chosen, 0));
        let value = self.value(context, record.as_ref());
        let text = || as_text(&value);
        let each = self.levels.first().and_then(|long| long.each.as_deref());
        self.sources.iter().any(|(kind, argument)| match *kind {
            // A constant or template has a value only if its `each` finds an element, so that element is created.
            "const" | "template" if each.is_none() => false,
            "json" | "count" | "jsonld" | "script" | "const" | "template" => {
                let is_fixed = matches!(*kind, "const" | "template");
                let (argument, value) = if is_fixed { ("", &Value::Null) } else { (*argument, &value) };
                let document = each.map_or(*kind, matcher::kind);
                let placed = self.in_document(context, argument, value);
                placed.is_some_and(|(pointer, value)| draft.add_json(document, &pointer, &value))
            }
            "meta" => {
                let key = if argument.contains(':') { "property" } else { "name" };
                let selector = format!("meta[{key}=\"{argument}\"]");
                draft.add_element(Element::new(&selector, Some("content"), text()))
            }
            "title" => draft.add_element(Element::new("title", None, text())),
            "css" => draft.add_element(element_of(argument, text())),
            "regex" => {
                let texts = self.texts(context, &value).into_iter();
                let groups: Vec<_> = texts.flat_map(|text| [(0, text.clone()), (1, text)]).collect();
                let regex = Pattern::parse(argument).ok().and_then(|pattern| context.regex(&pattern));
                let line = regex.and_then(|regex| context.sampled_with(&regex, self.index, &groups));
                line.is_some_and(|line| draft.add_line(line))
            }
            "header" => draft.add_header(argument, &text()),
            "cookie" => draft.add_header("set-cookie", &format!("{argument}={}; Path=/", text())),
            _ => false,
        })
    }

    /// Returns a value as the texts of which a regex may find one. A date has several forms.
    fn texts(&self, context: &Context<'_>, value: &Value) -> Vec<String> {
        let is_date = matches!(field_type(self.name), Some((FieldType::Date, _)));
        let dates = context.sampler.dates(self.name, self.index).filter(|_| is_date);
        dates.chain([as_text(value)]).collect()
    }

    /// Returns the value inside the elements that `each` and `where` select, and where it is in the JSON document.
    fn in_document(
        &self,
        context: &Context<'_>,
        argument: &str,
        value: &Value,
    ) -> Option<(Vec<String>, Value)> {
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
        Some((pointer, value))
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
        let fitting = |value: Value, regex: &SearchRegex| {
            if regex.regex().is_match(&as_text(&value)) {
                return value;
            }
            let texts = self.texts(context, &plain);
            let found = texts.iter().find(|text| regex.regex().is_match(text)).cloned();
            let groups: Vec<_> = texts.into_iter().map(|text| (1, text)).collect();
            let made = found.or_else(|| context.sampled_with(regex, index, &groups));
            made.map_or_else(|| plain.clone(), Value::String)
        };
        let innermost_first = || self.levels.iter().rev();
        let recorded = leaf.and_then(|leaf| record?.get(leaf)).cloned();
        let label = innermost_first().find_map(|long| long.labels.first()).filter(|_| recorded.is_none());
        let value = recorded.unwrap_or_else(|| {
            let keep = self.keep.and_then(|keep| context.regex(keep));
            keep.map_or(plain.clone(), |keep| fitting(plain.clone(), &keep))
        });
        let regex = innermost_first().find_map(|long| long.regex.as_ref());
        label.map(|(regex, _)| regex).into_iter().chain(regex).fold(value, fitting)
    }
}

/// Returns the element for a CSS source, with the text in it or in the attribute that the source names.
fn element_of(argument: &str, text: String) -> Element {
    match argument.rsplit_once('@').filter(|(_, attribute)| !attribute.contains([']', '"', ' '])) {
        Some((selector, attribute)) => Element::new(selector, Some(attribute), text),
        None => Element::new(argument, None, text),
    }
}

/// Adds one element of a list result, which may have to name an account. Returns `None` if there can be none.
fn add_element(
    context: &Context<'_>,
    list: &ListResult,
    index: usize,
    named: Option<&Named>,
    draft: &mut Draft,
) -> Option<bool> {
    let (kind, argument) = list.each.split_once(':')?;
    // The value comes first.
    let own = Reading {
        kind: Some(list.result_type),
        keep: list.keep.as_ref(),
        ..Reading::new(list.result_type.as_str(), list.value.as_ref())
    };
    let metadata = list.metadata.iter().map(|(name, extractor)| Reading::new(name, Some(extractor)));
    let readings = [own].into_iter().chain(metadata).map(|reading| {
        let given = named.and_then(|named| reading.given_by(named));
        Reading { index, given, ..reading }
    });
    let readings: Vec<Reading<'_>> = readings.collect();
    let text = |reading: &Reading<'_>| as_text(&reading.value(context, None));
    Some(match (kind, &list.each.reads) {
        ("css", _) => {
            let mut element = element_of(argument, String::new());
            for reading in &readings {
                match (reading.sources.first(), element.attributes.first_mut()) {
                    (Some(("css", inner)), _) => element.inside.push(element_of(inner, text(reading))),
                    (Some(("value", _)), Some((_, read))) => *read = text(reading),
                    (Some(("value", _)), None) => element.text = text(reading),
                    _ => {}
                }
            }
            draft.add_element(element)
        }
        (_, Reads::Regex(pattern)) => {
            let groups = readings.iter().filter_map(|reading| match *reading.sources.first()? {
                ("group", number) => Some((number.parse().ok()?, text(reading))),
                ("value", _) => Some((1, text(reading))),
                _ => None,
            });
            let mut groups: Vec<(usize, String)> = groups.collect();
            // The last group comes first, because a replacement moves the text after it.
            groups.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
            let line = context.sampled_with(&context.regex(pattern)?, index, &groups)?;
            // The pattern may not allow the address of this account.
            named.is_none_or(|named| line.contains(&named.address)) && draft.add_line(line)
        }
        ("header", _) => draft.add_header(argument, &text(readings.first()?)),
        ("lines", _) => draft.form == Form::Text && draft.add_line(text(readings.first()?)),
        _ => {
            let element = json_element(context, list, &readings)?;
            match kind {
                "json_lines" => draft.form == Form::Text && draft.add_line(element.to_string()),
                _ => draft.add_json(kind, &segments(argument), &element),
            }
        }
    })
}

fn json_element(context: &Context<'_>, list: &ListResult, readings: &[Reading<'_>]) -> Option<Value> {
    let mut element = fulfil(context, &list.filter)?;
    let record = dns::record(context, &element, readings.first()?.index);
    for reading in readings {
        let value = reading.value(context, record.as_ref());
        let part = reading.sources.iter().find_map(|(kind, argument)| match *kind {
            "json" | "count" => reading.in_document(context, argument, &value),
            "value" => reading.in_document(context, "", &value),
            _ => None,
        });
        if let Some((pointer, value)) = part
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
