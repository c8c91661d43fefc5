//! The data of a result that differs between two runs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use url::Url;

use crate::model::diff::FieldChange;
use crate::model::entity::merge::SOURCES;
use crate::model::run::ResultRecord;
use crate::runs::leads::lead::FOUND_BY;

/// Members that say nothing about the entity: how it was found, and the time that an answer stays in a cache, which
/// passes from request to request.
const LEFT_OUT: [&str; 3] = [SOURCES, FOUND_BY, "ttl_seconds"];
/// Members that identify an entity or its owner, in the order in which they are shown.
const IDENTITY: &str = "type value username user_id display_name real_name name first_name last_name email verified \
     suspended website links bio location company";
/// Parts of the names of members that hold the address of an image.
const IMAGES: [&str; 7] = ["avatar", "banner", "cover", "image", "photo", "picture", "thumbnail"];

/// Returns the members that differ, also type and value if the identity is written differently: what identifies first,
/// counts and times last.
pub(super) fn differences(
    before: &ResultRecord,
    after: &ResultRecord,
    is_other_identity: bool,
) -> Vec<FieldChange> {
    let change =
        |name: &str, before: Value, after: Value| FieldChange { name: name.to_owned(), before, after };
    let mut all = Vec::new();
    if is_other_identity {
        all.push(change("type", json!(before.result_type), json!(after.result_type)));
        all.push(change("value", json!(before.value), json!(after.value)));
    }
    let names: BTreeSet<&String> = before.metadata.keys().chain(after.metadata.keys()).collect();
    let value = |of: &Map<String, Value>, name: &str| of.get(name).cloned().unwrap_or(Value::Null);
    let shown = names.into_iter().filter(|name| !LEFT_OUT.contains(&name.as_str()));
    all.extend(shown.map(|name| change(name, value(&before.metadata, name), value(&after.metadata, name))));
    all.retain(|change| !is_same(&change.name, &change.before, &change.after));
    all.sort_by_cached_key(|change| (rank(change), change.name.clone()));
    all
}

/// Returns the position of a change in the list: identity, other data, and what changes by itself.
fn rank(FieldChange { name, before, after }: &FieldChange) -> (usize, bool) {
    let place = IDENTITY.split(' ').position(|known| known == name).unwrap_or(usize::MAX);
    let is_number = |value: &Value| value.is_number() || value.is_null();
    (place, (is_number(before) && is_number(after)) || name.ends_with("_at"))
}

/// Returns whether two values say the same. The order of a list does not count, nor do the parameters in the address of
/// an image, which often are a signature with a time.
fn is_same(name: &str, before: &Value, after: &Value) -> bool {
    if before == after {
        return true;
    }
    match (before, after) {
        (Value::String(before), Value::String(after)) if IMAGES.iter().any(|word| name.contains(word)) => {
            matches!((file(before), file(after)), (Some(before), Some(after)) if before == after)
        }
        _ => unordered(before) == unordered(after),
    }
}

/// Returns the address of a file without its parameters.
fn file(address: &str) -> Option<Url> {
    let mut url = Url::parse(address).ok().filter(|url| url.has_host() && url.path() != "/")?;
    url.set_query(None);
    url.set_fragment(None);
    Some(url)
}

/// Returns a text that is the same for values that differ only in the order of lists and members.
fn unordered(value: &Value) -> String {
    match value {
        Value::Array(all) => {
            let mut all: Vec<String> = all.iter().map(unordered).collect();
            all.sort_unstable();
            format!("[{}]", all.join(","))
        }
        Value::Object(members) => {
            let members: BTreeMap<&String, String> =
                members.iter().map(|(name, value)| (name, unordered(value))).collect();
            format!("{members:?}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(metadata: &Value) -> ResultRecord {
        serde_json::from_value(json!({
            "id": 1, "type": "account", "entity_type": "account", "platform": "GitHub", "value": "octocat",
            "confidence": 0.9, "source": "github", "created_at": "2026-05-06T07:08:09Z", "metadata": metadata,
        }))
        .unwrap()
    }

    fn names(before: &Value, after: &Value) -> Vec<String> {
        let all = differences(&record(before), &record(after), false);
        all.into_iter().map(|change| change.name).collect()
    }

    #[test]
    fn what_identifies_comes_first_and_what_counts_comes_last() {
        let before =
            json!({"followers": 1, "badge": "a", "last_seen_at": "x", "display_name": "A", "bio": "b"});
        let after =
            json!({"followers": 2, "badge": "b", "last_seen_at": "y", "display_name": "B", "website": "c"});
        let wanted = ["display_name", "website", "bio", "badge", "followers", "last_seen_at"];
        assert_eq!(names(&before, &after), wanted);
    }

    #[test]
    fn values_that_say_the_same_are_no_change() {
        let image = |name: &str, query: &str| json!({ name: format!("https://cdn.example/a.png{query}") });
        let same = [
            (json!({"links": ["a", {"b": 1, "c": 2}]}), json!({"links": [{"c": 2, "b": 1}, "a"]})),
            (json!({"sources": [1]}), json!({"sources": [2]})),
            (json!({"ttl_seconds": 30}), json!({"ttl_seconds": 29})),
            (image("avatar_url", "?e=1&s=a"), image("avatar_url", "?e=2&s=b")),
        ];
        for (before, after) in same {
            assert_eq!(names(&before, &after), [""; 0], "{before}");
        }
        let differ = [
            (json!({"links": ["a", "a"]}), json!({"links": ["a"]})),
            (json!({"links": ["a,b"]}), json!({"links": ["a", "b"]})),
            (json!({"n": 1}), json!({"n": "1"})),
            (json!({"n": {"a": null}}), json!({"n": {}})),
            (image("website", "?a=1"), image("website", "?a=2")),
            (
                json!({"avatar_url": "https://a.example/?id=1"}),
                json!({"avatar_url": "https://a.example/?id=2"}),
            ),
        ];
        for (before, after) in differ {
            assert_eq!(names(&before, &after).len(), 1, "{before}");
        }
    }
}
