//! [`RulesVersion`]: the version of the rules by which a module judges and reads answers.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::definition::Entry;

/// The members of an entry without influence on a conclusion or on what is read.
const NAMES: [&str; 3] = ["id", "platform", "category"];
const OTHERS: [&str; 11] =
    ["tags", "rank", "nsfw", "contact", "home", "needs", "every_ms", "per_day", "known", "verified", "note"];

/// Identifies the rules by which a module came to a conclusion, and the source that answered. Other rules may find other
/// things in the same answer, so two conclusions of a module can be compared only if these are equal.
///
/// As text: eight hex digits, and after a dot the number of the fallback if one answered, such as `3f9a1c07.1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RulesVersion {
    digest: u32,
    /// The number of the fallback that answered; 0 if the first source did.
    fallback: u8,
}

impl RulesVersion {
    /// Returns the version of an entry, with the first source.
    pub(crate) fn of(entry: &Entry) -> Self {
        // Cannot fail: the maps of an entry have strings as keys.
        let mut rules = serde_json::to_value(entry.to_enabled()).unwrap_or_default();
        NAMES.iter().for_each(|member| rules[*member] = "".into());
        if let Some(members) = rules.as_object_mut() {
            members.retain(|member, _| !OTHERS.contains(&member.as_str()));
        }
        let text = rules.to_string();
        let [one, two, three, four, ..]: [u8; 32] = Sha256::digest(text).into();
        Self { digest: u32::from_be_bytes([one, two, three, four]), fallback: 0 }
    }

    /// Returns the version with the fallback of this number, from 1, or with the first source for 0.
    pub(crate) fn with_fallback(self, number: usize) -> Self {
        Self { fallback: u8::try_from(number).unwrap_or(u8::MAX), ..self }
    }

    /// Returns whether both are of the same rules, from whichever source.
    pub fn is_of_same_entry(self, other: Self) -> bool {
        self.digest == other.digest
    }
}

impl fmt::Display for RulesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.digest)?;
        if self.fallback > 0 { write!(f, ".{}", self.fallback) } else { Ok(()) }
    }
}

impl TryFrom<String> for RulesVersion {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (digest, fallback) = text.split_once('.').unwrap_or((&text, "0"));
        let is_digest = digest.len() == 8 && digest.bytes().all(|b| b.is_ascii_hexdigit());
        match (u32::from_str_radix(digest, 16), fallback.parse()) {
            (Ok(digest), Ok(fallback)) if is_digest => Ok(Self { digest, fallback }),
            _ => Err("invalid version of rules: expected 8 hex digits and optionally `.` and a number"),
        }
    }
}

impl From<RulesVersion> for String {
    fn from(version: RulesVersion) -> Self {
        version.to_string()
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
            assert!(!version(member, value).is_of_same_entry(base), "{member}");
        }
    }

    #[test]
    fn a_version_is_read_from_its_text() {
        let base = version("id", json!("m"));
        for version in [base, base.with_fallback(1), base.with_fallback(2)] {
            assert_eq!(RulesVersion::try_from(version.to_string()), Ok(version));
            assert!(version.is_of_same_entry(base));
        }
        assert_ne!(base.with_fallback(1), base);
        for bad in ["", "3f9a1c0", "3f9a1c071", "+f9a1c07", "3f9a1c07.", "3f9a1c07.x", "3f9a1c07.256"] {
            assert!(RulesVersion::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
