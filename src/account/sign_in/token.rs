//! Tokens: 256 random bits that a client has, of which the store contains only the SHA-256.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::base::encoding::sha256;
use crate::base::secret::{Secret, random};
use crate::model::account::SecretHash;

const BYTES: usize = 32;

/// A token in the form that a client has: 43 characters of base64url.
#[derive(Debug, Clone)]
pub struct Token(Secret<String>);

impl Token {
    /// Generates a token from the system's random numbers.
    pub fn generate() -> Self {
        Self(Secret::new(URL_SAFE_NO_PAD.encode(random::<BYTES>())))
    }

    /// Parses a token that a client sent. Returns `None` for a malformed one.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        (bytes.len() == BYTES).then(|| Self(Secret::new(text.to_owned())))
    }

    /// Returns the token itself, for the client.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// Returns the hash by which the store identifies the token.
    pub fn hash(&self) -> SecretHash {
        SecretHash(sha256(self.expose()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_and_never_prints() {
        let token = Token::generate();
        assert_eq!(token.expose().len(), 43);
        assert_eq!(Token::parse(token.expose()).unwrap().hash(), token.hash());
        assert_ne!(Token::generate().hash(), token.hash());
        assert_eq!(format!("{token:?} {:?}", token.hash()), "Token([redacted]) SecretHash([redacted])");
        for bad in ["", "abc", &token.expose()[1..], &format!("{}=", token.expose()), &"é".repeat(22)] {
            assert!(Token::parse(bad).is_none(), "{bad}");
        }
    }
}
