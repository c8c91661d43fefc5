//! What the rows of a table say of a result.

use serde_json::Value;

use crate::base::text::plain;
use crate::model::run::{ModuleReport, ResultRecord};
use crate::modules::outcome::Outcome;
use crate::runs::record::RunRecord;

/// The metadata of people that rows show.
const OF_PEOPLE: [&str; 5] = ["display_name", "real_name", "bio", "job_title", "location"];
/// The metadata of other results that rows show first.
const FIRST: [&str; 6] = ["kind", "service", "record_type", "name", "role", "issuer"];
/// Metadata that rows show elsewhere, or not at all.
const HIDDEN: [&str; 6] = ["sources", "profile_url", "avatar_url", "banner_url", "avatar", "found_by"];
/// The most members of metadata that a row shows.
const MOST: usize = 3;

/// Returns what the row says of a result beside its value: the name, the text and the place of a person, else the first
/// members of its metadata.
pub(super) fn about(result: &ResultRecord) -> String {
    let text = |name: &&str| result.metadata.get(*name)?.as_str().map(str::trim);
    let is_new = |text: &&str| !text.is_empty() && Some(*text) != result.value.as_deref();
    let mut parts: Vec<String> =
        OF_PEOPLE.iter().filter_map(text).filter(is_new).map(str::to_owned).collect();
    parts.dedup();
    if parts.is_empty() && !is_account(result) {
        let first = FIRST.iter().filter_map(|name| result.metadata.get_key_value(*name));
        let others = result.metadata.iter();
        let others =
            others.filter(|(name, _)| !FIRST.contains(&name.as_str()) && !HIDDEN.contains(&name.as_str()));
        let members = first
            .chain(others)
            .filter_map(|(name, value)| Some(format!("{} {}", name.replace('_', " "), shown(value)?)));
        parts = members.take(MOST).collect();
    }
    parts.join(" · ")
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is_so) => Some(if *is_so { "yes" } else { "no" }.to_owned()),
        _ => None,
    }
}

/// Returns whether a result is an account or a profile, which needs no word for its kind.
pub(super) fn is_account(result: &ResultRecord) -> bool {
    matches!(result.result_type.as_str(), "account" | "profile")
}

/// Returns the page that a person wants to open, if it is not the value itself.
pub(super) fn page_of(result: &ResultRecord) -> Option<&str> {
    let page = result.metadata.get("profile_url")?;
    let page = page.as_str().or_else(|| page.get(0)?.as_str())?;
    Some(page).filter(|page| Some(*page) != result.value.as_deref())
}

/// Returns the modules that found nothing, in the order of the outcomes and of their platforms.
pub(super) fn without_hits(run: &RunRecord) -> Vec<(Outcome, Vec<&ModuleReport>)> {
    let others = Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Hit);
    others
        .map(|outcome| (outcome, run.modules_that(outcome)))
        .filter(|(_, modules)| !modules.is_empty())
        .collect()
}

/// Returns the name of a module's platform, with the reason of its outcome.
pub(super) fn with_reason(module: &ModuleReport) -> String {
    let platform = plain(&module.platform);
    match module.reason {
        Some(reason) => format!("{platform} ({})", reason.as_phrase()),
        None => platform.into_owned(),
    }
}
