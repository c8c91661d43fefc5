//! Sessions: who is signed in, on which browser, for how long.

use std::time::Duration;

use jiff::Timestamp;

use crate::base::ids::{AccountId, SessionId};

/// How often it is written down that a session is used, at most: a page must not cost a write each.
const NOTE_EVERY: Duration = Duration::from_secs(60);
/// Bytes of a browser's own description that are kept.
pub const USER_AGENT_BYTES: usize = 200;

/// How long sessions last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// Without being used: somebody has left a browser behind.
    pub idle: Duration,
    /// In any case: whoever has got hold of a token keeps it no longer.
    pub longest: Duration,
}

/// Somebody is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Identifier, not secret.
    pub id: SessionId,
    /// Who.
    pub account: AccountId,
    /// What forms of this session must bring back.
    pub csrf: [u8; 32],
    /// When they signed in.
    pub created_at: Timestamp,
    /// When it was used, to about a minute.
    pub last_seen_at: Timestamp,
    /// When it ends, unless it is used until then.
    pub expires_at: Timestamp,
    /// What the browser says it is, at most [`USER_AGENT_BYTES`].
    pub user_agent: String,
    /// Where they signed in from; may be empty.
    pub address: String,
}

impl SessionLimits {
    /// When a session of that age ends, if it is last used at `seen`.
    pub fn end_of(&self, created: Timestamp, seen: Timestamp) -> Timestamp {
        later(seen, self.idle).min(later(created, self.longest))
    }

    /// Whether a session has ended. The limits may have become narrower since it was written down.
    pub fn has_ended(&self, session: &Session, now: Timestamp) -> bool {
        now >= session.expires_at || now >= self.end_of(session.created_at, session.last_seen_at)
    }

    /// Whether it is to be written down that a session is used.
    pub fn is_worth_noting(&self, session: &Session, now: Timestamp) -> bool {
        now >= later(session.last_seen_at, NOTE_EVERY.min(self.idle / 4))
    }
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_session_ends_when_it_is_not_used_and_when_it_is_old() {
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
        // Narrower limits hold for sessions that were written down before.
        let narrower = SessionLimits { idle: day, longest: day };
        assert!(narrower.has_ended(&session, at("2026-03-31T00:00:01Z")));
    }
}
