//! Identifiers that are never searched, of which only keyed hashes are known.
//!
//! A list is a text file. Each line is a type, the id of the key, and a hash:
//!
//! ```text
//! # asked for on 2026-11-02
//! email 5f1d0c3a 8c1f…64 hexadecimal digits
//! ```
//!
//! The hash is an HMAC-SHA-256 with the operator's key of `sightline-suppress-1`, a zero byte, the type, a zero byte,
//! and the folded normal form of the identifier. That is the normal form that is searched (see
//! [`crate::modules::query`]) in Unicode's NFKC form, with each character lower-cased, upper-cased and lower-cased
//! again. Therefore case, width, IDNA, a leading `@`, blanks or an address around a domain do not evade the list.
//! Exactly that identifier is suppressed, and no other address at its domain, no subdomain and no plus-tag.
//!
//! The key's id is the first four bytes of the same HMAC of `sightline-suppress-key-id`, so a list that was made with
//! another key is refused instead of suppressing nothing. Without the key, guesses cannot be compared with the file.

use std::collections::HashSet;

use ring::hmac;
use unicode_normalization::UnicodeNormalization;

use crate::base::encoding::{hex, unhex};
use crate::base::secret::Secret;
use crate::modules::query::{Query, SearchType};

const ENTRY: &[u8] = b"sightline-suppress-1\0";
const KEY_ID: &[u8] = b"sightline-suppress-key-id";

/// The operator's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuppressKey(Secret<String>);

impl SuppressKey {
    /// Creates a key from the bytes of a text.
    pub fn new(key: Secret<String>) -> Self {
        Self(key)
    }

    /// Returns the line of a list that suppresses this identifier.
    pub fn line(&self, query: &Query) -> String {
        format!("{} {} {}", query.search_type(), self.id(), hex(&self.hash(query)))
    }

    fn id(&self) -> String {
        hex(&self.mac(&[KEY_ID])[..4])
    }

    fn hash(&self, query: &Query) -> [u8; 32] {
        self.mac(&[ENTRY, query.search_type().as_str().as_bytes(), b"\0", folded(query.normal()).as_bytes()])
    }

    fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.expose().as_bytes());
        let mut mac = [0; 32];
        mac.copy_from_slice(hmac::sign(&key, &parts.concat()).as_ref());
        mac
    }
}

/// Returns one form for all spellings that may mean the same identifier.
fn folded(normal: &str) -> String {
    // Upper-casing gives equal results for characters with the same capital letter: ς and σ, or ß, ẞ and ss.
    let cased = normal.nfkc().flat_map(char::to_lowercase).flat_map(char::to_uppercase);
    cased.flat_map(char::to_lowercase).nfkc().collect()
}

/// A list of identifiers that are never searched.
#[derive(Debug, Default)]
pub struct Suppressed {
    list: Option<(SuppressKey, HashSet<[u8; 32]>)>,
}

impl Suppressed {
    /// Parses a list. Blank lines and those that begin with `#` are ignored.
    ///
    /// # Errors
    /// Returns the number of the first invalid line and why it is invalid, without its text, which may include an identifier.
    pub fn parse(text: &str, key: SuppressKey) -> Result<Self, String> {
        let id = key.id();
        let mut hashes = HashSet::new();
        for (number, line) in (1..).zip(text.strip_prefix('\u{feff}').unwrap_or(text).lines()) {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                hashes.insert(read_line(line, &id).map_err(|why| format!("line {number}: {why}"))?);
            }
        }
        Ok(Self { list: Some((key, hashes)) })
    }

    /// Returns the number of identifiers.
    pub fn count(&self) -> usize {
        self.list.as_ref().map_or(0, |(_, hashes)| hashes.len())
    }

    /// Returns whether the query must not be searched.
    pub fn holds(&self, query: &Query) -> bool {
        self.list.as_ref().is_some_and(|(key, hashes)| hashes.contains(&key.hash(query)))
    }
}

fn read_line(line: &str, key_id: &str) -> Result<[u8; 32], String> {
    const FORM: &str = "not an entry: expected TYPE KEY-ID HASH, as `sightline suppress hash` writes it";
    let parts: Vec<&str> = line.split_ascii_whitespace().collect();
    let [kind, id, hash] = parts[..] else { return Err(FORM.to_owned()) };
    if SearchType::from_name(kind).is_none() {
        return Err("the type is unknown: expected domain, email or username".to_owned());
    }
    let hash = unhex(hash).and_then(|hash| hash.try_into().ok()).ok_or(FORM)?;
    if !id.eq_ignore_ascii_case(key_id) {
        return Err("made with another key than that of --suppress-key".to_owned());
    }
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> SuppressKey {
        SuppressKey::new(Secret::new("a-key-for-tests-0123456789".into()))
    }

    fn query(kind: SearchType, text: &str) -> Query {
        Query::parse(kind, text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
    }

    fn list(kind: SearchType, text: &str) -> Suppressed {
        Suppressed::parse(&key().line(&query(kind, text)), key()).unwrap()
    }

    #[test]
    fn nothing_else_is_suppressed() {
        use SearchType::{Domain, Email, Username};
        let emails = list(Email, "jane@example.com");
        for other in ["jane+x@example.com", "jan@example.com", "jane@www.example.com", "j.ane@example.com"] {
            assert!(!emails.holds(&query(Email, other)), "{other}");
        }
        assert!(!emails.holds(&query(Username, "jane")));
        assert!(!emails.holds(&query(Domain, "example.com")));
        // The hash of the text with another type is different.
        assert!(!list(Domain, "example.com").holds(&query(Username, "example.com")));
        assert!(!Suppressed::default().holds(&query(Username, "jane")));
    }

    #[test]
    fn the_derivation_is_the_documented_one() {
        // printf 'sightline-suppress-1\0email\0jane@example.com' | openssl dgst -sha256 -hmac KEY
        let line = key().line(&query(SearchType::Email, "Jane@Example.com"));
        assert_eq!(line, DOCUMENTED);
    }

    const DOCUMENTED: &str =
        "email db80c10f f85020b874ddf28519ddf2751597788293615fd75c99b6f3195495d523297033";

    proptest! {
        #[test]
        fn folding_is_idempotent(text in "\\PC{0,20}") {
            let once = folded(&text);
            prop_assert_eq!(folded(&once), once);
        }

        #[test]
        fn case_never_evades_suppression(name in "[a-zA-Zéüñ0-9._-]{1,30}") {
            if let Ok(listed) = Query::parse(SearchType::Username, &name) {
                let list = Suppressed::parse(&key().line(&listed), key()).unwrap();
                for spelling in [name.to_uppercase(), name.to_lowercase(), format!("@{name}")] {
                    if let Ok(query) = Query::parse(SearchType::Username, &spelling) {
                        prop_assert!(list.holds(&query), "{}", spelling);
                    }
                }
            }
        }
    }
}
