//! How often it may be tried to sign in: for an email address, whether an account has it or not, by a client's network,
//! and for one by the other. Whoever tries from one network alone locks no owner out who comes from another.
//!
//! A subject may be tried so many times at once, and once more after each interval (the generic cell rate algorithm: one
//! number a subject, one statement an attempt, exact however many instances there are). Counted before the password is
//! looked at, so that attempts at the same time count too; one that succeeds is given back.

use std::net::IpAddr;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::base::ids::AccountId;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// So many at once.
    pub at_once: u32,
    /// And one more each time that this has passed.
    pub every: Duration,
}

/// For one email address by one network, and for confirming a password: a thousand guesses a day.
pub const BY_PAIR: Allowance = Allowance { at_once: 10, every: Duration::from_secs(90) };
/// For one email address by all: some 4,000 guesses a day, which find no password of twelve characters.
pub const BY_EMAIL: Allowance = Allowance { at_once: 50, every: Duration::from_secs(20) };
/// For one network: an office behind one address signs in within a minute, and who tries many accounts is slow.
pub const BY_NETWORK: Allowance = Allowance { at_once: 50, every: Duration::from_secs(15) };

/// Whose attempts are counted together: a hash, so that the table tells nobody who has tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject(pub [u8; 32]);

impl Subject {
    /// An email address, in lower case.
    pub fn email(email: &str) -> Self {
        Self::of("email", email)
    }

    /// The network of a client: its IPv4 address, or the first 64 bits of its IPv6 address, which is what one
    /// customer of a provider has at least.
    pub fn network(client: Option<IpAddr>) -> Self {
        Self::of("network", &network(client))
    }

    /// An email address, in lower case, by a network.
    pub fn pair(email: &str, client: Option<IpAddr>) -> Self {
        Self::of("pair", &format!("{} {email}", network(client)))
    }

    /// Who is signed in and confirms their password.
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

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// It counts, and may go on.
    Allowed,
    /// There were too many; the next one may come after this time.
    Refused(Duration),
}

impl Allowance {
    /// The interval, in milliseconds.
    pub fn every_ms(&self) -> i64 {
        i64::try_from(self.every.as_millis()).unwrap_or(i64::MAX)
    }

    /// How far ahead of the present the number of a subject may be, in milliseconds.
    pub fn ahead_ms(&self) -> i64 {
        self.every_ms().saturating_mul(i64::from(self.at_once))
    }

    /// How long a subject must wait whose number is `due`, by a clock that shows `now` (both milliseconds since 1970).
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
    fn the_wait_is_until_one_more_fits() {
        let allowance = Allowance { at_once: 2, every: Duration::from_secs(10) };
        // Two at 0: the number is 20 s ahead, and the third fits in after 10 s.
        assert_eq!(allowance.wait(20_000, 0), Duration::from_secs(10));
        assert_eq!(allowance.wait(20_000, 9_000), Duration::from_secs(1));
        assert_eq!(allowance.wait(20_000, 60_000), Duration::from_millis(1));
    }
}
