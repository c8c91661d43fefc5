//! What is kept as JSON text: results, module reports, progress; and the cleaning of hostile text.
//!
//! What sites answer ends up here, and everything written must be readable again, on both databases:
//!
//! - U+0000 in a document is written as the escape `\u0000`, which both databases keep (PostgreSQL in
//!   `json`, not in `jsonb`): nothing is lost. In a plain text column ([`plain`]: email addresses, labels,
//!   queries) PostgreSQL refuses it; there it becomes U+FFFD, on both.
//! - JSON readers stop at 128 levels. In metadata, what nests deeper than [`METADATA_DEPTH`] is kept as the
//!   text of its JSON.
//! - A confidence that is no number (JSON has no NaN) is kept as 0.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::limits::METADATA_DEPTH;
use crate::base::storage::StorageError;
use crate::modules::outcome::Outcome;
use crate::runs::run::{ModuleReport, ResultRecord, RunError};

/// A value as JSON text.
pub(super) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<String, StorageError> {
    serde_json::to_string(value).map_err(StorageError::broken)
}

/// JSON text as a value. The error says where it is wrong, not what stands there.
pub(super) fn decode<T: DeserializeOwned>(text: &str) -> Result<T, StorageError> {
    serde_json::from_str(text).map_err(|e| {
        StorageError::broken(format!(
            "a stored document is unreadable at line {}, column {}",
            e.line(),
            e.column()
        ))
    })
}

/// A result as its row keeps it.
pub(super) fn encode_result(record: &ResultRecord) -> Result<String, StorageError> {
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

/// Why a run fails whose documents cannot be read.
pub(super) fn unreadable() -> RunError {
    RunError {
        code: "store_failed".into(),
        message: "what was stored of this search can no longer be read".into(),
    }
}

/// A module report as an array: 500 of them are rewritten about once a second while a run is live.
type ShortReport<'a> = (Cow<'a, str>, Cow<'a, str>, Outcome, Option<Cow<'a, str>>, Option<u16>, u64);

/// A run's module reports as one document.
pub(super) fn encode_reports(reports: &[ModuleReport]) -> Result<String, StorageError> {
    encode(&reports.iter().map(shorten).collect::<Vec<_>>())
}

fn shorten(report: &ModuleReport) -> ShortReport<'_> {
    (
        Cow::Borrowed(&report.module),
        Cow::Borrowed(&report.platform),
        report.status,
        report.reason.as_deref().map(Cow::Borrowed),
        report.http_status,
        report.elapsed_ms,
    )
}

/// The reports of a document.
pub(super) fn decode_reports(text: &str) -> Result<Vec<ModuleReport>, StorageError> {
    let short: Vec<ShortReport<'_>> = decode(text)?;
    let whole = |(module, platform, status, reason, http_status, elapsed_ms): ShortReport<'_>| ModuleReport {
        module: module.into_owned(),
        platform: platform.into_owned(),
        status,
        reason: reason.map(Cow::into_owned),
        http_status,
        elapsed_ms,
    };
    Ok(short.into_iter().map(whole).collect())
}

/// A text for a plain column: without U+0000, which PostgreSQL refuses.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{FFFD}")) } else { Cow::Borrowed(text) }
}
