//! Equality of findings, and the merging of equal ones.
//!
//! # Equality
//! Results are equal if their types and canonical values are equal. For most types, the value identifies an entity on
//! every site. For the others, it does so only within a **scope**:
//!
//! | type | compared by | scope |
//! |---|---|---|
//! | `account`, `profile` | the exact value | platform |
//! | `email` | lower case, host as below | |
//! | `domain`, `subdomain`, `registration` | host: IDNA-encoded, lower case, no trailing dot | |
//! | `ip_address` | the address (an IPv4-mapped IPv6 address is the IPv4 address) | |
//! | `url` | its serialization by the URL standard, without an empty fragment | |
//! | `archive` | like `url` | `archive` of the metadata |
//! | `dns_record` | the text; hosts as above where the record is one | `record_type` and `name` of the metadata |
//! | `phone` | the digits, with `+` in front of an international number | |
//! | `person_name`, `username` | without case and white space | |
//! | `technology` | without case and white space | `kind`, `network`, `service` and `team_id` of the metadata |
//! | `breach` | also without `-` and `_`, except between digits | |
//! | `certificate` | `serial` of the metadata if it has 64 bits, or else a fingerprint with as many, or a URL | |
//! | | any other text, such as a short serial number | `issuer` of the metadata, or else the module |
//! | `public_key` | 64 bits or more in hex, type and body of an SSH key, other text as long, `key_sha256` of the metadata | |
//! | | any other text, such as the address of its owner | module |
//! | `tenant` | without case | platform, unless it is a UUID |
//! | `reputation` | the text, since it is the opinion of one source | module |
//! | no value, or a type of another version | the text | module |
//!
//! A `username` is only a name, while a name on a platform is an `account`. An `email`, `phone` or `breach` is the
//! same entity for every query.
//!
//! The key is made of the first source's values, and merging changes none of them: a compared member is equal in both
//! findings, or missing in both. Therefore a stored record keeps the key under which it was stored.
//!
//! # Merging
//! See [`merge`]: the first source gives the id, value, platform, `source` and date. A later one adds itself to
//! `metadata.sources`, adds missing members, and raises the confidence.

mod canonical;
pub mod identified;
pub mod merge;
#[cfg(test)]
pub(crate) mod tests;

pub use canonical::folded;
use serde_json::Value;
use uuid::Uuid;

use crate::base::encoding::sha256;
use crate::model::run::ResultRecord;
use crate::modules::definition::ResultType;

/// The key by which a result is unique in its run: 16 bytes of a SHA-256 of its type, scope and canonical value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityKey(pub [u8; 16]);

impl EntityKey {
    /// Returns the key of a result.
    pub fn of(record: &ResultRecord) -> Self {
        let (scope, value) = identity(record);
        let mut hashed = Vec::new();
        add(&mut hashed, Some(&record.result_type));
        // The number of parts distinguishes scopes of zero, one and two parts.
        hashed.push(u8::try_from(scope.len()).unwrap_or(u8::MAX));
        scope.iter().for_each(|part| add(&mut hashed, Some(part)));
        add(&mut hashed, value.as_deref());
        let mut key = [0; 16];
        key.copy_from_slice(&sha256(hashed)[..16]);
        Self(key)
    }
}

/// Adds one part. The length distinguishes ("a", "bc") from ("ab", "c"), and the tag distinguishes a missing value
/// from an empty one.
fn add(hashed: &mut Vec<u8>, part: Option<&str>) {
    let (tag, text) = part.map_or((0u8, ""), |text| (1, text));
    hashed.push(tag);
    hashed.extend_from_slice(&(text.len() as u64).to_be_bytes());
    hashed.extend_from_slice(text.as_bytes());
}

/// Returns the scope and the canonical value of a result, of which its key is made.
fn identity(record: &ResultRecord) -> (Vec<String>, Option<String>) {
    use canonical as form;
    let (Some(kind), Some(value)) = (ResultType::from_name(&record.result_type), record.value.as_deref())
    else {
        return (vec![record.source.clone()], record.value.clone());
    };
    let platform = || vec![form::folded(record.platform.as_deref().unwrap_or(&record.source))];
    let (scope, value) = match kind {
        ResultType::Account | ResultType::Profile => (platform(), value.trim().to_owned()),
        ResultType::DnsRecord => {
            let record_type = form::folded(text_of(record, "record_type").unwrap_or_default());
            let name = form::host(text_of(record, "name").unwrap_or_default());
            let value = form::dns_value(&record_type, value);
            (vec![record_type, name], value)
        }
        ResultType::Certificate => {
            let (value, is_unique) = form::certificate(value, text_of(record, "serial"));
            (if is_unique { vec![] } else { issuer(record) }, value)
        }
        ResultType::PublicKey => {
            let (value, is_unique) = form::public_key(value, text_of(record, "key_sha256"));
            (if is_unique { vec![] } else { vec![record.source.clone()] }, value)
        }
        ResultType::Tenant if Uuid::try_parse(value.trim()).is_err() => (platform(), form::folded(value)),
        ResultType::Reputation => (vec![record.source.clone()], value.to_owned()),
        ResultType::Archive | ResultType::Technology => (members(kind, record), form::of(kind, value)),
        _ => (vec![], form::of(kind, value)),
    };
    (scope, Some(value))
}

/// Returns the canonical forms of all members that identify a result of this type.
fn members(kind: ResultType, record: &ResultRecord) -> Vec<String> {
    let texts = kind.identifying().iter().map(|name| text_of(record, name).unwrap_or_default());
    texts.map(canonical::folded).collect()
}

/// Returns the scope of a certificate's serial number: the issuer or, marked by the empty part, the module.
fn issuer(record: &ResultRecord) -> Vec<String> {
    match text_of(record, "issuer").map(canonical::folded).filter(|issuer| !issuer.is_empty()) {
        Some(issuer) => vec![issuer],
        None => vec![String::new(), record.source.clone()],
    }
}

fn text_of<'a>(record: &'a ResultRecord, member: &str) -> Option<&'a str> {
    record.metadata.get(member).and_then(Value::as_str)
}
