//! The results by category, in order of confidence.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::overview::category_of;
use crate::model::entity::identified::web_address;
use crate::model::entity::merge::{self, SOURCES};
use crate::model::run::ResultRecord;
use crate::modules::catalog::Catalog;
use crate::runs::pictures::avatar::AVATAR;
use crate::runs::record::RunRecord;

/// The metadata member that is the link of the value.
const PROFILE_URL: &str = "profile_url";

/// The results of a category, those with the highest confidence first.
pub(super) struct Category<'r> {
    pub(super) name: &'r str,
    pub(super) articles: Vec<Article<'r>>,
}

/// A result as the page shows it.
pub(super) struct Article<'r> {
    pub(super) result: &'r ResultRecord,
    pub(super) platform: &'r str,
    /// The PNG in Base64.
    pub(super) thumbnail: Option<String>,
    /// The address of the value, which need not be one of the web, and its text.
    pub(super) value: Option<(&'r str, &'r str)>,
    /// The metadata that are listed.
    pub(super) facts: Vec<(&'r String, &'r Value)>,
    /// The modules that found the result.
    pub(super) modules: Vec<String>,
}

/// Groups the results by category: the category with the most results first.
pub(super) fn categories<'r>(run: &'r RunRecord, catalog: &'r Catalog) -> Vec<Category<'r>> {
    let mut groups: BTreeMap<&str, Vec<&ResultRecord>> = BTreeMap::new();
    for result in &run.results {
        groups.entry(category_of(catalog, &result.source)).or_default().push(result);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| Reverse(group.len()));
    let category = |(name, mut group): (&'r str, Vec<&'r ResultRecord>)| {
        group.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then(a.id.cmp(&b.id)));
        Category { name, articles: group.into_iter().map(|result| article(result, run)).collect() }
    };
    groups.into_iter().map(category).collect()
}

fn article<'r>(result: &'r ResultRecord, run: &RunRecord) -> Article<'r> {
    let link = result.metadata.get(PROFILE_URL).and_then(Value::as_str);
    let text = result.value.as_deref().or(link);
    Article {
        result,
        platform: result.platform.as_deref().unwrap_or(&result.source),
        thumbnail: run.thumbnails.get(&result.id).map(|png| STANDARD.encode(png)),
        value: text.map(|text| (link.unwrap_or(text), text)),
        facts: facts(result),
        modules: merge::modules(result),
    }
}

/// Returns the metadata of a result that are listed.
pub fn facts(result: &ResultRecord) -> Vec<(&String, &Value)> {
    result.metadata.iter().filter(|(name, value)| is_fact(name, value, result)).collect()
}

/// Returns the first letter or digit of a name as a capital letter.
pub fn initial(name: &str) -> String {
    name.chars().find(|c| c.is_alphanumeric()).unwrap_or('?').to_uppercase().collect()
}

/// Returns whether a metadata member is listed as a fact. Sources have a line of their own, and the picture is shown. The address of a
/// profile is the link of the value if it is a valid web address.
fn is_fact(name: &str, value: &Value, result: &ResultRecord) -> bool {
    match name {
        SOURCES | AVATAR => false,
        PROFILE_URL => result.value.is_some() && value.as_str().is_some_and(|url| web_address(url).is_none()),
        _ => !value.is_null(),
    }
}

/// Returns the items of a list, or the value itself if it is no list or a deeper one.
pub fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => items,
        other => std::slice::from_ref(other),
    }
}
