//! The results of a report in the order of verdicts and confidence, and what a table shows of each.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::model::entity::identified::web_address;
use crate::model::entity::merge::SOURCES;
use crate::model::notes::Verdict;
use crate::model::run::{ResultRecord, Thumbnails};
use crate::modules::catalog::Catalog;
use crate::runs::pictures::avatar::{AVATAR, Avatar};
use crate::runs::record::RunRecord;

/// The results of a report.
pub(super) struct Listed<'r> {
    /// The tables, each with its title.
    pub(super) tables: Vec<(&'static str, Vec<&'r ResultRecord>)>,
    /// The results that have no data but their value and address, by category.
    pub(super) bare: BTreeMap<&'r str, Vec<&'r ResultRecord>>,
}

/// Groups the results by verdict. Those without data that were not judged are listed by category.
pub(super) fn listed<'r>(run: &'r RunRecord, catalog: &'r Catalog) -> Listed<'r> {
    let mut results = in_order(&run.results);
    let mut bare: BTreeMap<&str, Vec<&ResultRecord>> = BTreeMap::new();
    let is_bare = |it: &mut &ResultRecord| count_of_facts(it) == 0 && facts(it).is_empty();
    for result in results.extract_if(.., is_bare) {
        // The catalogue may not have the module any more.
        let category = catalog.get(&result.source).map_or("other", |module| module.entry().category.as_str());
        bare.entry(category).or_default().push(result);
    }
    let is_judged = results.iter().any(|result| result.verdict().is_some());
    let title = |verdict| match verdict {
        Some(Verdict::Mine) => "Mine",
        Some(Verdict::Unsure) => "Unsure",
        None if is_judged => "Not judged",
        None => "Accounts and other results",
        Some(Verdict::NotMine) => "Not mine",
    };
    let tables = results.chunk_by(|one, other| one.verdict() == other.verdict());
    Listed { tables: tables.map(|group| (title(group[0].verdict()), group.to_vec())).collect(), bare }
}

/// Returns the name that a profile shows.
pub fn name(result: &ResultRecord) -> Option<&str> {
    result.text("display_name").filter(|name| Some(*name) != result.value.as_deref())
}

/// Returns the first and the last year of an account, such as `2011–2024`.
pub fn years(result: &ResultRecord) -> Option<String> {
    let year = |name: &str| Some(result.text(name)?.chars().take(4).collect::<String>());
    let last = year("last_seen_at").or_else(|| year("last_posted_at"));
    match (year("created_at"), last) {
        (Some(first), Some(last)) if first != last => Some(format!("{first}–{last}")),
        (Some(first), None) => Some(format!("since {first}")),
        (_, last) => last,
    }
}

/// Returns how much there is to see of a result beside its value: facts, a picture, what the owner has noted.
pub fn count_of_facts(result: &ResultRecord) -> usize {
    let texts = ["display_name", "bio", "location", "created_at", "last_seen_at", "last_posted_at"];
    let texts = texts
        .iter()
        .filter(|name| result.text(name).is_some_and(|text| Some(text) != result.value.as_deref()));
    let has_more = Avatar::of(&result.metadata).is_some() || result.metadata.contains_key("followers");
    texts.count() + usize::from(has_more) + usize::from(result.annotation.is_some())
}

/// Returns the results: what is mine first and what is not mine last, in each those with the highest confidence first.
pub(in crate::report) fn in_order(results: &[ResultRecord]) -> Vec<&ResultRecord> {
    let mut results: Vec<&ResultRecord> = results.iter().collect();
    results.sort_by(|a, b| {
        a.rank().cmp(&b.rank()).then(b.confidence.total_cmp(&a.confidence)).then(a.id.cmp(&b.id))
    });
    results
}

/// Returns the address of the value, which need not be one of the web, and its text.
pub(super) fn value(result: &ResultRecord) -> Option<(&str, &str)> {
    let link = result.profile_url();
    let text = result.value.as_deref().or(link)?;
    Some((link.unwrap_or(text), text))
}

/// Returns the thumbnail of a result as a PNG in Base64.
pub(super) fn thumbnail(thumbnails: &Thumbnails, result: u32) -> Option<String> {
    thumbnails.get(&result).map(|png| STANDARD.encode(png))
}

/// Returns the metadata of a result that are listed. Sources have their own line, and the picture is shown. The address of
/// a profile is the link of the value if it is a valid web address.
pub fn facts(result: &ResultRecord) -> Vec<(&String, &Value)> {
    let is_web = |value: &Value| value.as_str().is_none_or(|url| web_address(url).is_some());
    let is_fact = |(name, value): &(&String, &Value)| match name.as_str() {
        SOURCES | AVATAR => false,
        "profile_url" => result.value.is_some() && !is_web(value),
        _ => !value.is_null(),
    };
    result.metadata.iter().filter(is_fact).collect()
}

/// Returns the items of a list, or the value itself if it is no list or a deeper one.
pub fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => items,
        other => std::slice::from_ref(other),
    }
}
