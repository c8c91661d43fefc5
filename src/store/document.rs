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

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use super::error::Result;
use super::limits::METADATA_DEPTH;
use crate::base::storage::StorageError;
use crate::model::run::{ModuleReport, ResultRecord};

/// Encodes a value as JSON text.
pub(super) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(StorageError::broken)
}

/// Encodes ids for the fragment `ids`, as an array of `[ID]`.
pub(super) fn encode_ids(ids: impl IntoIterator<Item = Uuid>) -> Result<String> {
    encode(&ids.into_iter().map(|id| [id]).collect::<Vec<_>>())
}

/// Decodes JSON text. The error has the position, and nothing of the text.
pub(super) fn decode<T: DeserializeOwned>(text: &str) -> Result<T> {
    let unreadable =
        |line, column| format!("a stored document is unreadable at line {line}, column {column}");
    serde_json::from_str(text).map_err(|error| StorageError::broken(unreadable(error.line(), error.column())))
}

/// Encodes a result for its row.
pub(super) fn encode_result(record: &ResultRecord) -> Result<String> {
    let mut record = record.clone();
    record.metadata.values_mut().for_each(|value| flatten(value, METADATA_DEPTH));
    record.confidence = if record.confidence.is_finite() { record.confidence } else { 0.0 };
    encode(&record)
}

fn flatten(value: &mut Value, levels: usize) {
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => *value = Value::String(value.to_string()),
        Value::Array(items) => items.iter_mut().for_each(|item| flatten(item, levels - 1)),
        Value::Object(members) => members.values_mut().for_each(|item| flatten(item, levels - 1)),
        _ => {}
    }
}

/// Encodes module reports, each as an array, which is shorter than an object.
pub(super) fn encode_reports<'a>(reports: &'a [ModuleReport]) -> Result<String> {
    let shorten = |report: &'a ModuleReport| {
        let ModuleReport { module, platform, rules, .. } = report;
        let ModuleReport { status, reason, http_status, elapsed_ms, circuit, partial, engine, .. } = *report;
        (module, platform, status, reason, http_status, elapsed_ms, circuit, rules, partial, engine)
    };
    encode(&reports.iter().map(shorten).collect::<Vec<_>>())
}

/// Decodes the module reports of a run: the arrays that [`encode_reports`] has written, separated by commas.
pub(super) fn decode_reports(text: &str) -> Result<Vec<ModuleReport>> {
    let text = format!("[{text}]");
    if let Ok(reports) = decode::<Vec<Vec<ModuleReport>>>(&text) {
        return Ok(reports.into_iter().flatten().collect());
    }
    // Earlier versions have written the rules in the place of the circuit.
    let mut stored: Vec<Vec<Vec<Value>>> = decode(&text)?;
    for report in stored.iter_mut().flatten() {
        if report.get(6).is_some_and(Value::is_string) {
            report.insert(6, Value::Null);
        }
    }
    let reports = stored.into_iter().flatten().map(|report| serde_json::from_value(report.into()));
    reports.collect::<Result<_, _>>().map_err(|_| StorageError::broken("a stored report is unreadable"))
}
