//! API keys: `sl_live_`, 30 base62 characters, and 6 base62 characters of a CRC-32 of the preceding text.
//!
//! With the checksum, a mistyped key is refused without a query of the store, and secret scanners can recognise a
//! leaked key. The store contains only the SHA-256 and the last four characters.

use crate::base::encoding::sha256;
use crate::base::secret::{Secret, random};
use crate::model::account::SecretHash;

/// The prefix of each key.
pub const PREFIX: &str = "sl_live_";

const SECRET_CHARS: usize = 30;

const CHECKSUM_CHARS: usize = 6;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A complete, well-formed key. Its debug output is redacted.
#[derive(Debug, Clone)]
pub struct ApiKey(Secret<String>);

impl ApiKey {
    /// Generates a key from the system's random numbers.
    pub fn generate() -> Self {
        let mut text = String::with_capacity(PREFIX.len() + SECRET_CHARS + CHECKSUM_CHARS);
        text.push_str(PREFIX);
        while text.len() < PREFIX.len() + SECRET_CHARS {
            // Since 248 = 4 * 62, larger bytes are dropped, so that all characters are equally likely.
            for byte in random::<48>()
                .into_iter()
                .filter(|byte| *byte < 248)
                .take(PREFIX.len() + SECRET_CHARS - text.len())
            {
                text.push(char::from(BASE62[usize::from(byte % 62)]));
            }
        }
        let checksum = checksum(&text);
        text.push_str(&checksum);
        Self(Secret::new(text))
    }

    /// Parses a text as a key. Returns `None` if its prefix, length, characters or checksum are wrong.
    pub fn parse(text: &str) -> Option<Self> {
        let whole = PREFIX.len() + SECRET_CHARS + CHECKSUM_CHARS;
        let fits = text.len() == whole
            && text.starts_with(PREFIX)
            && text.bytes().skip(PREFIX.len()).all(|b| b.is_ascii_alphanumeric());
        // A text of other characters may not be cut there.
        let (body, sum) = text.split_at_checked(whole - CHECKSUM_CHARS)?;
        (fits && checksum(body) == sum).then(|| Self(Secret::new(text.to_owned())))
    }

    /// Returns the key itself, which is shown only once.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// Returns the hash by which the store identifies the key.
    pub fn hash(&self) -> SecretHash {
        SecretHash(sha256(self.expose()))
    }

    /// Returns the last four characters.
    pub fn last_four(&self) -> &str {
        let text = self.expose();
        &text[text.len() - 4..]
    }
}

fn checksum(body: &str) -> String {
    let mut crc = flate2::Crc::new();
    crc.update(body.as_bytes());
    let mut rest = crc.sum();
    let mut digits = [b'0'; CHECKSUM_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().copied().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_is_read_back_and_a_changed_one_is_not() {
        let key = ApiKey::generate();
        let text = key.expose();
        assert_eq!(text.len(), 44);
        assert_eq!(ApiKey::parse(text).unwrap().hash(), key.hash());
        assert!(text.ends_with(key.last_four()));
        for position in PREFIX.len()..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[position] = if changed[position] == b'a' { b'b' } else { b'a' };
            assert!(ApiKey::parse(std::str::from_utf8(&changed).unwrap()).is_none(), "position {position}");
        }
        for bad in ["", "sl_live_", &text[1..], &format!("{text} "), &text.replace("live", "test")] {
            assert!(ApiKey::parse(bad).is_none());
        }
    }

    #[test]
    fn a_key_never_prints() {
        let key = ApiKey::generate();
        assert!(!format!("{key:?} {:?}", key.hash()).contains(key.last_four()));
    }
}
