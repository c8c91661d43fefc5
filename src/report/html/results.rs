//! The results by category, in order of confidence.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::model::entity::identified::web_address;
use crate::model::entity::merge::SOURCES;
use crate::model::run::ResultRecord;
use crate::modules::catalog::Catalog;
use crate::runs::pictures::avatar::AVATAR;
use crate::runs::record::RunRecord;

/// The results of a category, those with the highest confidence first.
pub(super) type Category<'r> = (&'r str, Vec<&'r ResultRecord>);

/// Groups the results by category: the category with the most results first.
pub(super) fn categories<'r>(run: &'r RunRecord, catalog: &'r Catalog) -> Vec<Category<'r>> {
    let mut groups: BTreeMap<&str, Vec<&ResultRecord>> = BTreeMap::new();
    for result in by_confidence(&run.results) {
        // The catalogue may not have the module any more.
        let category = catalog.get(&result.source).map_or("other", |module| module.entry().category.as_str());
        groups.entry(category).or_default().push(result);
    }
    let mut groups: Vec<Category<'r>> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| Reverse(group.len()));
    groups
}

/// Returns the results, those with the highest confidence first.
pub(in crate::report) fn by_confidence(results: &[ResultRecord]) -> Vec<&ResultRecord> {
    let mut results: Vec<&ResultRecord> = results.iter().collect();
    results.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then(a.id.cmp(&b.id)));
    results
}

/// Returns the address of the value, which need not be one of the web, and its text.
pub(super) fn value(result: &ResultRecord) -> Option<(&str, &str)> {
    let link = result.profile_url();
    let text = result.value.as_deref().or(link)?;
    Some((link.unwrap_or(text), text))
}

/// Returns the thumbnail of a result as a PNG in Base64.
pub(super) fn thumbnail(run: &RunRecord, result: u32) -> Option<String> {
    run.thumbnails.get(&result).map(|png| STANDARD.encode(png))
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

/// Returns the first letter or digit of a name as a capital letter.
pub fn initial(name: &str) -> String {
    name.chars().find(|c| c.is_alphanumeric()).unwrap_or('?').to_uppercase().collect()
}

/// Returns the items of a list, or the value itself if it is no list or a deeper one.
pub fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => items,
        other => std::slice::from_ref(other),
    }
}
