//! Ed25519 signatures ([RFC 8032](https://www.rfc-editor.org/rfc/rfc8032)) and their keys.
//!
//! A private key is a file in PEM ([RFC 8410](https://www.rfc-editor.org/rfc/rfc8410)), as
//! `openssl genpkey -algorithm ed25519` writes it. A public key is the Base64 of its 32 bytes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;

/// A key with which signatures are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Parses the Base64 of a key.
    ///
    /// # Errors
    /// Returns what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bytes = BASE64.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| {
            "expected a public Ed25519 key: 32 bytes in Base64, as `sightline catalog sign` prints it"
                .to_owned()
        })
    }

    /// Returns whether `signature` is the signature in Base64 of this message with the private key.
    pub fn verifies(&self, message: &[u8], signature: &str) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, self.0);
        BASE64.decode(signature).is_ok_and(|signature| key.verify(message, &signature).is_ok())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64.encode(self.0))
    }
}

/// A private key.
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// Reads the PEM of a key.
    ///
    /// # Errors
    /// Returns what was expected. The message contains nothing of the text.
    pub fn from_pem(pem: &str) -> Result<Self, String> {
        let key = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).ok();
        let key = key.and_then(|der| Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der()).ok());
        key.map(Self).ok_or_else(|| {
            "expected a private Ed25519 key in PEM, as `openssl genpkey -algorithm ed25519` writes it"
                .to_owned()
        })
    }

    /// Returns the key with which others check the signatures.
    pub fn public_key(&self) -> PublicKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(bytes)
    }

    /// Returns the signature of a message, in Base64.
    pub fn sign(&self, message: &[u8]) -> String {
        BASE64.encode(self.0.sign(message))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The example of RFC 8410, section 10.
    pub(crate) const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
        -----END PRIVATE KEY-----\n";
    const PUBLIC: &str = "Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=";

    #[test]
    fn the_key_of_the_standard_is_read() {
        assert_eq!(SigningKey::from_pem(PEM).unwrap().public_key().to_string(), PUBLIC);
        assert_eq!(PublicKey::parse(PUBLIC).unwrap().to_string(), PUBLIC);
    }

    #[test]
    fn only_the_signed_message_is_verified_and_only_with_the_right_key() {
        let other = PEM.replace("BCIEINTu", "BCIEINTv");
        let key = SigningKey::from_pem(&other).unwrap();
        let signature = key.sign(b"message");
        assert!(key.public_key().verifies(b"message", &signature));
        assert!(!key.public_key().verifies(b"massage", &signature));
        assert!(!key.public_key().verifies(b"message", &signature[1..]));
        assert!(!PublicKey::parse(PUBLIC).unwrap().verifies(b"message", &signature));
    }

    #[test]
    fn other_keys_are_refused_without_their_text() {
        for text in ["", "c2VjcmV0", &PUBLIC[..40], &format!("{PUBLIC}\n")] {
            assert!(PublicKey::parse(text).unwrap_err().contains("32 bytes in Base64"), "{text}");
        }
        let broken = PEM.replace("MC4CAQAw", "MC4CAQAx");
        for text in ["", "secret", &broken, &PEM.replace("PRIVATE", "PUBLIC")] {
            let Err(error) = SigningKey::from_pem(text) else { panic!("{text} is accepted") };
            assert!(error.contains("in PEM") && !error.contains("secret"), "{error}");
        }
    }
}
