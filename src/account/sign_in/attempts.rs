//! Limits on attempts to sign in. There are limits for each email address, whether or not an account has it, for each
//! client network, and for each pair of both. Guesses from one network do not lock out an owner who signs in from
//! another.
//!
//! A subject has a burst of attempts, and one more after each interval (the generic cell rate algorithm). It needs
//! one number for each subject and one statement for each attempt, and is exact with any number of instances. An
//! attempt counts before the password is verified, so that simultaneous attempts count too. A successful attempt is
//! subtracted again.

use std::net::IpAddr;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::base::ids::AccountId;

/// The number and rate of attempts that are allowed for a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The size of a burst.
    pub at_once: u32,
    /// The interval after which one more attempt is allowed.
    pub every: Duration,
}

/// The limit for one email address from one network, and for confirming a password: about a thousand guesses a day.
pub const BY_PAIR: Allowance = Allowance { at_once: 10, every: Duration::from_secs(90) };
/// The limit for one email address from all networks: about 4,000 guesses a day, which do not find a password of
/// twelve characters.
pub const BY_EMAIL: Allowance = Allowance { at_once: 50, every: Duration::from_secs(20) };
/// The limit for one network. The users of an office with one address can sign in within a minute, and a client that
/// tries many accounts is slow.
pub const BY_NETWORK: Allowance = Allowance { at_once: 50, every: Duration::from_secs(15) };

/// The subject of a limit, as a hash, so that the table does not show who has tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject(pub [u8; 32]);

impl Subject {
    /// Returns the subject for an email address in lower case.
    pub fn email(email: &str) -> Self {
        Self::of("email", email)
    }

    /// Returns the subject for the network of a client: its IPv4 address, or the first 64 bits of its IPv6 address.
    /// Providers assign no smaller IPv6 networks to customers.
    pub fn network(client: Option<IpAddr>) -> Self {
        Self::of("network", &network(client))
    }

    /// Returns the subject for an email address in lower case and a network.
    pub fn pair(email: &str, client: Option<IpAddr>) -> Self {
        Self::of("pair", &format!("{} {email}", network(client)))
    }

    /// Returns the subject for a signed-in user who confirms the password.
    pub fn confirming(account: AccountId) -> Self {
        Self::of("confirming", &account.to_string())
    }

    fn of(kind: &str, value: &str) -> Self {
        Self(Sha256::new().chain_update(kind).chain_update([0]).chain_update(value).finalize().into())
    }
}

fn network(client: Option<IpAddr>) -> String {
    match client.map(|address| address.to_canonical()) {
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}")
        }
        None => String::new(),
    }
}

/// The result of counting an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The attempt counts and is allowed.
    Allowed,
    /// There were too many attempts. The next one is allowed after this time.
    Refused(Duration),
}

impl Allowance {
    /// Returns the interval in milliseconds.
    pub fn every_ms(&self) -> i64 {
        i64::try_from(self.every.as_millis()).unwrap_or(i64::MAX)
    }

    /// Returns the maximum distance of a subject's number from the current time, in milliseconds.
    pub fn ahead_ms(&self) -> i64 {
        self.every_ms().saturating_mul(i64::from(self.at_once))
    }

    /// Returns the time for which a subject with the number `due` must wait, by a clock that shows `now`. Both are in
    /// milliseconds since 1970.
    pub fn wait(&self, due: i64, now: i64) -> Duration {
        let wait = due.saturating_add(self.every_ms()).saturating_sub(self.ahead_ms()).saturating_sub(now);
        Duration::from_millis(u64::try_from(wait).unwrap_or(0).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_an_email_address_or_a_network() {
        let network = |text: &str| Subject::network(Some(text.parse().unwrap()));
        assert_eq!(network("192.0.2.1"), network("::ffff:192.0.2.1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(network("2001:db8:1:2::1"), network("2001:db8:1:2:ffff::9"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
        assert_ne!(Subject::email("192.0.2.1"), network("192.0.2.1"));
        let pair = |email: &str, text: &str| Subject::pair(email, Some(text.parse().unwrap()));
        assert_ne!(pair("a@b.example", "192.0.2.1"), pair("a@b.example", "192.0.2.2"));
        assert_ne!(pair("a@b.example", "192.0.2.1"), pair("c@b.example", "192.0.2.1"));
    }

    #[test]
    fn the_wait_lasts_until_one_more_attempt_is_allowed() {
        let allowance = Allowance { at_once: 2, every: Duration::from_secs(10) };
        // After two attempts at 0 the number is 20 s ahead, and the third attempt is allowed after 10 s.
        assert_eq!(allowance.wait(20_000, 0), Duration::from_secs(10));
        assert_eq!(allowance.wait(20_000, 9_000), Duration::from_secs(1));
        assert_eq!(allowance.wait(20_000, 60_000), Duration::from_millis(1));
    }
}
