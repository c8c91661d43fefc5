//! Secrets: their random bytes, and values that must not appear in log lines, error messages or debug output.

use std::fmt;

use ring::rand::{SecureRandom as _, SystemRandom};

/// Returns random bytes from the system, which nobody can guess.
///
/// # Panics
/// If the system provides none, which Linux always does. Nothing can be done without them: ids are made of
/// them, too.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the system provides random numbers");
    bytes
}

/// Wraps a value and prints `[redacted]` in its place.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps `value`.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value itself. Each call deserves attention in a review.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_prints_as_redacted() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?}"), "[redacted]");
        assert_eq!(*secret.expose(), "hunter2");
    }
}
