//! Passwords: which are taken, and Argon2id, a few at a time.

use std::fmt;
use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use parking_lot::{Condvar, Mutex};
use unicode_normalization::UnicodeNormalization as _;

use crate::base::secret::Secret;

/// The fewest characters: a guesser who is held to a thousand tries a day gets nowhere.
pub const LEAST_CHARS: usize = 12;
/// The most bytes: nobody remembers more, and hashing must not cost more.
pub const MOST_BYTES: usize = 1024;
/// Different characters that a password has at least.
const LEAST_DIFFERENT: usize = 5;

/// OWASP's figures for Argon2id (Password Storage Cheat Sheet): 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// Hashes at once, at most: each takes a core and 19 MiB for some 20 ms.
const MOST_AT_ONCE: usize = 4;
/// How many may wait for their turn; more are told to come back.
const MOST_WAITING: usize = 64;
/// How long they wait at most.
const WAIT: Duration = Duration::from_secs(5);

/// A password as it was typed, in one of its spellings: what looks the same is the same (NFKC). Prints as redacted.
#[derive(Debug, Clone)]
pub struct Password(Secret<String>);

/// Why a password is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeakPassword {
    /// Fewer than [`LEAST_CHARS`] characters.
    TooShort,
    /// More than [`MOST_BYTES`] bytes.
    TooLong,
    /// Hardly any different characters.
    TooPlain,
    /// It is the email address, or the other way round.
    LikeTheEmail,
}

impl fmt::Display for WeakPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort => write!(f, "A password has at least {LEAST_CHARS} characters."),
            Self::TooLong => write!(f, "A password has at most {MOST_BYTES} bytes."),
            Self::TooPlain => write!(f, "A password has at least {LEAST_DIFFERENT} different characters."),
            Self::LikeTheEmail => f.write_str("A password must not be your email address."),
        }
    }
}

impl std::error::Error for WeakPassword {}

impl Password {
    /// What somebody typed.
    pub fn new(typed: &str) -> Self {
        // Longer ones are refused, or wrong: no work is spent on them.
        let text = if typed.len() > MOST_BYTES { typed.to_owned() } else { typed.nfkc().collect() };
        Self(Secret::new(text))
    }

    /// Whether it may become the password of the account with that email address.
    ///
    /// # Errors
    /// [`WeakPassword`].
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
            return Err(WeakPassword::TooPlain);
        }
        if text.to_lowercase() == email.to_lowercase() {
            return Err(WeakPassword::LikeTheEmail);
        }
        Ok(())
    }
}

/// Why nothing was hashed.
#[derive(Debug)]
pub enum HashingError {
    /// Too many wait already, or the turn did not come in time.
    Busy,
    /// The system gave no random numbers.
    Random(getrandom::Error),
    /// Argon2 failed: no memory, most likely.
    Failed,
}

/// Hashes passwords, a few at a time: who waits does so in line, however many come.
pub struct PasswordHasher {
    argon2: Argon2<'static>,
    line: Mutex<Line>,
    turn: Condvar,
    /// Verified against where there is no account or no password: it takes as long, and never fits.
    nobody: String,
}

struct Line {
    free: usize,
    waiting: usize,
}

impl PasswordHasher {
    /// With the figures above.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn new() -> Result<Self, getrandom::Error> {
        let params = Params::new(MEMORY_KIB, PASSES, LANES, Some(HASH_BYTES)).unwrap_or_default();
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Ok(Self {
            argon2: Argon2::new(Algorithm::Argon2id, Version::V0x13, params),
            line: Mutex::new(Line { free: (cores / 2).clamp(1, MOST_AT_ONCE), waiting: 0 }),
            turn: Condvar::new(),
            nobody: hash_of_nobody()?,
        })
    }

    /// The PHC string of a password, with a new salt.
    ///
    /// # Errors
    /// [`HashingError`].
    pub fn hash(&self, password: &Password) -> Result<String, HashingError> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(HashingError::Random)?;
        self.in_turn(|| {
            let hash = self.argon2.hash_password_with_salt(password.0.expose().as_bytes(), &salt);
            hash.map(|hash| hash.to_string()).map_err(|_| HashingError::Failed)
        })?
    }

    /// Whether a password is that of a PHC string. `None` takes as long, and is never right.
    ///
    /// # Errors
    /// [`HashingError::Busy`].
    pub fn verify(&self, password: &Password, known: Option<&str>) -> Result<bool, HashingError> {
        let text = password.0.expose();
        // No password is longer: no time to be equal with.
        if text.len() > MOST_BYTES {
            return Ok(false);
        }
        let hash = known.unwrap_or(&self.nobody);
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

/// A PHC string of our own figures whose hash is random: no password has it.
fn hash_of_nobody() -> Result<String, getrandom::Error> {
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
    fn a_password_is_hashed_with_the_figures_of_owasp_and_known_again() {
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

    /// Not how long it takes, which depends on the machine: that the same work is done.
    #[test]
    fn nobody_costs_as_much_as_somebody() {
        let nobody = PasswordHasher::new().unwrap().nobody;
        let parsed = argon2::password_hash::phc::PasswordHash::new(&nobody).unwrap();
        let params = Params::try_from(&parsed).unwrap();
        assert_eq!((params.m_cost(), params.t_cost(), params.p_cost()), (MEMORY_KIB, PASSES, LANES));
        assert_eq!(parsed.hash.unwrap().len(), HASH_BYTES);
    }

    #[test]
    fn what_looks_the_same_is_the_same() {
        let hasher = PasswordHasher::new().unwrap();
        let hash = hasher.hash(&Password::new("cafe\u{301} au lait 12")).unwrap();
        assert!(hasher.verify(&Password::new("caf\u{e9} au lait 12"), Some(&hash)).unwrap());
    }

    #[test]
    fn weak_passwords_are_named() {
        let check = |text: &str| Password::new(text).check("Someone@Example.org");
        assert_eq!(check("correct horse battery"), Ok(()));
        assert_eq!(check("elevenchars"), Err(WeakPassword::TooShort));
        assert_eq!(check(&"a1b2c3".repeat(200)), Err(WeakPassword::TooLong));
        assert_eq!(check("abababababababab"), Err(WeakPassword::TooPlain));
        assert_eq!(check("someone@example.ORG"), Err(WeakPassword::LikeTheEmail));
        // Characters count, not bytes.
        assert_eq!(check("äöüßéèêëàâôû"), Ok(()));
    }

    #[test]
    fn no_more_hash_at_once_than_there_are_turns() {
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
