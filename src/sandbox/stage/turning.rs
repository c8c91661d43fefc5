//! Answers of several pages: the first leads to a second, and that is the last.

use serde_json::Value;
use url::Url;

use super::plant::{self, Plant};
use super::reading::Reading;
use super::scene::{Scene, verbatim};
use crate::modules::definition::Extractor;

/// Stands in the address of a second page, and in no other.
const MARK: &str = "990002";

/// What the first page at `url` needs so that it leads to a second one; `None`: the probe has no pages.
pub(super) fn lead(scene: &Scene<'_>, probe: usize, url: &Url) -> Option<Plant> {
    let pages = scene.entry.probes.get(probe)?.pages.as_ref()?;
    if pages.url.is_some() {
        return holding(scene, &pages.next, MARK);
    }
    let mut next = url.clone();
    next.query_pairs_mut().append_pair("page", MARK);
    holding(scene, &pages.next, next.as_str())
}

/// Whether it is the address of a second page.
pub(super) fn is_second(url: &Url) -> bool {
    url.as_str().contains(MARK)
}

/// A plant in which the extractor finds this text.
fn holding(scene: &Scene<'_>, extractor: &Extractor, text: &str) -> Option<Plant> {
    let reading = Reading::of(extractor);
    let value = match reading.first(|long| long.regex.as_ref()) {
        Some(pattern) => scene.sampled_with(&verbatim(pattern), 0, &[(1, text.to_owned())])?,
        None => text.to_owned(),
    };
    let last =
        reading.sources.iter().find(|(kind, _)| *kind == "regex").and_then(|(_, pattern)| the_last(pattern));
    if let Some(line) =
        last.and_then(|pattern| scene.sampled_with(&verbatim(&pattern), 0, &[(1, value.clone())]))
    {
        return Some(Plant::Line(line));
    }
    plant::planted(scene, &reading, &Value::String(value), 0)
}

/// The part of a regex that looks for the last place of something in the whole body: what comes before it
/// need not be made up.
fn the_last(pattern: &str) -> Option<String> {
    let (flags, rest) = match pattern.split_once(')') {
        Some((flags, rest)) if flags.starts_with("(?") && !flags.contains([':', '<']) => {
            (format!("{flags})"), rest)
        }
        _ => (String::new(), pattern),
    };
    let place = rest.strip_prefix(r"\A.*").or_else(|| rest.strip_prefix("^.*"))?;
    Some(format!("{flags}{}", place.strip_prefix('?').unwrap_or(place)))
}
