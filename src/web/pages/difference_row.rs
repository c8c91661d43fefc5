//! How the pages show a result that differs between two runs: the texts of `difference-cells.html` and
//! `difference-fields.html`.

use std::borrow::Cow;

use serde_json::Value;

use crate::model::diff::{Difference, RunSide, Undecided};
use crate::model::entity::identified::web_address;

/// The most members and modules of one result, and the most characters of a value.
pub(super) const MOST_DETAILS: usize = 8;
const MOST_CHARS: usize = 200;

pub(super) fn href(difference: &Difference) -> Option<String> {
    let address = difference.profile_url.as_deref().or(difference.value.as_deref());
    address.and_then(web_address).map(String::from)
}

pub(super) fn reason(undecided: &Undecided) -> String {
    let run = if undecided.run == RunSide::Before { "earlier" } else { "later" };
    let why = undecided.reason.map(|reason| format!(" ({})", reason.as_phrase())).unwrap_or_default();
    format!("{} {} in the {run} search{why}", undecided.module, undecided.cause.as_phrase())
}

/// Returns the beginning of a value of the metadata as text.
pub(super) fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => Cow::from("none"),
        Value::String(text) => text.into(),
        other => other.to_string().into(),
    };
    let start: String = text.chars().take(MOST_CHARS).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}
