//! Passwords, sessions and set-up links.

use jiff::{Timestamp, ToSpan as _};
use sightline::account::sign_in::token::Token;
use sightline::base::ids::{AccountId, SessionId};
use sightline::model::account::SecretHash;
use sightline::model::audit::Origin;
use sightline::model::sign_in::{Session, SetUpLink};

use super::{Fixture, at, race};

const NOW: &str = "2026-03-01T12:00:00.123Z";

fn session(account: AccountId, seen: Timestamp) -> Session {
    Session {
        id: SessionId::new(),
        account,
        csrf: [7; 32],
        created_at: at(NOW),
        last_seen_at: seen,
        expires_at: seen + 1.hour(),
        user_agent: "Browser\0 é".into(),
        address: "192.0.2.1".into(),
    }
}

fn hash() -> SecretHash {
    Token::generate().hash()
}

impl Fixture {
    fn open_session(&self, seen: Timestamp) -> (Session, SecretHash) {
        let (session, token) = (session(self.account.id, seen), hash());
        let known = self.store.password(self.account.id).unwrap();
        assert!(self.store.open_session(&session, &token, known.as_deref(), &Origin::CLI).unwrap());
        (session, token)
    }

    fn is_signed_in(&self, token: &SecretHash) -> bool {
        self.store.session(token, at(NOW)).unwrap().is_some()
    }

    fn link(&self) -> SecretHash {
        let (token, now) = (hash(), at(NOW));
        let link = SetUpLink { token, account: self.account.id, created_at: now, expires_at: now + 1.hour() };
        assert!(self.store.add_set_up_link(&link, &Origin::CLI).unwrap());
        token
    }
}

on_both! {
    fn a_session_is_found_by_its_token_until_it_expires(f) {
        let (session, token) = f.open_session(at(NOW));
        let (found, account) = f.store.session(&token, at(NOW)).unwrap().unwrap();
        assert_eq!((found.user_agent.as_str(), &account), ("Browser\u{fffd} é", &f.account));
        assert_eq!(Session { user_agent: session.user_agent.clone(), ..found }, session);
        assert!(f.store.session(&hash(), at(NOW)).unwrap().is_none());
        assert!(f.store.session(&token, session.expires_at).unwrap().is_none());

        let (seen, expires) = (at(NOW) + 30.minutes(), at(NOW) + 90.minutes());
        f.store.touch_session(session.id, seen, expires).unwrap();
        // The clock of another instance is behind.
        f.store.touch_session(session.id, at(NOW), at(NOW)).unwrap();
        let (found, _) = f.store.session(&token, at(NOW) + 80.minutes()).unwrap().unwrap();
        assert_eq!((found.last_seen_at, found.expires_at), (seen, expires));

        f.store.remove_expired(expires - 1.millisecond()).unwrap();
        assert!(f.is_signed_in(&token));
        f.store.remove_expired(expires).unwrap();
        assert!(!f.is_signed_in(&token));
        assert_eq!(f.rows("web_sessions"), 0);
    }

    fn an_account_has_fifty_sessions_at_most(f) {
        let tokens: Vec<SecretHash> =
            (0..52i64).map(|index| f.open_session(at(NOW) + index.seconds()).1).collect();
        let sessions = f.store.sessions(f.account.id, at(NOW)).unwrap();
        assert_eq!(sessions.len(), 50);
        assert!(sessions.is_sorted_by(|one, next| one.last_seen_at > next.last_seen_at));
        assert!(!f.is_signed_in(&tokens[1]) && f.is_signed_in(&tokens[2]));
    }

    fn a_session_for_a_replaced_password_is_refused(f) {
        // The password is verified between reading its hash and writing.
        assert!(f.store.set_password(f.account.id, "hash 1", None, &Origin::CLI).unwrap());
        assert!(f.store.set_password(f.account.id, "hash 2", Some("hash 1"), &Origin::CLI).unwrap());
        for known in [None, Some("hash 1")] {
            let (late, token) = (session(f.account.id, at(NOW)), hash());
            assert!(!f.store.open_session(&late, &token, known, &Origin::CLI).unwrap());
            assert!(!f.is_signed_in(&token));
            assert!(!f.store.set_password(f.account.id, "hash 3", known, &Origin::CLI).unwrap());
        }
        assert_eq!(f.store.password(f.account.id).unwrap().as_deref(), Some("hash 2"));
        let (_, token) = f.open_session(at(NOW));
        assert!(f.is_signed_in(&token));
    }

    fn a_link_works_once_in_its_time_and_the_last_one_alone(f) {
        let (first, second) = (f.link(), f.link());
        assert!(f.store.set_up_account(&first, at(NOW)).unwrap().is_none());
        assert_eq!(f.store.set_up_account(&second, at(NOW)).unwrap().as_ref(), Some(&f.account));
        let late = at(NOW) + 1.hour();
        assert!(f.store.set_up_account(&second, late).unwrap().is_none());
        assert!(f.store.use_set_up_link(&second, "late", late, &Origin::CLI).unwrap().is_none());
        let (_, token) = f.open_session(at(NOW));
        // Of many at once, one succeeds.
        let used = race(4, |index| {
            let hash = format!("hash {index}");
            f.store.use_set_up_link(&second, &hash, at(NOW), &Origin::CLI).unwrap().is_some()
        });
        assert_eq!(used.iter().filter(|used| **used).count(), 1);
        let winner = used.iter().position(|used| *used).unwrap();
        assert_eq!(f.store.password(f.account.id).unwrap(), Some(format!("hash {winner}")));
        assert!(!f.is_signed_in(&token));
    }
}
