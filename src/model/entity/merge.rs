//! Merging of several sources of one result.
//!
//! Every result has `metadata.sources` from its first source on: an array of `{module, platform, confidence}` in the
//! order in which the sources were found, with each module once. The name is reserved: a member `sources` that a
//! module extracts is dropped. Results of earlier versions have no such member until a source is added.
//!
//! # Confidence
//! Sources that agree raise the confidence of a result, but only a little, because they often copy from each other.
//! Of each platform only the source with the highest confidence counts, because two modules that query one service
//! are not independent. The result begins with the highest confidence. Each of the next four sources (`COUNTED_PLATFORMS`)
//! reduces the distance to 1 by a quarter of its own confidence:
//!
//! ```text
//! 1 - (1 - highest) × (1 - second/4) × … × (1 - fifth/4)
//! ```
//!
//! The value is rounded to two decimals, is at most 0.99, and is never below the highest confidence. It depends only
//! on the sources, not on their order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::run::ResultRecord;
use crate::modules::kept::KeptAnswer;

/// The member of the metadata that lists the sources.
pub const SOURCES: &str = "sources";
/// The maximum number of sources that a result lists. Later ones change nothing.
pub const MAX_SOURCES: usize = 64;
/// The maximum size of the metadata's JSON text to which later sources may add members, in bytes.
pub const MAX_METADATA_BYTES: usize = 32 * 1024;
/// The maximum number of sources that count besides the one with the highest confidence.
const COUNTED_PLATFORMS: usize = 4;
/// The part of the distance to 1 by which each of them reduces it, as a factor of its own confidence.
const SHARE: f64 = 0.25;
/// The highest confidence that can result from agreement alone.
const MOST: f64 = 0.99;

/// One source of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Module id: see `GET /v1/modules`.
    pub module: String,
    /// Name of the platform; null where there is none.
    pub platform: Option<String>,
    /// Confidence that this source gives, from 0.0 to 1.0.
    pub confidence: f64,
    /// The judged answer, if the search has kept it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<KeptAnswer>,
}

impl Source {
    fn of(record: &ResultRecord) -> Self {
        Self {
            module: record.source.clone(),
            platform: record.platform.clone(),
            confidence: record.confidence,
            evidence: None,
        }
    }
}

/// Their values are texts and numbers, so this cannot fail.
fn list(sources: &[Source]) -> Value {
    serde_json::to_value(sources).unwrap_or_default()
}

/// Adds the list of sources to a new result, with its first source and the evidence of it.
pub fn name_source(record: &mut ResultRecord, evidence: Option<KeptAnswer>) {
    let sources = list(&[Source { evidence, ..Source::of(record) }]);
    // The member is removed first, so that it does not stay at the position of a module's own member of that name.
    record.metadata.shift_remove(SOURCES);
    record.metadata.insert(SOURCES.into(), sources);
}

/// Returns the ids of the modules that found a result, in the order in which they did.
pub fn modules(record: &ResultRecord) -> Vec<String> {
    sources(record).into_iter().map(|source| source.module).collect()
}

/// Returns the sources of a result. A result of an earlier version has only its first source.
pub fn sources(record: &ResultRecord) -> Vec<Source> {
    let named = record.metadata.get(SOURCES).cloned().map(serde_json::from_value::<Vec<Source>>);
    match named {
        Some(Ok(sources)) if !sources.is_empty() => sources,
        _ => vec![Source::of(record)],
    }
}

/// The name of a screenshot among the kept answers of modules.
pub const SCREENSHOT: &str = "screenshot";

/// Returns what was kept as evidence for a result: the answers of modules by their ids, and a screenshot.
pub fn evidence(record: &ResultRecord) -> Vec<(String, KeptAnswer)> {
    let screenshot = record.annotation.as_ref().and_then(|noted| noted.screenshot.clone());
    let answers = sources(record).into_iter().filter_map(|source| Some((source.module, source.evidence?)));
    answers.chain(screenshot.map(|kept| (SCREENSHOT.to_owned(), kept))).collect()
}

/// Adds a later source of the same entity to a result. `found` is the result that the source alone would have. A
/// module that is already listed only adds members. Returns `false` if nothing has changed.
pub fn merge(record: &mut ResultRecord, found: &ResultRecord) -> bool {
    let (mut known, later) = (sources(record), sources(found));
    if known.iter().any(|source| source.module == found.source) {
        return add_missing(&mut record.metadata, &found.metadata);
    }
    if known.len() >= MAX_SOURCES {
        return false;
    }
    known.extend(later.into_iter().take(1));
    record.confidence = combined(&known);
    record.metadata.insert(SOURCES.into(), list(&known));
    add_missing(&mut record.metadata, &found.metadata);
    true
}

/// Adds the members that are missing. Returns whether it has added any.
fn add_missing(metadata: &mut Map<String, Value>, found: &Map<String, Value>) -> bool {
    let missing: Vec<(&String, &Value)> =
        found.iter().filter(|(name, _)| name.as_str() != SOURCES && !metadata.contains_key(*name)).collect();
    if missing.is_empty() {
        return false;
    }
    let before = metadata.len();
    let mut size = json_bytes(metadata);
    for (name, value) in missing {
        // These are the sizes of both texts, and of the `,` and `:` between them.
        let added = json_bytes(name) + json_bytes(value) + 2;
        if size + added <= MAX_METADATA_BYTES {
            size += added;
            metadata.insert(name.clone(), value.clone());
        }
    }
    metadata.len() > before
}

fn combined(sources: &[Source]) -> f64 {
    let mut platforms: BTreeMap<&str, f64> = BTreeMap::new();
    for source in sources {
        let confidence = if source.confidence.is_finite() { source.confidence.clamp(0.0, 1.0) } else { 0.0 };
        let highest = platforms.entry(source.platform.as_deref().unwrap_or(&source.module)).or_default();
        *highest = highest.max(confidence);
    }
    let mut confidences: Vec<f64> = platforms.into_values().collect();
    confidences.sort_by(|one, other| other.total_cmp(one));
    let Some((highest, others)) = confidences.split_first() else { return 0.0 };
    let gap =
        others.iter().take(COUNTED_PLATFORMS).fold(1.0 - highest, |gap, other| gap * (1.0 - other * SHARE));
    let rounded = ((1.0 - gap) * 100.0).round() / 100.0;
    rounded.min(MOST).max(*highest)
}

/// Returns the length of a value's JSON text. A value that has none, which no map of values is, counts as too large.
fn json_bytes(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX / 4, |text| text.len())
}
