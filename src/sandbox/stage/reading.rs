//! What one extractor reads, and where: for planting it, and for telling beforehand what is saved.

use serde_json::Value;

use super::dns;
use super::document::{leaf, place, segments, select};
use super::plant::Plant;
use super::rules::{Wanted, wanted};
use super::sample::as_text;
use super::scene::{Scene, verbatim};
use crate::modules::definition::{Extractor, JsonRule, LongExtractor, Transform};

/// An extractor, taken apart.
pub(super) struct Reading<'a> {
    pub(super) sources: Vec<(&'a str, &'a str)>,
    /// The long forms, the outermost first: each but the last has the next as its `inner`.
    pub(super) levels: Vec<&'a LongExtractor>,
}

impl<'a> Reading<'a> {
    pub(super) fn of(extractor: &'a Extractor) -> Self {
        let split = |text: &'a String| text.split_once(':');
        match extractor {
            Extractor::Short(text) => Self { sources: split(text).into_iter().collect(), levels: Vec::new() },
            Extractor::Long(long) => {
                let levels: Vec<&LongExtractor> =
                    std::iter::successors(Some(long), |long| long.inner.as_deref()).collect();
                let from = levels.last().map(|innermost| &innermost.from).into_iter().flatten();
                Self { sources: from.filter_map(split).collect(), levels }
            }
        }
    }

    /// In the order in which they are applied.
    pub(super) fn transforms(&self) -> Vec<Transform> {
        self.levels.iter().rev().flat_map(|long| long.transform.iter().copied()).collect()
    }

    /// The first that an extractor of any level has, from the inside out.
    pub(super) fn first<T>(&self, part: impl Fn(&'a LongExtractor) -> Option<T>) -> Option<T> {
        self.levels.iter().rev().find_map(|long| part(long))
    }
}

impl Reading<'_> {
    /// The last named part of a pointer, where the name of the extractor itself says nothing.
    pub(super) fn leaf(&self) -> Option<&str> {
        let (_, pointer) = self.sources.iter().find(|(kind, _)| matches!(*kind, "json" | "script"))?;
        let leaf = pointer.rsplit('/').find(|part| *part != "*" && part.parse::<usize>().is_err())?;
        (!leaf.is_empty()).then_some(leaf)
    }

    /// The DNS record that it reads from, where it chooses one by its type.
    pub(super) fn record(&self, scene: &Scene<'_>) -> Option<Value> {
        let chosen = filtered(scene, &self.levels.first()?.filter)?;
        dns::record(&scene.sampler, &chosen, scene.query.domain().unwrap_or("example.org"), 0)
    }

    /// What it reads of a planted element.
    pub(super) fn read_back(&self, scene: &Scene<'_>, planted: &Value) -> Option<String> {
        let (kind, argument) = *self.sources.first()?;
        let text = match (kind, self.levels.first()) {
            ("const", _) => argument.to_owned(),
            ("template", _) => scene.text(argument)?,
            (_, Some(outer)) if outer.each.is_some() => {
                let inner = self.levels.iter().skip(1).filter_map(|long| long.each.as_deref());
                let element = inner
                    .map(segments)
                    .try_fold(planted, |element, pointer| select(element, &pointer).into_iter().next())?;
                as_text(select(element, &segments(argument)).first()?)
            }
            _ => as_text(planted),
        };
        let Some(pattern) = self.first(|long| long.regex.as_ref()) else { return Some(text) };
        let regex = scene.regex(&verbatim(pattern))?;
        let groups = regex.captures(&text)?;
        Some(groups.get(1).or(groups.get(0))?.as_str().to_owned())
    }
}

/// A plant for what stands in JSON: of the body, of JSON-LD, of a script.
pub(super) fn in_document(
    scene: &Scene<'_>,
    reading: &Reading<'_>,
    kind: &str,
    argument: &str,
    value: &Value,
) -> Option<Plant> {
    // Elements that are chosen from elsewhere are what the source is relative to.
    let each = reading.levels.first().and_then(|long| long.each.as_deref()?.split_once(':'));
    let (pointer, value) = chosen(scene, reading, argument, value)?;
    Some(match each.map_or(kind, |(kind, _)| kind) {
        "jsonld" => Plant::JsonLd { pointer, value },
        "script" => Plant::Script { pointer, value },
        _ => Plant::Json { pointer, value },
    })
}

/// Where the outermost element stands in which the value is found, and that element.
fn chosen(
    scene: &Scene<'_>,
    reading: &Reading<'_>,
    argument: &str,
    value: &Value,
) -> Option<(Vec<String>, Value)> {
    let mut found = (segments(argument), value.clone());
    for long in reading.levels.iter().rev() {
        let (pointer, value) = found;
        let (at, inside) = match &long.each {
            Some(each) => (segments(each), pointer),
            // `where` speaks of the parent of what is read.
            None if !long.filter.is_empty() => {
                let (leaf, parent) = pointer.split_last()?;
                (parent.to_vec(), vec![leaf.clone()])
            }
            None => (pointer, Vec::new()),
        };
        let mut element = filtered(scene, &long.filter)?;
        if !place(&mut element, &inside, &value) {
            lengthen(&mut element, &inside, &value);
        }
        found = (at, element);
    }
    Some(found)
}

/// A text that a filter has put there already goes on with what is to be read from it.
pub(super) fn lengthen(element: &mut Value, pointer: &[String], more: &Value) {
    if let (Some(Value::String(known)), Some(more)) = (leaf(element, pointer), more.as_str()) {
        known.push(' ');
        known.push_str(more);
    }
}

/// An element that fulfils all of these; null where nothing is asked.
pub(super) fn filtered(scene: &Scene<'_>, rules: &[JsonRule]) -> Option<Value> {
    let mut element = Value::Null;
    for rule in rules {
        if let Wanted::Value(value) = wanted(scene, rule)? {
            place(&mut element, &segments(&rule.at), &value);
        }
    }
    Some(element)
}
