//! Several sources of one result.
//!
//! Every result has `metadata.sources`, from its first source on: an array of `{module, platform,
//! confidence}` in the order in which they came, each module once. The name is taken: what a module itself
//! extracts as `sources` is dropped. Results of versions before this one have no such member until a source
//! joins them.
//!
//! # Confidence
//! Sources that agree make a result surer, but not by much: they often copy from each other. Of each platform
//! only the surest source counts, since two modules that ask one service are one witness. The surest of all
//! gives the start; each of the next four (`WITNESSES`) closes a quarter of its own confidence of what is
//! left to 1:
//!
//! ```text
//! 1 - (1 - surest) × (1 - second/4) × … × (1 - fifth/4)
//! ```
//!
//! rounded to two decimals, at most 0.99, never below the surest. It depends on the sources alone, not on the
//! order in which they came.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::runs::run::ResultRecord;

/// The member of the metadata that names the sources.
pub const SOURCES: &str = "sources";
/// The most sources that a result names; later ones change nothing.
pub const MAX_SOURCES: usize = 64;
/// Later sources add no member that would take the metadata's JSON text beyond this.
pub const MAX_METADATA_BYTES: usize = 32 * 1024;
/// How many sources beyond the surest one count.
const WITNESSES: usize = 4;
/// What each of them closes of the gap to 1, in parts of its own confidence.
const SHARE: f64 = 0.25;
/// Agreement alone makes nothing certain.
const MOST: f64 = 0.99;

/// One source of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ResultSource)]
pub struct Source {
    /// Module id: see `GET /v1/modules`.
    #[schema(pattern = "^[a-z0-9_.-]{1,64}$", examples("github"))]
    pub module: String,
    /// Name of the platform; null where there is none.
    #[schema(required, examples("GitHub"))]
    pub platform: Option<String>,
    /// How sure this source is: 0.0 to 1.0.
    #[schema(minimum = 0, maximum = 1, examples(0.95))]
    pub confidence: f64,
}

impl Source {
    fn of(record: &ResultRecord) -> Self {
        Self {
            module: record.source.clone(),
            platform: record.platform.clone(),
            confidence: record.confidence,
        }
    }

    fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("module".into(), Value::from(self.module.as_str()));
        members.insert("platform".into(), self.platform.as_deref().map_or(Value::Null, Value::from));
        members.insert("confidence".into(), Value::from(self.confidence));
        Value::Object(members)
    }
}

/// Names a new result's first source.
pub fn name_source(record: &mut ResultRecord) {
    let source = Source::of(record).to_value();
    // In its place, and not where a module's own member of that name stood.
    record.metadata.shift_remove(SOURCES);
    record.metadata.insert(SOURCES.into(), Value::Array(vec![source]));
}

/// The sources that a result names; a result of an earlier version names its first one alone.
pub fn sources(record: &ResultRecord) -> Vec<Source> {
    let named = record.metadata.get(SOURCES).cloned().map(serde_json::from_value::<Vec<Source>>);
    match named {
        Some(Ok(sources)) if !sources.is_empty() => sources,
        _ => vec![Source::of(record)],
    }
}

/// Adds a later source of the same entity to a result: `found` is what it would have been on its own. A
/// module that is named already adds members alone. `false`: nothing changed, since it has no new ones or
/// there are too many sources.
pub fn merge(record: &mut ResultRecord, found: &ResultRecord) -> bool {
    let mut sources = sources(record);
    if sources.iter().any(|source| source.module == found.source) {
        return add_missing(&mut record.metadata, &found.metadata);
    }
    if sources.len() >= MAX_SOURCES {
        return false;
    }
    sources.push(Source::of(found));
    record.confidence = combined(&sources);
    let named = sources.iter().map(Source::to_value).collect();
    record.metadata.insert(SOURCES.into(), Value::Array(named));
    add_missing(&mut record.metadata, &found.metadata);
    true
}

/// Whether one was added.
fn add_missing(metadata: &mut Map<String, Value>, found: &Map<String, Value>) -> bool {
    let missing: Vec<(&String, &Value)> =
        found.iter().filter(|(name, _)| name.as_str() != SOURCES && !metadata.contains_key(*name)).collect();
    if missing.is_empty() {
        return false;
    }
    let before = metadata.len();
    let mut size = json_bytes(metadata);
    for (name, value) in missing {
        // Both texts, and the signs between them: `,` `:`.
        let added = json_bytes(name) + json_bytes(value) + 2;
        if size + added <= MAX_METADATA_BYTES {
            size += added;
            metadata.insert(name.clone(), value.clone());
        }
    }
    metadata.len() > before
}

fn combined(sources: &[Source]) -> f64 {
    let mut witnesses: Vec<(&str, f64)> = Vec::new();
    for source in sources {
        let platform = source.platform.as_deref().unwrap_or(&source.module);
        let confidence = if source.confidence.is_finite() { source.confidence.clamp(0.0, 1.0) } else { 0.0 };
        match witnesses.iter_mut().find(|(known, _)| *known == platform) {
            Some((_, surest)) => *surest = surest.max(confidence),
            None => witnesses.push((platform, confidence)),
        }
    }
    let mut sure: Vec<f64> = witnesses.into_iter().map(|(_, confidence)| confidence).collect();
    sure.sort_by(|one, other| other.total_cmp(one));
    let Some((surest, others)) = sure.split_first() else { return 0.0 };
    let gap = others.iter().take(WITNESSES).fold(1.0 - surest, |gap, other| gap * (1.0 - other * SHARE));
    let rounded = ((1.0 - gap) * 100.0).round() / 100.0;
    rounded.min(MOST).max(*surest)
}

/// Length of a value's JSON text.
fn json_bytes(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // A counter takes everything, and our values have string keys: this cannot fail. If it did, the value
    // would count as too large.
    serde_json::to_writer(&mut counter, value).map_or(usize::MAX / 4, |()| counter.0)
}
