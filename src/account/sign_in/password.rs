//! Passwords: the rules for new ones, and Argon2id with bounded concurrency.

use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use parking_lot::Mutex;
use unicode_normalization::UnicodeNormalization as _;
use zxcvbn::{Score, zxcvbn};

use crate::base::secret::{Secret, random};

/// The minimum number of characters of a password, which suffices against a thousand guesses a day.
pub const LEAST_CHARS: usize = 12;
/// The maximum number of bytes of a password, which bounds the work of hashing.
pub const MOST_BYTES: usize = 1024;
/// The number of characters at the start of a password by which its strength is estimated. The estimate of 100
/// characters may take a second, and its numbers overflow from 29 characters on.
const ESTIMATED_CHARS: usize = 28;

/// OWASP's parameters for Argon2id (Password Storage Cheat Sheet): 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// The maximum number of hashes that are computed at once. Each uses a core and 19 MiB for about 20 ms.
const MOST_AT_ONCE: usize = 2;
/// The maximum number of callers that compute a hash or wait for that. Further ones are refused, because callers use
/// the threads of streams.
const MOST_CALLERS: usize = 64;
/// The longest time for which they wait.
const WAIT: Duration = Duration::from_secs(5);

/// A password in NFKC, so that spellings that look equal are equal. Its debug output is redacted.
#[derive(Debug, Clone)]
pub struct Password(Secret<String>);

impl Password {
    /// Creates a password from the text that was typed.
    pub fn new(typed: &str) -> Self {
        // Longer texts are refused or wrong, so they need no normalisation.
        let text = if typed.len() > MOST_BYTES { typed.to_owned() } else { typed.nfkc().collect() };
        Self(Secret::new(text))
    }

    /// Checks whether the password may be used for the account with that email address.
    ///
    /// # Errors
    /// Returns a message for the user if it may not, with the reason and what to do.
    pub fn check(&self, email: &str) -> Result<(), String> {
        let text = self.0.expose();
        if text.len() > MOST_BYTES {
            return Err(format!("The password is too long: expected at most {MOST_BYTES} bytes."));
        }
        if text.chars().count() < LEAST_CHARS {
            return Err(format!(
                "The password is too short: at least {LEAST_CHARS} characters are required."
            ));
        }
        let start = |text: &str| text.chars().take(ESTIMATED_CHARS).collect::<String>();
        // Of a long address, only the start can occur in the start of a password.
        let address = start(email);
        let known: Vec<&str> = [address.as_str(), "sightline"].into_iter().chain(email.split('@')).collect();
        let estimate = zxcvbn(&start(text), &known);
        if estimate.score() >= Score::Three {
            return Ok(());
        }
        let why = estimate.feedback().map(|feedback| match feedback.warning() {
            Some(_) => feedback.to_string(),
            None => format!("Your email address and common words are tried first. {feedback}"),
        });
        Err(format!("The password is easy to guess. {}", why.unwrap_or_default()))
    }
}

/// The reasons why no hash was computed.
#[derive(Debug, thiserror::Error)]
pub enum HashingError {
    /// Too many callers are already waiting, or no hash could be started in time.
    #[error("too many passwords are being verified")]
    Busy,
    /// Argon2 failed, most likely because there is not enough memory.
    #[error("cannot hash the password")]
    Failed(#[source] argon2::password_hash::Error),
}

/// A hasher of passwords. It computes a few hashes at a time, and further callers wait.
pub struct PasswordHasher {
    argon2: Argon2<'static>,
    /// A caller holds one of these locks while it computes a hash.
    turns: [Mutex<()>; MOST_AT_ONCE],
    /// Each caller has a clone, so they are counted.
    callers: Arc<()>,
    /// A hash to verify against if there is no account or no password. It takes equally long and never matches.
    dummy: String,
}

impl Default for PasswordHasher {
    /// Returns a hasher with the parameters of this module.
    fn default() -> Self {
        let params = Params::new(MEMORY_KIB, PASSES, LANES, Some(HASH_BYTES)).unwrap_or_default();
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        Self { argon2, turns: Default::default(), callers: Arc::default(), dummy: random_hash() }
    }
}

impl PasswordHasher {
    /// Returns the PHC string of a password with a new salt.
    ///
    /// # Errors
    /// Returns [`HashingError`] if no hash was computed.
    pub fn hash(&self, password: &Password) -> Result<String, HashingError> {
        let salt: [u8; SALT_BYTES] = random();
        self.in_turn(|| {
            let hash = self.argon2.hash_password_with_salt(password.0.expose().as_bytes(), &salt);
            hash.map(|hash| hash.to_string()).map_err(HashingError::Failed)
        })?
    }

    /// Returns whether a password matches a PHC string. A check of `None` takes equally long and never matches.
    ///
    /// # Errors
    /// Returns [`HashingError::Busy`] if too many callers are waiting.
    pub fn verify(&self, password: &Password, known: Option<&str>) -> Result<bool, HashingError> {
        let text = password.0.expose();
        // No stored password is longer, so there is no difference in time to hide.
        if text.len() > MOST_BYTES {
            return Ok(false);
        }
        let hash = known.unwrap_or(&self.dummy);
        let fits = self.in_turn(|| self.argon2.verify_password(text.as_bytes(), hash).is_ok())?;
        Ok(fits && known.is_some())
    }

    fn in_turn<T>(&self, work: impl FnOnce() -> T) -> Result<T, HashingError> {
        let caller = Arc::clone(&self.callers);
        // One more is the hasher's own.
        let callers = Arc::strong_count(&caller) - 1;
        if callers > MOST_CALLERS {
            return Err(HashingError::Busy);
        }
        let free = self.turns.iter().find_map(Mutex::try_lock);
        let turn = free.or_else(|| self.turns[callers % MOST_AT_ONCE].try_lock_for(WAIT));
        let _turn = turn.ok_or(HashingError::Busy)?;
        Ok(work())
    }
}

/// Returns a PHC string with a random hash that no password has.
fn random_hash() -> String {
    let (salt, hash) = (random::<SALT_BYTES>(), random::<HASH_BYTES>());
    let (salt, hash) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash));
    format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}${salt}${hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hashed_with_owasp_parameters() {
        let hasher = PasswordHasher::default();
        let password = Password::new("correct horse battery");
        let hash = hasher.hash(&password).unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(hasher.verify(&password, Some(&hash)).unwrap());
        assert!(!hasher.verify(&Password::new("correct horse batterz"), Some(&hash)).unwrap());
        assert!(!hasher.verify(&password, None).unwrap());
        assert!(!hasher.verify(&password, Some("no hash")).unwrap());
        assert_ne!(hasher.hash(&password).unwrap(), hash);
    }

    /// Tests that the same work is done. The duration is not tested, because it depends on the machine.
    #[test]
    fn an_account_without_a_password_costs_as_much_time() {
        let dummy = PasswordHasher::default().dummy;
        let parsed = argon2::password_hash::phc::PasswordHash::new(&dummy).unwrap();
        let params = Params::try_from(&parsed).unwrap();
        assert_eq!((params.m_cost(), params.t_cost(), params.p_cost()), (MEMORY_KIB, PASSES, LANES));
        assert_eq!(parsed.hash.unwrap().len(), HASH_BYTES);
    }

    #[test]
    fn passwords_that_look_the_same_are_the_same() {
        let hasher = PasswordHasher::default();
        let hash = hasher.hash(&Password::new("cafe\u{301} au lait 12")).unwrap();
        assert!(hasher.verify(&Password::new("caf\u{e9} au lait 12"), Some(&hash)).unwrap());
    }

    #[test]
    fn weak_passwords_are_refused_with_what_is_wrong_and_what_to_do() {
        let check = |text: &str| Password::new(text).check("Someone@Example.org");
        assert!(check("elevenchars").unwrap_err().contains("too short"));
        assert!(check(&"a1b2c3".repeat(200)).unwrap_err().contains("too long"));
        for weak in [
            "password12345",
            "P@ssw0rd12345",
            "1234567890123",
            "passwordpassword",
            "abababababababab",
            "1q2w3e4r5t6y",
            "asdfghjkl;'#zxc",
            "someone@example.ORG",
            "someone@example.org1",
        ] {
            let refused = check(weak).unwrap_err();
            assert!(refused.contains("Add another word or two."), "{weak}: {refused}");
        }
        for strong in [
            "correct horse battery",
            "sunshine over 14 hills",
            "grün-Ofen 7 Töpfe",
            "xk3!mmT0q-vv9",
            "пароль из слов",
            // Characters are counted, not bytes.
            "äöüßéèêëàâôû",
        ] {
            assert_eq!(check(strong), Ok(()), "{strong}");
        }
        let long = format!("{}@example.org", "first.second.third".repeat(3));
        assert!(Password::new(&long).check(&long).is_err());
    }

    #[test]
    fn the_estimate_of_a_long_password_neither_overflows_nor_takes_long() {
        for long in ["5685686156856846", "hyghyghygphy", "4@8({[<369!|1/0$5+7%2", "8/-9", "é漢😀"] {
            // Each of these may have any outcome.
            drop(Password::new(&long.repeat(12)).check("someone@example.org"));
        }
    }

    #[test]
    fn concurrent_hashes_are_bounded() {
        let hasher = PasswordHasher::default();
        let turns: Vec<_> = hasher.turns.iter().map(|turn| turn.lock()).collect();
        let callers = vec![Arc::clone(&hasher.callers); MOST_CALLERS];
        assert!(matches!(hasher.in_turn(|| ()), Err(HashingError::Busy)));
        drop((turns, callers));
        assert!(hasher.in_turn(|| ()).is_ok());
    }
}
