//! API keys: `sl_live_` + 30 base62 characters + 6 base62 characters of CRC-32 over what precedes.
//!
//! The checksum refuses a mistyped key without a look-up and lets secret scanners find a leaked one.
//! The store knows the SHA-256 and the last four characters alone.

use std::fmt;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::base::ids::{AccountId, KeyId};
use crate::base::secret::Secret;

/// What every key starts with.
pub const PREFIX: &str = "sl_live_";
const SECRET_CHARS: usize = 30;
const CHECKSUM_CHARS: usize = 6;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// SHA-256 of a whole key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(pub [u8; 32]);

impl KeyHash {
    /// Whether both are the same, in a time that does not tell where they differ.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash([redacted])")
    }
}

/// A whole key of the right form. Prints as redacted.
#[derive(Debug, Clone)]
pub struct ApiKey(Secret<String>);

/// The text is no key: wrong prefix, length, characters or checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedKey;

impl fmt::Display for MalformedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an API key of this service (wrong form or checksum)")
    }
}

impl std::error::Error for MalformedKey {}

impl ApiKey {
    /// A new key from the system's random numbers.
    ///
    /// # Errors
    /// When the system gives none.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut text = String::with_capacity(PREFIX.len() + SECRET_CHARS + CHECKSUM_CHARS);
        text.push_str(PREFIX);
        while text.len() < PREFIX.len() + SECRET_CHARS {
            let mut bytes = [0u8; 48];
            getrandom::fill(&mut bytes)?;
            // 248 = 4 * 62: larger bytes are thrown away, so that each character is equally likely.
            for byte in
                bytes.into_iter().filter(|byte| *byte < 248).take(PREFIX.len() + SECRET_CHARS - text.len())
            {
                text.push(char::from(BASE62[usize::from(byte % 62)]));
            }
        }
        let checksum = checksum(&text);
        text.push_str(&checksum);
        Ok(Self(Secret::new(text)))
    }

    /// Reads a key.
    ///
    /// # Errors
    /// [`MalformedKey`] says nothing of what is wrong: whoever has a key copies it whole.
    pub fn parse(text: &str) -> Result<Self, MalformedKey> {
        let whole = PREFIX.len() + SECRET_CHARS + CHECKSUM_CHARS;
        let fits = text.len() == whole
            && text.starts_with(PREFIX)
            && text.bytes().skip(PREFIX.len()).all(|b| b.is_ascii_alphanumeric());
        if !fits {
            return Err(MalformedKey);
        }
        let (body, sum) = text.split_at(whole - CHECKSUM_CHARS);
        if checksum(body) == sum { Ok(Self(Secret::new(text.to_owned()))) } else { Err(MalformedKey) }
    }

    /// The key itself, to be shown once.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// What the store knows it by.
    pub fn hash(&self) -> KeyHash {
        KeyHash(Sha256::digest(self.expose().as_bytes()).into())
    }

    /// The last four characters.
    pub fn last_four(&self) -> &str {
        let text = self.expose();
        &text[text.len() - 4..]
    }
}

fn checksum(body: &str) -> String {
    let mut rest = crc32fast::hash(body.as_bytes());
    let mut digits = [b'0'; CHECKSUM_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().copied().map(char::from).collect()
}

/// What is known of a key after it was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Identifier, not secret.
    pub id: KeyId,
    /// Owner.
    pub account: AccountId,
    /// SHA-256 of the key.
    pub hash: KeyHash,
    /// Last four characters.
    pub last_four: String,
    /// The owner's word for it; may be empty, at most 100 characters.
    pub label: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last seen, to about a minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_is_read_back_and_a_changed_one_is_not() {
        let key = ApiKey::generate().unwrap();
        let text = key.expose();
        assert_eq!(text.len(), 44);
        assert!(ApiKey::parse(text).unwrap().hash().is_same(&key.hash()));
        assert!(text.ends_with(key.last_four()));
        for position in PREFIX.len()..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[position] = if changed[position] == b'a' { b'b' } else { b'a' };
            assert!(ApiKey::parse(std::str::from_utf8(&changed).unwrap()).is_err(), "position {position}");
        }
        for bad in ["", "sl_live_", &text[1..], &format!("{text} "), &text.replace("live", "test")] {
            assert!(ApiKey::parse(bad).is_err());
        }
    }

    #[test]
    fn a_key_never_prints() {
        let key = ApiKey::generate().unwrap();
        assert!(!format!("{key:?} {:?}", key.hash()).contains(key.last_four()));
    }
}
