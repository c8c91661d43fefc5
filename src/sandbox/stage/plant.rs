//! What to put into an answer so that extractors find something there.

use serde_json::Value;

use super::dns;
use super::document::{place, segments};
use super::draft::Form;
use super::reading::{Reading, filtered, in_document, lengthen};
use super::sample::as_text;
use super::scene::{Scene, verbatim};
use crate::modules::definition::{Extractor, ListResult, LongExtractor, ResultType};

/// How many elements a list result gets.
const LIST_LENGTH: usize = 3;

/// One thing to put into an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plant {
    /// Into a JSON body.
    Json { pointer: Vec<String>, value: Value },
    /// Into a JSON-LD block of a page.
    JsonLd { pointer: Vec<String>, value: Value },
    /// Into JSON in a `<script>` of a page.
    Script { pointer: Vec<String>, value: Value },
    /// A `<meta>`.
    Meta { name: String, content: String },
    /// The `<title>`.
    Title(String),
    /// An element that the selector finds.
    Element(Planting),
    /// Text of a body, on a line of its own.
    Line(String),
    /// A line of a body that is a list of lines.
    Row(String),
    /// A header.
    Header { name: String, value: String },
}

/// An element and what stands in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Planting {
    pub(super) selector: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) text: String,
    pub(super) inside: Vec<Planting>,
}

/// What an extractor is to find.
#[derive(Clone, Copy)]
struct Purpose<'a> {
    name: &'a str,
    kind: Option<ResultType>,
    keep: Option<&'a str>,
    /// The DNS record that it reads from.
    record: Option<&'a Value>,
    index: usize,
}

impl<'a> Purpose<'a> {
    fn named(name: &'a str) -> Self {
        Self { name, kind: None, keep: None, record: None, index: 0 }
    }
}

impl Plant {
    /// The form of body that it belongs into; `None`: any.
    pub(super) fn form(&self) -> Option<Form> {
        match self {
            Self::Json { .. } => Some(Form::Json),
            Self::JsonLd { .. }
            | Self::Script { .. }
            | Self::Meta { .. }
            | Self::Title(_)
            | Self::Element(_) => Some(Form::Html),
            Self::Row(_) => Some(Form::Text),
            Self::Line(_) | Self::Header { .. } => None,
        }
    }
}

/// Plants for everything that a hit reads from the answer of that probe, and for what it saves.
/// `last`: whether it is the last answer, which extractors read by default.
pub(super) fn for_probe(scene: &Scene<'_>, probe: usize, last: bool) -> Vec<Plant> {
    let mut plants = Vec::new();
    let reads = |extractor: &Extractor| match extractor {
        Extractor::Long(LongExtractor { probe: Some(at), .. }) => *at == probe,
        _ => last,
    };
    if let Some(main) = &scene.entry.result {
        if let Some(value) = main.value.as_ref().filter(|value| reads(value)) {
            let purpose = Purpose { kind: Some(main.result_type), ..Purpose::named("value") };
            plants.extend(for_extractor(scene, value, purpose));
        }
        for (name, extractor) in main.metadata.iter().filter(|(_, extractor)| reads(extractor)) {
            plants.extend(for_extractor(scene, extractor, Purpose::named(name)));
        }
    }
    plants.extend(for_lists(scene, probe, last, 0));
    plants
}

/// Plants for the lists that a hit reads from a page of that probe's answer; page 0 is the first.
pub(super) fn for_lists(scene: &Scene<'_>, probe: usize, last: bool, page: usize) -> Vec<Plant> {
    let lists = scene.entry.results.iter().filter(|list| list.probe.map_or(last, |at| at == probe));
    let indices = page * LIST_LENGTH..(page + 1) * LIST_LENGTH;
    lists.flat_map(|list| indices.clone().filter_map(|index| for_element(scene, list, index))).collect()
}

/// Plants for what later probes need from the answer of that probe.
pub(super) fn for_saving(scene: &Scene<'_>, probe: usize) -> Vec<Plant> {
    let Some(probe) = scene.entry.probes.get(probe) else { return Vec::new() };
    let saves = probe.save.iter();
    saves.flat_map(|(name, extractor)| for_extractor(scene, extractor, saving(scene, name))).collect()
}

/// A saved value is an address where a later request is sent there.
fn saving<'a>(scene: &Scene<'_>, name: &'a str) -> Purpose<'a> {
    let start = format!("{{saved.{name}}}");
    let is_address = scene.entry.probes.iter().any(|probe| probe.url.starts_with(&start));
    Purpose { kind: is_address.then_some(ResultType::Url), ..Purpose::named(name) }
}

fn for_extractor(scene: &Scene<'_>, extractor: &Extractor, purpose: Purpose<'_>) -> Option<Plant> {
    let reading = Reading::of(extractor);
    let record = reading.record(scene);
    let value = raw_value(scene, &reading, Purpose { record: record.as_ref(), ..purpose });
    planted(scene, &reading, &value, purpose.index)
}

/// The value, where the first source that can hold it reads it.
pub(super) fn planted(
    scene: &Scene<'_>,
    reading: &Reading<'_>,
    value: &Value,
    index: usize,
) -> Option<Plant> {
    reading.sources.iter().find_map(|(kind, argument)| match *kind {
        // Said only where there is such an element.
        "const" | "template" => {
            let chooser = reading.levels.first().filter(|long| long.each.is_some())?;
            let pointer = segments(chooser.each.as_deref()?);
            Some(Plant::Json { pointer, value: filtered(scene, &chooser.filter)? })
        }
        "json" | "count" | "jsonld" | "script" => in_document(scene, reading, kind, argument, value),
        "meta" => Some(Plant::Meta { name: (*argument).to_owned(), content: as_text(value) }),
        "title" => Some(Plant::Title(as_text(value))),
        "css" => Some(Plant::Element(element(argument, as_text(value)))),
        "regex" => {
            let groups = [(0, as_text(value)), (1, as_text(value))];
            scene.sampled_with(&verbatim(argument), index, &groups).map(Plant::Line)
        }
        "header" => Some(Plant::Header { name: (*argument).to_owned(), value: as_text(value) }),
        "cookie" => {
            let cookie = format!("{argument}={}; Path=/", as_text(value));
            Some(Plant::Header { name: "Set-Cookie".to_owned(), value: cookie })
        }
        _ => None,
    })
}

/// A value in the form that the extractor's own changes expect.
fn raw_value(scene: &Scene<'_>, reading: &Reading<'_>, purpose: Purpose<'_>) -> Value {
    let Purpose { name, kind, keep, record, index } = purpose;
    let sampler = &scene.sampler;
    let leaf = reading.leaf();
    let recorded = leaf.and_then(|leaf| record?.get(leaf)).cloned();
    let typed = kind.and_then(|kind| sampler.typed(kind, index));
    let plain = typed.unwrap_or_else(|| sampler.named(leaf.unwrap_or(name), index));
    let mut value = match &recorded {
        Some(value) => value.clone(),
        None => {
            let fitting = keep.map(|keep| scene.fitting(plain.clone(), keep, index));
            sampler.shaped(fitting.unwrap_or_else(|| plain.clone()), &reading.transforms(), name, index)
        }
    };
    let label = reading.first(|long| long.labels.first()).filter(|_| recorded.is_none());
    let regex = reading.first(|long| long.regex.as_ref());
    for pattern in label.map(|(pattern, _)| pattern).into_iter().chain(regex) {
        let fits = scene.regex(pattern).is_some_and(|regex| regex.is_match(&as_text(&value)));
        value = if fits { value } else { scene.fitting(plain.clone(), pattern, index) };
    }
    value
}

fn element(argument: &str, text: String) -> Planting {
    match argument.rsplit_once('@').filter(|(_, attribute)| !attribute.contains([']', '"', ' '])) {
        Some((selector, attribute)) => Planting {
            selector: selector.to_owned(),
            attributes: vec![(attribute.to_owned(), text)],
            ..Planting::default()
        },
        None => Planting { selector: argument.to_owned(), text, ..Planting::default() },
    }
}

/// Plants for one element of a list result.
fn for_element(scene: &Scene<'_>, list: &ListResult, index: usize) -> Option<Plant> {
    let (kind, argument) = list.each.split_once(':')?;
    match kind {
        "json" => Some(Plant::Json { pointer: segments(argument), value: json_element(scene, list, index)? }),
        "jsonld" => {
            Some(Plant::JsonLd { pointer: segments(argument), value: json_element(scene, list, index)? })
        }
        "script" => {
            Some(Plant::Script { pointer: segments(argument), value: json_element(scene, list, index)? })
        }
        "json_lines" => Some(Plant::Row(json_element(scene, list, index)?.to_string())),
        "css" => Some(Plant::Element(html_element(scene, list, argument, index))),
        "regex" => {
            let groups = group_values(scene, list, index);
            scene.sampled_with(argument, index, &groups).map(Plant::Line)
        }
        "header" => {
            Some(Plant::Header { name: argument.to_owned(), value: text_element(scene, list, index)? })
        }
        "lines" => text_element(scene, list, index).map(Plant::Row),
        _ => None,
    }
}

/// All that is read from an element: its value first.
fn readings<'a>(list: &'a ListResult, index: usize) -> impl Iterator<Item = (&'a Extractor, Purpose<'a>)> {
    let kind = Some(list.result_type);
    let keep = list.keep.as_deref();
    let value = Purpose { kind, keep, index, ..Purpose::named(list.result_type.as_str()) };
    let metadata = list
        .metadata
        .iter()
        .map(move |(name, extractor)| (extractor, Purpose { index, ..Purpose::named(name) }));
    list.value.iter().map(move |extractor| (extractor, value)).chain(metadata)
}

fn own_value(scene: &Scene<'_>, list: &ListResult, index: usize) -> Value {
    let nothing = Reading { sources: Vec::new(), levels: Vec::new() };
    let kind = Some(list.result_type);
    let purpose = Purpose::named(list.result_type.as_str());
    raw_value(scene, &nothing, Purpose { kind, keep: list.keep.as_deref(), index, ..purpose })
}

fn json_element(scene: &Scene<'_>, list: &ListResult, index: usize) -> Option<Value> {
    let mut element = filtered(scene, &list.filter)?;
    if list.value.is_none() {
        place(&mut element, &[], &own_value(scene, list, index));
    }
    let record = dns::record(&scene.sampler, &element, scene.query.domain().unwrap_or("example.org"), index);
    for (extractor, purpose) in readings(list, index) {
        let reading = Reading::of(extractor);
        let value = raw_value(scene, &reading, Purpose { record: record.as_ref(), ..purpose });
        for (kind, argument) in &reading.sources {
            let planted = match *kind {
                "json" | "count" => in_document(scene, &reading, kind, argument, &value),
                "value" => Some(Plant::Json { pointer: Vec::new(), value: value.clone() }),
                _ => None,
            };
            let Some(Plant::Json { pointer, value }) = planted else { continue };
            // What a record says is not to be lengthened.
            if !place(&mut element, &pointer, &value) && record.is_none() {
                lengthen(&mut element, &pointer, &value);
            }
            break;
        }
    }
    for (name, value) in record.iter().filter_map(Value::as_object).flatten() {
        place(&mut element, std::slice::from_ref(name), value);
    }
    Some(element)
}

fn html_element(scene: &Scene<'_>, list: &ListResult, argument: &str, index: usize) -> Planting {
    let own = as_text(&own_value(scene, list, index));
    let mut planting = element(argument, if list.value.is_none() { own } else { String::new() });
    for (extractor, purpose) in readings(list, index) {
        let reading = Reading::of(extractor);
        let text = as_text(&raw_value(scene, &reading, purpose));
        match reading.sources.first() {
            Some(("attr", name)) => planting.attributes.push(((*name).to_owned(), text)),
            Some(("css", inner)) => planting.inside.push(element(inner, text)),
            Some(("value", _)) => match planting.attributes.first_mut() {
                Some((_, read)) => *read = text,
                None => planting.text = text,
            },
            _ => {}
        }
    }
    planting
}

/// What is to stand in the groups of an `each` regex, the last group first: a change moves what follows.
fn group_values(scene: &Scene<'_>, list: &ListResult, index: usize) -> Vec<(usize, String)> {
    let mut groups: Vec<(usize, String)> = readings(list, index)
        .filter_map(|(extractor, purpose)| {
            let reading = Reading::of(extractor);
            let (kind, argument) = *reading.sources.first()?;
            let number = match kind {
                "group" => argument.parse().ok()?,
                "value" => 1,
                _ => return None,
            };
            Some((number, as_text(&raw_value(scene, &reading, purpose))))
        })
        .collect();
    if list.value.is_none() {
        groups.push((1, as_text(&own_value(scene, list, index))));
    }
    groups.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    groups
}

/// A line or a header's value: what is read from it, or the value itself.
fn text_element(scene: &Scene<'_>, list: &ListResult, index: usize) -> Option<String> {
    let texts: Vec<String> = readings(list, index)
        .filter_map(|(extractor, purpose)| {
            let reading = Reading::of(extractor);
            match reading.sources.first()? {
                ("value", _) => Some(as_text(&raw_value(scene, &reading, purpose))),
                ("regex", pattern) => {
                    let value = as_text(&raw_value(scene, &reading, purpose));
                    scene.sampled_with(pattern, purpose.index, &[(1, value)])
                }
                _ => None,
            }
        })
        .collect();
    match texts.is_empty() {
        true if list.value.is_none() => Some(as_text(&own_value(scene, list, index))),
        true => None,
        false => Some(texts.join(" ")),
    }
}

/// What later probes will read from the answer of that probe, as far as it can be told beforehand.
pub(super) fn saved_values(scene: &Scene<'_>, probe: usize) -> Vec<(String, String)> {
    let Some(probe) = scene.entry.probes.get(probe) else { return Vec::new() };
    let saves = probe.save.iter();
    saves
        .filter_map(|(name, extractor)| {
            let value = match for_extractor(scene, extractor, saving(scene, name))? {
                Plant::Json { value, .. } | Plant::JsonLd { value, .. } | Plant::Script { value, .. } => {
                    Reading::of(extractor).read_back(scene, &value)?
                }
                Plant::Meta { content, .. } | Plant::Title(content) => content,
                Plant::Element(Planting { attributes, text, .. }) => {
                    attributes.into_iter().next().map_or(text, |(_, value)| value)
                }
                Plant::Header { .. } => {
                    as_text(&raw_value(scene, &Reading::of(extractor), saving(scene, name)))
                }
                Plant::Line(line) => {
                    let (_, pattern) =
                        *Reading::of(extractor).sources.iter().find(|(kind, _)| *kind == "regex")?;
                    let regex = scene.regex(&verbatim(pattern))?;
                    let groups = regex.captures(&line)?;
                    groups.get(1).or(groups.get(0))?.as_str().to_owned()
                }
                Plant::Row(row) => row,
            };
            Some((name.clone(), value))
        })
        .collect()
}
