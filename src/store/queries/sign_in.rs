//! Passwords, sessions and set-up links: a transaction that changes any of them locks the account's row first. And the
//! counts of requests and of attempts to sign in, over all instances and by the clock of the database. See
//! [`quota`](crate::model::quota) for the algorithm: each subject has one row with the time at which its next request is
//! due.

use super::accounts::lock;
use super::credits::FORGET_REQUESTS;
use super::*;
use crate::store::limits::{SESSIONS_KEPT, TOUCH_WAIT};

row! {
    Session from "s." {
        id, account, csrf, created_at, last_seen_at, expires_at, user_agent, address
    }
}

const PASSWORD: &str = "SELECT hash FROM passwords WHERE account = ?1";
const SESSION: &str = "SELECT {row} FROM web_sessions s JOIN accounts a ON a.id = s.account \
     WHERE s.token_hash = ?1 AND s.expires_at > ?2";
const SESSIONS: &str = "SELECT {row} FROM web_sessions s WHERE s.account = ?1 AND s.expires_at > ?2 \
     ORDER BY s.last_seen_at DESC, s.id DESC";
const OPEN: &str = "INSERT INTO web_sessions \
     (id, account, token_hash, csrf, created_at, last_seen_at, expires_at, user_agent, address) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const END_OLDEST: &str = "DELETE FROM web_sessions WHERE account = ?1 AND id NOT IN \
     (SELECT id FROM web_sessions WHERE account = ?1 ORDER BY last_seen_at DESC, id DESC LIMIT ?2)";
const TOUCH: &str = "UPDATE web_sessions SET last_seen_at = greatest(last_seen_at, ?2), \
     expires_at = greatest(expires_at, ?3) WHERE id = ?1";

const PUT_PASSWORD: &str = "INSERT INTO passwords (account, hash, changed_at) VALUES (?1, ?2, {now}) \
     ON CONFLICT (account) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at";
const VOID_LINKS: &str = "DELETE FROM set_up_links WHERE account = ?1";
const ADD_LINK: &str =
    "INSERT INTO set_up_links (token_hash, account, created_at, expires_at) VALUES (?1, ?2, ?3, ?4)";
const LINK_ACCOUNT: &str = "SELECT {row} FROM set_up_links l JOIN accounts a ON a.id = l.account \
     WHERE l.token_hash = ?1 AND l.expires_at > ?2 AND a.plan <> ?3";

const EXPIRED: [&str; 2] =
    ["DELETE FROM web_sessions WHERE expires_at <= ?1", "DELETE FROM set_up_links WHERE expires_at <= ?1"];
const PAST: &str = "DELETE FROM rate_limits WHERE due <= {micros}";

/// Counts a request, as [`Rate::next_due`] does. Returns no row if the request is refused. `?2` is the period and `?3`
/// the slack.
const COUNT: &str = "INSERT INTO rate_limits AS r (subject, due) VALUES (?1, {micros} + ?2) \
     ON CONFLICT (subject) DO UPDATE SET due = greatest({micros}, least(r.due, {micros} + ?3)) + ?2 \
     WHERE r.due <= {micros} + ?3 OR r.due > {micros} + ?3 + ?2 RETURNING due, {micros}";
const DUE: &str = "SELECT max(due), {micros} FROM rate_limits WHERE subject = ?1";
const RETURN: &str = "UPDATE rate_limits SET due = due - ?2 WHERE subject = ?1";

impl Store {
    /// Returns the hash of an account's password as a PHC string, or `None` if the account has no password.
    pub fn password(&self, account: AccountId) -> Result<Option<String>> {
        self.first("password", PASSWORD, values![account])
    }

    /// Replaces the password with the hash `known`, ends all sessions and voids set-up links. Returns `false` if the
    /// account is unknown or its password has changed.
    pub fn set_password(
        &self,
        account: AccountId,
        hash: &str,
        known: Option<&str>,
        by: &Origin,
    ) -> Result<bool> {
        self.write("set_password", |tx| {
            let is_known = lock(tx, account)? && knows(tx, account, known)?;
            if is_known {
                put_password(tx, account, hash, false, by)?;
            }
            Ok(is_known)
        })
    }

    /// Creates a session for a user who entered the password with the hash `known`. Returns `false` if the account is
    /// unknown or its password has changed.
    pub fn open_session(
        &self,
        session: &Session,
        token: &SecretHash,
        known: Option<&str>,
        by: &Origin,
    ) -> Result<bool> {
        self.write("open_session", |tx| {
            if !lock(tx, session.account)? || !knows(tx, session.account, known)? {
                return Ok(false);
            }
            let Session { id, account, csrf, created_at, last_seen_at, expires_at, user_agent, address } =
                session;
            let times = [*created_at, *last_seen_at, *expires_at].map(Parameter::value);
            let values = [values![*id, *account, &token.0, csrf], times.into(), values![user_agent, address]];
            tx.execute(OPEN, values.concat())?;
            tx.execute(END_OLDEST, values![session.account, SESSIONS_KEPT])?;
            let event = AuditEvent::of_object(Action::SignedIn, session.account, session.id);
            tx.note(&event, by)?;
            Ok(true)
        })
    }

    /// Returns the session with that token and its account, if it has not expired.
    pub fn session(&self, token: &SecretHash, now: Timestamp) -> Result<Option<(Session, Account)>> {
        self.first("session", SESSION, values![&token.0, now])
    }

    /// Records that a session was used, and its new time of expiry. Recorded times never become earlier.
    pub fn touch_session(&self, id: SessionId, seen: Timestamp, expires: Timestamp) -> Result<()> {
        // A page does not wait for a lock. The next page updates the session.
        let operation = Operation::from("touch_session").light().within(TOUCH_WAIT);
        self.change(operation, TOUCH, values![id, seen, expires]).map(drop)
    }

    /// Returns the sessions of an account that have not expired, the most recently used one first.
    pub fn sessions(&self, account: AccountId, now: Timestamp) -> Result<Vec<Session>> {
        self.all("sessions", SESSIONS, values![account, now])
    }

    /// Ends a session of that account. Returns `false` if the account has no such session.
    pub fn end_session(&self, account: AccountId, id: SessionId, by: &Origin) -> Result<bool> {
        let sql = "DELETE FROM web_sessions WHERE id = ?1 AND account = ?2 RETURNING 1";
        let event = AuditEvent::of_object(Action::SignedOut, account, id);
        Ok(self.noted::<i64>("end_session", sql, values![id, account], &event, by)?.is_some())
    }

    /// Adds a link and voids earlier ones of the account. Returns `false` if the account is unknown.
    pub fn add_set_up_link(&self, link: &SetUpLink, by: &Origin) -> Result<bool> {
        self.write("add_set_up_link", |tx| {
            if !lock(tx, link.account)? {
                return Ok(false);
            }
            tx.execute(VOID_LINKS, values![link.account])?;
            let values = values![&link.token.0, link.account, link.created_at, link.expires_at];
            tx.execute(ADD_LINK, values)?;
            tx.note(&AuditEvent::of_account(Action::LinkMade, link.account), by)?;
            Ok(true)
        })
    }

    /// Returns the account whose password that link sets, if the link is valid.
    pub fn set_up_account(&self, token: &SecretHash, now: Timestamp) -> Result<Option<Account>> {
        self.first("set_up_account", LINK_ACCOUNT, values![&token.0, now, BEING_DELETED])
    }

    /// Consumes a link: sets the password of its account and ends all sessions. Returns `None` if the link is not
    /// valid.
    pub fn use_set_up_link(
        &self,
        token: &SecretHash,
        hash: &str,
        now: Timestamp,
        by: &Origin,
    ) -> Result<Option<Account>> {
        self.write("use_set_up_link", |tx| {
            let account = tx.first::<Account>(LINK_ACCOUNT, values![&token.0, now, BEING_DELETED])?;
            let Some(account) = account else { return Ok(None) };
            if !lock(tx, account.id)? {
                return Ok(None);
            }
            // Another request may have used the link or replaced it before the account was locked.
            let sql = "DELETE FROM set_up_links WHERE token_hash = ?1";
            if tx.execute(sql, values![&token.0])? == 0 {
                return Ok(None);
            }
            put_password(tx, account.id, hash, true, by)?;
            Ok(Some(account))
        })
    }

    /// Changes the role of an account. Returns `false` if the account is unknown.
    pub fn set_role(&self, account: AccountId, role: Role, by: &Origin) -> Result<bool> {
        self.write("set_role", |tx| {
            if !lock(tx, account)? {
                return Ok(false);
            }
            let sql = "UPDATE accounts SET role = ?2 WHERE id = ?1 AND role <> ?2";
            if tx.execute(sql, values![account, role.as_str()])? > 0 {
                let event = AuditEvent::of_account(Action::RoleChanged, account).with("to", role.as_str());
                tx.note(&event, by)?;
            }
            Ok(true)
        })
    }

    /// Counts a request if the limit allows it.
    pub fn count_request(&self, subject: &Subject, rate: Rate) -> Result<Counted> {
        let operation = Operation::from("count_request").light();
        let values = values![&subject.0, rate.period_us(), rate.slack_us()];
        if let Some(row) = self.change(operation, COUNT, values)?.first_mut() {
            let (due, now) = row.read()?;
            return Ok(rate.counted(true, due, now));
        }
        let (due, now): (Option<i64>, _) = self.read(operation, |tx| tx.one(DUE, values![&subject.0]))?;
        Ok(rate.counted(false, due.unwrap_or(now), now))
    }

    /// Subtracts a request that was counted and is not to count.
    pub fn return_request(&self, subject: &Subject, rate: Rate) -> Result<()> {
        let operation = Operation::from("return_request").light();
        self.change(operation, RETURN, values![&subject.0, rate.period_us()]).map(drop)
    }

    /// Removes expired sessions, links and idempotency keys, and counts of requests and attempts that have no effect any
    /// more.
    pub fn remove_expired(&self, now: Timestamp) -> Result<()> {
        self.write(background("remove_expired").light(), |tx| {
            EXPIRED.iter().try_for_each(|sql| tx.execute(sql, values![now]).map(drop))?;
            tx.execute(FORGET_REQUESTS, values![Idempotency::valid_since(now)])?;
            tx.execute(PAST, values![]).map(drop)
        })
    }
}

/// Returns whether the account still has the password hash `known`. It may have been changed while the password was
/// verified. The account is locked, so the result is valid until the end of the transaction.
fn knows(tx: &mut Tx, account: AccountId, known: Option<&str>) -> Result<bool> {
    Ok(tx.first::<String>(PASSWORD, values![account])?.as_deref() == known)
}

/// Sets a password, ends all sessions and voids set-up links.
fn put_password(tx: &mut Tx, account: AccountId, hash: &str, by_link: bool, by: &Origin) -> Result<()> {
    tx.execute(PUT_PASSWORD, values![account, hash])?;
    tx.execute(VOID_LINKS, values![account])?;
    tx.execute("DELETE FROM web_sessions WHERE account = ?1", values![account])?;
    tx.note(&AuditEvent::of_account(Action::PasswordSet, account).with("by_link", by_link), by)
}
