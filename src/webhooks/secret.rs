//! Signing secrets, and the key that encrypts them in the store.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hmac;

use crate::base::ids::WebhookId;
use crate::base::secret::{Secret, random};
use crate::model::webhook::{NONCE_BYTES, SEALED_BYTES, SECRET_BYTES, SealedSecret};

/// The start of the text of a secret (Standard Webhooks).
pub const PREFIX: &str = "whsec_";

/// A secret with which messages are signed. The receiver has it too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningSecret(Secret<[u8; SECRET_BYTES]>);

impl SigningSecret {
    /// Generates a secret.
    pub fn generate() -> Self {
        Self(Secret::new(random()))
    }

    /// Returns the text that receivers are configured with: `whsec_` and Base64.
    pub fn expose(&self) -> String {
        format!("{PREFIX}{}", BASE64.encode(self.0.expose()))
    }

    /// Returns the signature of a message: `v1,` and the Base64 of its HMAC-SHA256. `id` is the value of `webhook-id`,
    /// `timestamp` that of `webhook-timestamp` in seconds since 1970.
    pub fn sign(&self, id: &str, timestamp: i64, body: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.expose());
        let tag = hmac::sign(&key, format!("{id}.{timestamp}.{body}").as_bytes());
        format!("v1,{}", BASE64.encode(tag))
    }
}

/// The key that encrypts signing secrets in the store (AES-256-GCM).
pub struct SealingKey(LessSafeKey);

impl SealingKey {
    /// Returns the text of a new key: the Base64 of 32 bytes.
    pub fn generate() -> Secret<String> {
        Secret::new(BASE64.encode(random::<SECRET_BYTES>()))
    }

    /// Reads the text of a key. White space around it is ignored.
    ///
    /// # Errors
    /// Returns what was expected. The message contains nothing of the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bytes = BASE64.decode(text.trim()).ok().filter(|bytes| bytes.len() == SECRET_BYTES);
        let key = bytes.and_then(|bytes| UnboundKey::new(&AES_256_GCM, &bytes).ok());
        key.map(|key| Self(LessSafeKey::new(key))).ok_or_else(|| {
            "expected 32 random bytes in Base64, as `openssl rand -base64 32` prints them".to_owned()
        })
    }

    /// Encrypts a secret for a webhook. [`SealingKey::open`] accepts it for no other webhook.
    pub fn seal(&self, webhook: WebhookId, secret: &SigningSecret) -> SealedSecret {
        // A random nonce repeats after about 2^48 secrets, which no service ever has.
        let nonce: [u8; NONCE_BYTES] = random();
        let mut bytes = *secret.0.expose();
        let tag = self
            .0
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(webhook.0.as_bytes()),
                &mut bytes,
            )
            .expect("only texts of many gigabytes cannot be encrypted");
        let mut sealed = [0; SEALED_BYTES];
        let parts = nonce.iter().chain(&bytes).chain(tag.as_ref());
        sealed.iter_mut().zip(parts).for_each(|(place, byte)| *place = *byte);
        SealedSecret(sealed)
    }

    /// Decrypts the secret of a webhook. Returns `None` if it was encrypted with another key, or changed.
    pub fn open(&self, webhook: WebhookId, sealed: &SealedSecret) -> Option<SigningSecret> {
        let (nonce, text) = sealed.0.split_first_chunk::<NONCE_BYTES>()?;
        let mut text = text.to_vec();
        let aad = Aad::from(webhook.0.as_bytes());
        let opened = self.0.open_in_place(Nonce::assume_unique_for_key(*nonce), aad, &mut text).ok()?;
        <[u8; SECRET_BYTES]>::try_from(&*opened).ok().map(|bytes| SigningSecret(Secret::new(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SealingKey {
        SealingKey::parse(SealingKey::generate().expose()).unwrap()
    }

    #[test]
    fn a_sealed_secret_opens_only_with_its_key_and_for_its_webhook() {
        let (key, webhook) = (key(), WebhookId::new());
        let secret = SigningSecret::generate();
        let sealed = key.seal(webhook, &secret);
        assert_eq!(key.open(webhook, &sealed), Some(secret.clone()));
        assert_ne!(key.seal(webhook, &secret), sealed);
        assert_eq!(key.open(WebhookId::new(), &sealed), None);
        assert_eq!(self::key().open(webhook, &sealed), None);
        for at in 0..SEALED_BYTES {
            let mut changed = sealed.clone();
            changed.0[at] ^= 1;
            assert_eq!(key.open(webhook, &changed), None, "{at}");
        }
        assert!(!format!("{secret:?}").contains(&secret.expose()[PREFIX.len()..]));
    }

    #[test]
    fn signatures_are_those_of_the_standard() {
        let secret = SigningSecret(Secret::new([7; SECRET_BYTES]));
        let key = hmac::Key::new(hmac::HMAC_SHA256, &[7; SECRET_BYTES]);
        let want = format!("v1,{}", BASE64.encode(hmac::sign(&key, b"a.5.{}")));
        assert_eq!(secret.sign("a", 5, "{}"), want);
        assert!(secret.expose().starts_with("whsec_BwcH"));
    }

    #[test]
    fn other_keys_are_refused_without_their_text() {
        for text in ["", "hunter2", "aHVudGVyMg==", &"A".repeat(44)] {
            let error = SealingKey::parse(text).err().unwrap();
            assert!(error.contains("32 random bytes") && !error.contains("unter"), "{text}");
        }
    }
}
