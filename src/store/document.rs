//! JSON documents in text columns (results, module reports, progress), and their hostile text.
//!
//! Documents contain data from sites, and everything that is written must be readable again on both databases:
//!
//! - In a document, U+0000 is written as the escape `\u0000`, which both databases keep (PostgreSQL in `json`, not in
//!   `jsonb`). In a plain text column (email addresses, labels, queries) PostgreSQL refuses it; there it becomes
//!   U+FFFD on both databases (see `value`).
//! - JSON parsers stop at 128 levels. Values in metadata that nest deeper than [`METADATA_DEPTH`] are stored as JSON
//!   text.
//! - A confidence that is not a number is kept as 0, because JSON has no NaN.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::Result;
use super::limits::METADATA_DEPTH;
use crate::base::storage::StorageError;
use crate::model::run::{ModuleReport, ResultRecord};
use crate::modules::outcome::{OpenCircuit, Outcome};
use crate::modules::reason::Reason;
use crate::modules::rules_version::RulesVersion;

/// Encodes a value as JSON text.
pub(super) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(StorageError::broken)
}

/// Decodes JSON text. The error tells the position, and nothing of the text.
pub(super) fn decode<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| {
        StorageError::broken(format!(
            "a stored document is unreadable at line {}, column {}",
            e.line(),
            e.column()
        ))
    })
}

/// A column with JSON text.
pub(super) struct Json<T>(pub(super) T);

/// Encodes a result for its row.
pub(super) fn encode_result(record: &ResultRecord) -> Result<String> {
    let too_deep = record.metadata.values().any(|value| is_deeper_than(value, METADATA_DEPTH));
    if !too_deep && record.confidence.is_finite() {
        return encode(record);
    }
    let mut record = record.clone();
    record.metadata.values_mut().for_each(|value| flatten(value, METADATA_DEPTH));
    record.confidence = if record.confidence.is_finite() { record.confidence } else { 0.0 };
    encode(&record)
}

fn is_deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| is_deeper_than(item, levels - 1)),
        Value::Object(members) => {
            levels == 0 || members.values().any(|item| is_deeper_than(item, levels - 1))
        }
        _ => false,
    }
}

fn flatten(value: &mut Value, levels: usize) {
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => *value = Value::String(value.to_string()),
        Value::Array(items) => items.iter_mut().for_each(|item| flatten(item, levels - 1)),
        Value::Object(members) => members.values_mut().for_each(|item| flatten(item, levels - 1)),
        _ => {}
    }
}

/// A module report as an array, which is shorter than an object. The last two elements are those of a host that was not
/// asked, or of a conclusion.
#[derive(Serialize, Deserialize)]
struct StoredReport<'a>(
    Cow<'a, str>,
    Cow<'a, str>,
    Outcome,
    Option<Reason>,
    Option<u16>,
    u64,
    #[serde(default, skip_serializing_if = "Option::is_none")] Option<Basis>,
    #[serde(default, skip_serializing_if = "Option::is_none")] Option<bool>,
);

/// The open circuit of a host that was not asked, or the version of the rules that led to a conclusion. With the latter
/// it is stored whether only a part was read.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Basis {
    Circuit(OpenCircuit),
    Rules(RulesVersion),
}

/// Encodes module reports.
pub(super) fn encode_reports(reports: &[ModuleReport]) -> Result<String> {
    encode(&reports.iter().map(shorten).collect::<Vec<_>>())
}

fn shorten(report: &ModuleReport) -> StoredReport<'_> {
    let ModuleReport { status, reason, http_status, elapsed_ms, circuit, rules, partial, .. } = *report;
    let (module, platform) = (Cow::Borrowed(&*report.module), Cow::Borrowed(&*report.platform));
    let (basis, partial) = match (circuit, rules) {
        (Some(circuit), _) => (Some(Basis::Circuit(circuit)), None),
        (None, rules) => (rules.map(Basis::Rules), rules.map(|_| partial)),
    };
    StoredReport(module, platform, status, reason, http_status, elapsed_ms, basis, partial)
}

/// Decodes the module reports of a run: the arrays that [`encode_reports`] has written, separated by commas.
pub(super) fn decode_reports(text: &str) -> Result<Vec<ModuleReport>> {
    let stored: Vec<Vec<StoredReport<'_>>> = decode(&format!("[{text}]"))?;
    let whole = |report: StoredReport<'_>| {
        let StoredReport(module, platform, status, reason, http_status, elapsed_ms, basis, partial) = report;
        let (circuit, rules) = match basis {
            Some(Basis::Circuit(circuit)) => (Some(circuit), None),
            Some(Basis::Rules(rules)) => (None, Some(rules)),
            None => (None, None),
        };
        let (module, platform) = (module.into_owned(), platform.into_owned());
        let partial = partial.unwrap_or_default();
        ModuleReport { module, platform, status, reason, http_status, elapsed_ms, circuit, rules, partial }
    };
    Ok(stored.into_iter().flatten().map(whole).collect())
}
