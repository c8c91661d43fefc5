//! Sessions and set-up links.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::base::clock::millis;
use crate::base::ids::{AccountId, SessionId};
use crate::model::account::SecretHash;

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Session {
    /// The identifier, which is not secret.
    pub id: SessionId,
    /// The account that is signed in.
    #[serde(skip)]
    pub account: AccountId,
    /// The token that forms of this session must send back.
    #[serde(skip)]
    pub csrf: [u8; 32],
    /// The time at which the session began.
    #[serde(serialize_with = "millis")]
    pub created_at: Timestamp,
    /// The time at which the session was last used, to about a minute.
    #[serde(serialize_with = "millis")]
    pub last_seen_at: Timestamp,
    /// The time at which the session expires if it is not used before.
    #[serde(serialize_with = "millis")]
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

/// A link with which a password is set once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetUpLink {
    /// The hash of the link's token.
    pub token: SecretHash,
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
}
