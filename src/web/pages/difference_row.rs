//! A result that differs between two runs, as a row of a table.

use serde_json::Value;

use crate::base::text::plain;
use crate::model::diff::{Difference, RunSide, Undecided};
use crate::model::entity::identified::web_address;

/// The most members and modules of one result, and the most characters of a value.
const MOST_DETAILS: usize = 8;
const MOST_CHARS: usize = 200;

/// The data of a difference in a table.
pub(super) struct DifferenceRow {
    pub(super) kind: String,
    pub(super) platform: String,
    pub(super) value: String,
    pub(super) href: Option<String>,
    pub(super) fields: Vec<Field>,
    pub(super) reasons: Vec<String>,
}

/// A member of a result with its two values.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) before: String,
    pub(super) after: String,
}

impl DifferenceRow {
    pub(super) fn new(difference: &Difference) -> Self {
        let text = |text: &Option<String>| text.as_deref().map(shown).unwrap_or_default();
        let value = difference.value.as_deref();
        Self {
            kind: difference.result_type.replace('_', " "),
            platform: text(&difference.platform),
            value: text(&difference.value),
            href: difference.profile_url.as_deref().or(value).and_then(web_address).map(String::from),
            fields: difference
                .fields
                .iter()
                .take(MOST_DETAILS)
                .map(|field| Field {
                    name: plain(&field.name).replace('_', " "),
                    before: of_json(&field.before),
                    after: of_json(&field.after),
                })
                .collect(),
            reasons: difference.undecided.iter().take(MOST_DETAILS).map(reason).collect(),
        }
    }
}

fn reason(undecided: &Undecided) -> String {
    let run = if undecided.run == RunSide::Before { "earlier" } else { "later" };
    let why = undecided.reason.map(|reason| format!(" ({})", reason.as_phrase())).unwrap_or_default();
    format!("{} {} in the {run} search{why}", plain(&undecided.module), undecided.cause.as_phrase())
}

fn of_json(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => shown(text),
        other => shown(&other.to_string()),
    }
}

fn shown(text: &str) -> String {
    let start: String = text.chars().take(MOST_CHARS).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    format!("{}{more}", plain(&start))
}
