//! [`RulesVersion`]: the version of the rules by which a module judges and reads answers.

use serde::{Deserialize, Serialize};

use super::definition::Entry;
use crate::base::encoding::{hex, sha256};

/// The members of an entry without influence on a conclusion or on what is read.
const NAMES: [&str; 3] = ["id", "platform", "category"];
const OTHERS: &str =
    "tags engine by_default rank nsfw contact home needs every_ms per_day known verified note";

/// Identifies the rules by which a module came to a conclusion, and the source that answered. Other rules may find other
/// things in the same answer, so two conclusions of a module can be compared only if these are equal.
///
/// As text: eight hex digits, and after a dot the number of the fallback if one answered, such as `3f9a1c07.1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RulesVersion(String);

impl RulesVersion {
    /// Returns the version of an entry, with the first source.
    pub(crate) fn of(entry: &Entry) -> Self {
        let mut rules = entry.to_enabled().to_short_json();
        NAMES.iter().for_each(|member| rules[*member] = "".into());
        if let Some(members) = rules.as_object_mut() {
            members.retain(|member, _| !OTHERS.split(' ').any(|other| other == member));
        }
        Self(hex(&sha256(rules.to_string())[..4]))
    }

    /// Returns the version of an engine's rules on a host.
    pub(crate) fn on(&self, host: &str) -> Self {
        Self(hex(&sha256(format!("{} {host}", self.0))[..4]))
    }

    /// Returns the version with the fallback of this number, from 1, or with the first source for 0.
    pub(crate) fn with_fallback(&self, number: usize) -> Self {
        if number > 0 { Self(format!("{}.{number}", self.0)) } else { self.clone() }
    }

    /// Returns whether both are of the same rules, from whichever source.
    pub fn is_of_same_entry(&self, other: &Self) -> bool {
        self.0.split('.').next() == other.0.split('.').next()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn version(member: &str, value: Value) -> RulesVersion {
        let mut entry = json!({
            "id": "m", "platform": "M", "type": "username", "category": "social",
            "probes": [{"url": "https://site.example/{query}"}],
            "hit": [{"status": [200]}], "miss": [{"status": [404]}],
        });
        entry[member] = value;
        RulesVersion::of(&serde_json::from_value(entry).unwrap())
    }

    #[test]
    fn only_what_decides_and_is_read_makes_another_version() {
        let base = version("id", json!("m"));
        for (member, value) in [("id", json!("other")), ("rank", json!(3)), ("known", json!(["alice"]))] {
            assert_eq!(version(member, value), base, "{member}");
        }
        for (member, value) in [
            ("hit", json!([{"status": [201]}])),
            ("weak_miss", json!(true)),
            ("profile", json!("https://site.example/u/{query}")),
            ("result", json!({"type": "profile"})),
        ] {
            assert!(!version(member, value).is_of_same_entry(&base), "{member}");
        }
    }
}
