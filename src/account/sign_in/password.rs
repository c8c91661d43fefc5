//! Passwords: the rules for new ones, and Argon2id with bounded concurrency.

use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use parking_lot::{Condvar, Mutex};
use unicode_normalization::UnicodeNormalization as _;

use super::common::is_common;
use crate::base::secret::Secret;

/// The minimum number of characters of a password, which suffices against a thousand guesses a day.
pub const LEAST_CHARS: usize = 12;
/// The maximum number of bytes of a password, which bounds the work of hashing.
pub const MOST_BYTES: usize = 1024;
/// The minimum number of different characters of a password.
const LEAST_DIFFERENT: usize = 5;

/// OWASP's parameters for Argon2id (Password Storage Cheat Sheet): 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// The maximum number of hashes that are computed at once. Each uses a core and 19 MiB for about 20 ms.
const MOST_AT_ONCE: usize = 4;
/// The maximum number of callers that wait for a hash. Further ones are refused.
const MOST_WAITING: usize = 64;
/// The longest time for which they wait.
const WAIT: Duration = Duration::from_secs(5);

/// A password in NFKC, so that spellings that look equal are equal. Its debug output is redacted.
#[derive(Debug, Clone)]
pub struct Password(Secret<String>);

/// The reasons why a new password is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeakPassword {
    /// The password has fewer than [`LEAST_CHARS`] characters.
    #[error("The password is too short: at least {LEAST_CHARS} characters are required.")]
    TooShort,
    /// The password has more than [`MOST_BYTES`] bytes.
    #[error("The password is too long: at most {MOST_BYTES} bytes are allowed.")]
    TooLong,
    /// The password has fewer than five different characters.
    #[error(
        "The password repeats too few characters: at least {LEAST_DIFFERENT} different ones are required."
    )]
    TooUniform,
    /// The password is the email address, ignoring case.
    #[error("The password is your email address: choose a different one.")]
    EqualsEmail,
    /// The password is a common one, or a common word with digits and signs around it.
    #[error(
        "The password is a common one, or a common word with digits and signs: choose one that nobody would guess."
    )]
    Common,
}

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
    /// Returns [`WeakPassword`] if it may not.
    pub fn check(&self, email: &str) -> Result<(), WeakPassword> {
        let text = self.0.expose();
        if text.len() > MOST_BYTES {
            return Err(WeakPassword::TooLong);
        }
        if text.chars().count() < LEAST_CHARS {
            return Err(WeakPassword::TooShort);
        }
        let mut different: Vec<char> = text.chars().collect();
        different.sort_unstable();
        different.dedup();
        if different.len() < LEAST_DIFFERENT {
            return Err(WeakPassword::TooUniform);
        }
        if text.to_lowercase() == email.to_lowercase() {
            return Err(WeakPassword::EqualsEmail);
        }
        if is_common(text) {
            return Err(WeakPassword::Common);
        }
        Ok(())
    }
}

/// The reasons why no hash was computed.
#[derive(Debug)]
pub enum HashingError {
    /// Too many callers are already waiting, or no hash could be started in time.
    Busy,
    /// The system provided no random numbers.
    Random(getrandom::Error),
    /// Argon2 failed, most likely because there is not enough memory.
    Failed(argon2::password_hash::Error),
}

/// A hasher of passwords. It computes a few hashes at a time, and further callers wait in a bounded queue.
pub struct PasswordHasher {
    argon2: Argon2<'static>,
    line: Mutex<Line>,
    turn: Condvar,
    /// A hash to verify against if there is no account or no password. It takes equally long and never matches.
    dummy: String,
}

struct Line {
    free: usize,
    waiting: usize,
}

impl PasswordHasher {
    /// Creates a hasher with the parameters of this module.
    ///
    /// # Errors
    /// Returns an error if the system provides no random numbers.
    pub fn new() -> Result<Self, getrandom::Error> {
        let params = Params::new(MEMORY_KIB, PASSES, LANES, Some(HASH_BYTES)).unwrap_or_default();
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Ok(Self {
            argon2: Argon2::new(Algorithm::Argon2id, Version::V0x13, params),
            line: Mutex::new(Line { free: (cores / 2).clamp(1, MOST_AT_ONCE), waiting: 0 }),
            turn: Condvar::new(),
            dummy: random_hash()?,
        })
    }

    /// Returns the PHC string of a password with a new salt.
    ///
    /// # Errors
    /// Returns [`HashingError`] if no hash was computed.
    pub fn hash(&self, password: &Password) -> Result<String, HashingError> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(HashingError::Random)?;
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
        let _turn = self.wait()?;
        Ok(work())
    }

    fn wait(&self) -> Result<Turn<'_>, HashingError> {
        let until = Instant::now() + WAIT;
        let mut line = self.line.lock();
        if line.free == 0 && line.waiting >= MOST_WAITING {
            return Err(HashingError::Busy);
        }
        line.waiting += 1;
        while line.free == 0 {
            if self.turn.wait_until(&mut line, until).timed_out() {
                break;
            }
        }
        line.waiting -= 1;
        if line.free == 0 {
            return Err(HashingError::Busy);
        }
        line.free -= 1;
        Ok(Turn { hasher: self })
    }
}

struct Turn<'a> {
    hasher: &'a PasswordHasher,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.hasher.line.lock().free += 1;
        self.hasher.turn.notify_one();
    }
}

/// Returns a PHC string with a random hash that no password has.
fn random_hash() -> Result<String, getrandom::Error> {
    let (mut salt, mut hash) = ([0; SALT_BYTES], [0; HASH_BYTES]);
    getrandom::fill(&mut salt)?;
    getrandom::fill(&mut hash)?;
    let (salt, hash) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash));
    Ok(format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}${salt}${hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hashed_with_owasp_parameters() {
        let hasher = PasswordHasher::new().unwrap();
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
        let dummy = PasswordHasher::new().unwrap().dummy;
        let parsed = argon2::password_hash::phc::PasswordHash::new(&dummy).unwrap();
        let params = Params::try_from(&parsed).unwrap();
        assert_eq!((params.m_cost(), params.t_cost(), params.p_cost()), (MEMORY_KIB, PASSES, LANES));
        assert_eq!(parsed.hash.unwrap().len(), HASH_BYTES);
    }

    #[test]
    fn passwords_that_look_the_same_are_the_same() {
        let hasher = PasswordHasher::new().unwrap();
        let hash = hasher.hash(&Password::new("cafe\u{301} au lait 12")).unwrap();
        assert!(hasher.verify(&Password::new("caf\u{e9} au lait 12"), Some(&hash)).unwrap());
    }

    #[test]
    fn weak_passwords_are_refused_with_a_reason() {
        let check = |text: &str| Password::new(text).check("Someone@Example.org");
        assert_eq!(check("correct horse battery"), Ok(()));
        assert_eq!(check("elevenchars"), Err(WeakPassword::TooShort));
        assert_eq!(check(&"a1b2c3".repeat(200)), Err(WeakPassword::TooLong));
        assert_eq!(check("abababababababab"), Err(WeakPassword::TooUniform));
        assert_eq!(check("someone@example.ORG"), Err(WeakPassword::EqualsEmail));
        // Characters are counted, not bytes.
        assert_eq!(check("äöüßéèêëàâôû"), Ok(()));
    }

    #[test]
    fn concurrent_hashes_are_bounded() {
        let hasher = PasswordHasher::new().unwrap();
        let free = hasher.line.lock().free;
        let turns: Vec<_> = (0..free).map(|_| hasher.wait().unwrap()).collect();
        assert_eq!(hasher.line.lock().free, 0);
        hasher.line.lock().waiting = MOST_WAITING;
        assert!(matches!(hasher.wait(), Err(HashingError::Busy)));
        hasher.line.lock().waiting = 0;
        drop(turns);
        assert!(hasher.wait().is_ok());
    }
}
