//! When two findings are the same entity, and what becomes of the second one.
//!
//! # Equality
//! By type and canonical value. Most types name a thing that is the same wherever it is found; the others
//! are equal within a **scope** alone:
//!
//! | type | compared by | scope |
//! |---|---|---|
//! | `account`, `profile` | the value, to the letter | platform |
//! | `email` | lower case, host as below | |
//! | `domain`, `subdomain`, `registration` | host: IDNA-encoded, lower case, no trailing dot | |
//! | `ip_address` | the address (an IPv4 one in IPv6 clothes is the IPv4 one) | |
//! | `url` | as the URL standard writes it, without an empty fragment | |
//! | `archive` | likewise | `archive` of the metadata |
//! | `dns_record` | the text; hosts as above where the record is one | `record_type` and `name` of the metadata |
//! | `phone` | the digits, `+` in front where it is international | |
//! | `person_name`, `username` | case and white space do not count | |
//! | `technology` | likewise | `kind`, `network`, `service` and `team_id` of the metadata |
//! | `breach` | nor do `-` and `_`, but between digits | |
//! | `certificate` | `serial` of the metadata where it has 64 bits, else a fingerprint of as many, or a URL | |
//! | | else any text, as a short serial number | `issuer` of the metadata, else module |
//! | `public_key` | 64 bits or more in hex, type and body of an SSH key, another text as long, `key_sha256` of the metadata | |
//! | | else any text, as the address of its owner | module |
//! | `tenant` | case does not count | platform, unless it is a UUID |
//! | `reputation` | the text: it is one source's opinion | module |
//! | no value, or a type of another version | the text | module |
//!
//! A `username` is the name, whoever's and wherever: a name on a platform is an `account`. An `email`, `phone`
//! or `breach` is what it is for whomever a search asks about.
//!
//! The key is made of what the first source said, and merging changes none of that (a member that is compared
//! is the same in both, or in neither): so a stored record has the key that it was stored under.
//!
//! # Merging
//! See [`merge`]: the first source gives id, value, platform, `source` and date; a later one adds itself to
//! `metadata.sources`, members that were missing, and some confidence.

mod canonical;
pub mod merge;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::run::ResultRecord;
use crate::modules::definition::ResultType;

/// What makes a result unique in its run: 16 bytes of a SHA-256 of type, scope and canonical value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityKey(pub [u8; 16]);

impl EntityKey {
    /// The key of a result.
    pub fn of(record: &ResultRecord) -> Self {
        let identity = Identity::of(record);
        let mut hash = Sha256::new();
        add(&mut hash, Some(&record.result_type));
        // Scopes of two parts, of one, and of none stay apart: each says how many there are.
        hash.update([u8::try_from(identity.scope.len()).unwrap_or(u8::MAX)]);
        for part in &identity.scope {
            add(&mut hash, Some(part));
        }
        add(&mut hash, identity.value.as_deref());
        let whole: [u8; 32] = hash.finalize().into();
        let mut key = [0; 16];
        key.copy_from_slice(&whole[..16]);
        Self(key)
    }
}

/// Lengths keep ("a", "bc") and ("ab", "c") apart; the tag keeps no value and an empty one apart.
fn add(hash: &mut Sha256, part: Option<&str>) {
    let (tag, text) = part.map_or((0u8, ""), |text| (1, text));
    hash.update([tag]);
    hash.update((text.len() as u64).to_be_bytes());
    hash.update(text.as_bytes());
}

/// Where and as what a result is compared.
struct Identity {
    scope: Vec<String>,
    value: Option<String>,
}

impl Identity {
    fn of(record: &ResultRecord) -> Self {
        match (kind(&record.result_type), record.value.as_deref()) {
            (Some(kind), Some(value)) => Self::of_kind(kind, value, record),
            (_, value) => Self { scope: vec![record.source.clone()], value: value.map(str::to_owned) },
        }
    }

    fn of_kind(kind: ResultType, value: &str, record: &ResultRecord) -> Self {
        use canonical as form;
        let platform = || vec![form::folded(record.platform.as_deref().unwrap_or(&record.source))];
        let (scope, value) = match kind {
            ResultType::Account | ResultType::Profile => (platform(), value.trim().to_owned()),
            ResultType::Email => (vec![], form::email(value)),
            ResultType::Domain | ResultType::Subdomain | ResultType::Registration => {
                (vec![], form::host(value))
            }
            ResultType::IpAddress => (vec![], form::ip_address(value)),
            ResultType::Url => (vec![], form::url(value)),
            ResultType::Archive => (members(kind, record), form::url(value)),
            ResultType::DnsRecord => {
                let record_type = form::folded(text_of(record, "record_type").unwrap_or_default());
                let name = form::host(text_of(record, "name").unwrap_or_default());
                let value = form::dns_value(&record_type, value);
                (vec![record_type, name], value)
            }
            ResultType::Phone => (vec![], form::phone(value)),
            ResultType::Technology => (members(kind, record), form::folded(value)),
            ResultType::PersonName | ResultType::Username => (vec![], form::folded(value)),
            ResultType::Breach => (vec![], form::breach(value)),
            ResultType::Certificate => match form::certificate(value, text_of(record, "serial")) {
                form::Named::Alone(value) => (vec![], value),
                form::Named::Within(value) => (issuer(record), value),
            },
            ResultType::PublicKey => match form::public_key(value, text_of(record, "key_sha256")) {
                form::Named::Alone(value) => (vec![], value),
                form::Named::Within(value) => (vec![record.source.clone()], value),
            },
            ResultType::Tenant if form::is_uuid(value) => (vec![], form::folded(value)),
            ResultType::Tenant => (platform(), form::folded(value)),
            ResultType::Reputation => (vec![record.source.clone()], value.to_owned()),
        };
        Self { scope, value: Some(value) }
    }
}

/// The forms of all members that are part of what a result of this type is.
fn members(kind: ResultType, record: &ResultRecord) -> Vec<String> {
    let texts = kind.identifying().iter().map(|name| text_of(record, name).unwrap_or_default());
    texts.map(canonical::folded).collect()
}

/// Who numbers certificates: the issuer, else nobody but the module itself (told apart by the empty part).
fn issuer(record: &ResultRecord) -> Vec<String> {
    match text_of(record, "issuer").map(canonical::folded).filter(|issuer| !issuer.is_empty()) {
        Some(issuer) => vec![issuer],
        None => vec![String::new(), record.source.clone()],
    }
}

fn text_of<'a>(record: &'a ResultRecord, member: &str) -> Option<&'a str> {
    record.metadata.get(member).and_then(Value::as_str)
}

fn kind(name: &str) -> Option<ResultType> {
    let name: StrDeserializer<'_, Error> = name.into_deserializer();
    ResultType::deserialize(name).ok()
}
