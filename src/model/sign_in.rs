//! Sessions, set-up links and the limit on attempts to sign in.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::base::ids::{AccountId, SessionId};

/// The minimum time between two records that a session is used, so that not every page needs a write.
const NOTE_EVERY: Duration = Duration::from_secs(60);

/// The maximum number of bytes of a `User-Agent` that are stored.
pub const USER_AGENT_BYTES: usize = 200;

/// The lifetimes of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// The lifetime of a session that is not used, for example in a browser that was left open.
    pub idle: Duration,
    /// The lifetime of any session, which limits how long a stolen token works.
    pub longest: Duration,
}

/// A session of the web app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The identifier, which is not secret.
    pub id: SessionId,
    /// The account that is signed in.
    pub account: AccountId,
    /// The token that forms of this session must send back.
    pub csrf: [u8; 32],
    /// The time at which the session began.
    pub created_at: Timestamp,
    /// The time at which the session was last used, to about a minute.
    pub last_seen_at: Timestamp,
    /// The time at which the session expires if it is not used before.
    pub expires_at: Timestamp,
    /// The `User-Agent` of the browser, cut to [`USER_AGENT_BYTES`].
    pub user_agent: String,
    /// The address of the client, which may be empty.
    pub address: String,
}

impl SessionLimits {
    /// Returns the time at which a session that began at `created` expires if it is last used at `seen`.
    pub fn end_of(&self, created: Timestamp, seen: Timestamp) -> Timestamp {
        later(seen, self.idle).min(later(created, self.longest))
    }

    /// Returns whether a session has expired. The limits may have become shorter since it was stored.
    pub fn has_ended(&self, session: &Session, now: Timestamp) -> bool {
        now >= session.expires_at || now >= self.end_of(session.created_at, session.last_seen_at)
    }

    /// Returns whether the use of a session should be recorded.
    pub fn is_worth_noting(&self, session: &Session, now: Timestamp) -> bool {
        now >= later(session.last_seen_at, NOTE_EVERY.min(self.idle / 4))
    }
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// The SHA-256 of a token. Since a token has 256 random bits, its hash needs neither a salt nor a slow function.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash([redacted])")
    }
}

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

/// A link with which a password is set once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetUpLink {
    /// The hash of the link's token.
    pub token: TokenHash,
    /// The account whose password it sets.
    pub account: AccountId,
    /// The time at which it was created.
    pub created_at: Timestamp,
    /// The time at which it expires.
    pub expires_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_session_expires_when_it_is_idle_or_old() {
        let day = Duration::from_secs(86_400);
        let limits = SessionLimits { idle: 14 * day, longest: 90 * day };
        let mut session = Session {
            id: SessionId::new(),
            account: AccountId::new(),
            csrf: [0; 32],
            created_at: at("2026-01-01T00:00:00Z"),
            last_seen_at: at("2026-01-01T00:00:00Z"),
            expires_at: at("2026-01-15T00:00:00Z"),
            user_agent: String::new(),
            address: String::new(),
        };
        assert!(!limits.has_ended(&session, at("2026-01-14T23:59:59Z")));
        assert!(limits.has_ended(&session, at("2026-01-15T00:00:00Z")));
        assert!(!limits.is_worth_noting(&session, at("2026-01-01T00:00:59Z")));
        assert!(limits.is_worth_noting(&session, at("2026-01-01T00:01:00Z")));
        session.last_seen_at = at("2026-03-31T00:00:00Z");
        session.expires_at = limits.end_of(session.created_at, session.last_seen_at);
        assert_eq!(session.expires_at, at("2026-04-01T00:00:00Z"));
        // Shorter limits also apply to sessions that were stored before.
        let narrower = SessionLimits { idle: day, longest: day };
        assert!(narrower.has_ended(&session, at("2026-03-31T00:00:01Z")));
    }

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
