//! Passwords, sessions, set-up links, attempts to sign in.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::audit::note;
use super::error::storage;
use super::ledger::read_account;
use super::{At, Database, Durability};
use crate::account::account::{Account, BEING_DELETED, Role};
use crate::account::audit::{Action, Deed, Origin};
use crate::account::sign_in::attempts::{Allowance, Attempt, Subject};
use crate::account::sign_in::keeping::{SetUpLink, SignInStore};
use crate::account::sign_in::session::Session;
use crate::account::sign_in::token::TokenHash;
use crate::base::ids::{AccountId, SessionId};
use crate::base::storage::StorageError;
use crate::store::document::plain;
use crate::store::limits::SESSIONS_KEPT;

macro_rules! session_columns {
    () => {
        "s.id, s.account, s.csrf, s.created_at, s.last_seen_at, s.expires_at, s.user_agent, s.address"
    };
}
const SESSION_COLUMNS: usize = 8;

const SESSION: &str = concat!(
    "SELECT ",
    session_columns!(),
    ", a.id, a.email, a.plan, a.anchor, a.created_at, a.role \
     FROM web_sessions s JOIN accounts a ON a.id = s.account WHERE s.token_hash = ?1 AND s.expires_at > ?2"
);
const SESSIONS: &str = concat!(
    "SELECT ",
    session_columns!(),
    " FROM web_sessions s WHERE s.account = ?1 AND s.expires_at > ?2 ORDER BY s.last_seen_at DESC, s.id DESC"
);
const OPEN: &str = "INSERT INTO web_sessions \
     (id, account, token_hash, csrf, created_at, last_seen_at, expires_at, user_agent, address) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const END_OLDEST: &str = "DELETE FROM web_sessions WHERE account = ?1 AND id NOT IN \
     (SELECT id FROM web_sessions WHERE account = ?1 ORDER BY last_seen_at DESC, id DESC LIMIT ?2)";
const TOUCH: &str = "UPDATE web_sessions SET last_seen_at = max(last_seen_at, ?2), \
     expires_at = max(expires_at, ?3) WHERE id = ?1";

const LINK_ACCOUNT: &str = "SELECT a.id, a.email, a.plan, a.anchor, a.created_at, a.role \
     FROM set_up_links l JOIN accounts a ON a.id = l.account \
     WHERE l.token_hash = ?1 AND l.expires_at > ?2 AND a.plan <> ?3";

/// `?2` now, `?3` the interval, `?4` how far ahead; what is further ahead is of a clock that was set back.
const ATTEMPT: &str = "INSERT INTO sign_in_attempts AS a (subject, due) VALUES (?1, ?2 + ?3) \
     ON CONFLICT (subject) DO UPDATE SET due = max(min(a.due, ?2 + ?4), ?2) + ?3 \
     WHERE max(min(a.due, ?2 + ?4), ?2) + ?3 <= ?2 + ?4";

const EXPIRED: [&str; 3] = [
    "DELETE FROM web_sessions WHERE expires_at <= ?1",
    "DELETE FROM set_up_links WHERE expires_at <= ?1",
    "DELETE FROM sign_in_attempts WHERE due <= ?1",
];
const ANY_EXPIRED: &str = "SELECT EXISTS (SELECT 1 FROM web_sessions WHERE expires_at <= ?1) \
     OR EXISTS (SELECT 1 FROM set_up_links WHERE expires_at <= ?1) \
     OR EXISTS (SELECT 1 FROM sign_in_attempts WHERE due <= ?1)";

impl SignInStore for Database {
    fn password(&self, account: AccountId) -> Result<Option<String>, StorageError> {
        self.reader()?
            .prepare_cached("SELECT hash FROM passwords WHERE account = ?1")
            .and_then(|mut statement| statement.query_row([account.0], |row| row.get(0)).optional())
            .map_err(storage)
    }

    fn set_password(
        &self,
        account: AccountId,
        hash: &str,
        known: Option<&str>,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(Durability::Full, |tx| {
            if !is_open(tx, account)? || !knows(tx, account, known)? {
                return Ok(false);
            }
            put_password(tx, account, hash, at)?;
            let deed = Deed::of_account(Action::PasswordSet, account).with("by_link", false);
            note(tx, &deed, at, by)?;
            Ok(true)
        })
    }

    fn open_session(
        &self,
        session: &Session,
        token: &TokenHash,
        known: Option<&str>,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(Durability::Full, |tx| {
            if !is_open(tx, session.account)? || !knows(tx, session.account, known)? {
                return Ok(false);
            }
            tx.execute(
                OPEN,
                params![
                    session.id.0,
                    session.account.0,
                    token.0,
                    session.csrf,
                    At(session.created_at),
                    At(session.last_seen_at),
                    At(session.expires_at),
                    plain(&session.user_agent),
                    plain(&session.address)
                ],
            )
            .and_then(|_| tx.execute(END_OLDEST, params![session.account.0, SESSIONS_KEPT]))
            .map_err(storage)?;
            let deed = Deed::of_object(Action::SignedIn, session.account, session.id);
            note(tx, &deed, session.created_at, by)?;
            Ok(true)
        })
    }

    fn session(&self, token: &TokenHash, now: Timestamp) -> Result<Option<(Session, Account)>, StorageError> {
        let both = |row: &Row<'_>| Ok((read_session(row)?, read_account(row, SESSION_COLUMNS)?));
        self.reader()?
            .prepare_cached(SESSION)
            .and_then(|mut statement| statement.query_row(params![token.0, At(now)], both).optional())
            .map_err(storage)
    }

    fn touch_session(&self, id: SessionId, seen: Timestamp, expires: Timestamp) -> Result<(), StorageError> {
        self.write(Durability::Process, |tx| {
            tx.execute(TOUCH, params![id.0, At(seen), At(expires)]).map(|_| ()).map_err(storage)
        })
    }

    fn sessions(&self, account: AccountId, now: Timestamp) -> Result<Vec<Session>, StorageError> {
        let reader = self.reader()?;
        let mut statement = reader.prepare_cached(SESSIONS).map_err(storage)?;
        let rows = statement.query_map(params![account.0, At(now)], read_session).map_err(storage)?;
        rows.collect::<rusqlite::Result<_>>().map_err(storage)
    }

    fn end_session(
        &self,
        account: AccountId,
        id: SessionId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(Durability::Full, |tx| {
            let sql = "DELETE FROM web_sessions WHERE id = ?1 AND account = ?2";
            let ended = tx.execute(sql, params![id.0, account.0]).map_err(storage)? > 0;
            if ended {
                note(tx, &Deed::of_object(Action::SignedOut, account, id), at, by)?;
            }
            Ok(ended)
        })
    }

    fn add_set_up_link(&self, link: &SetUpLink, by: &Origin) -> Result<bool, StorageError> {
        self.write(Durability::Full, |tx| {
            if !is_open(tx, link.account)? {
                return Ok(false);
            }
            tx.execute("DELETE FROM set_up_links WHERE account = ?1", [link.account.0]).map_err(storage)?;
            tx.execute(
                "INSERT INTO set_up_links (token_hash, account, created_at, expires_at) VALUES (?1, ?2, ?3, ?4)",
                params![link.token.0, link.account.0, At(link.created_at), At(link.expires_at)],
            )
            .map_err(storage)?;
            note(tx, &Deed::of_account(Action::LinkMade, link.account), link.created_at, by)?;
            Ok(true)
        })
    }

    fn set_up_account(&self, token: &TokenHash, now: Timestamp) -> Result<Option<Account>, StorageError> {
        link_account(&*self.reader()?, token, now)
    }

    fn use_set_up_link(
        &self,
        token: &TokenHash,
        hash: &str,
        now: Timestamp,
        by: &Origin,
    ) -> Result<Option<Account>, StorageError> {
        self.write(Durability::Full, |tx| {
            let Some(account) = link_account(tx, token, now)? else { return Ok(None) };
            put_password(tx, account.id, hash, now)?;
            let deed = Deed::of_account(Action::PasswordSet, account.id).with("by_link", true);
            note(tx, &deed, now, by)?;
            Ok(Some(account))
        })
    }

    fn set_role(
        &self,
        account: AccountId,
        role: Role,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(Durability::Full, |tx| {
            if !is_open(tx, account)? {
                return Ok(false);
            }
            let sql = "UPDATE accounts SET role = ?2 WHERE id = ?1 AND role <> ?2";
            if tx.execute(sql, params![account.0, role.as_str()]).map_err(storage)? > 0 {
                let deed = Deed::of_account(Action::RoleChanged, account).with("to", role.as_str());
                note(tx, &deed, at, by)?;
            }
            Ok(true)
        })
    }

    fn attempt(
        &self,
        subject: &Subject,
        allowance: Allowance,
        now: Timestamp,
    ) -> Result<Attempt, StorageError> {
        let (now, every, ahead) = (now.as_millisecond(), allowance.every_ms(), allowance.ahead_ms());
        self.write(Durability::Process, |tx| {
            if tx.execute(ATTEMPT, params![subject.0, now, every, ahead]).map_err(storage)? > 0 {
                return Ok(Attempt::Allowed);
            }
            let sql = "SELECT due FROM sign_in_attempts WHERE subject = ?1";
            let due: i64 = tx.query_row(sql, params![subject.0], |row| row.get(0)).map_err(storage)?;
            Ok(Attempt::Refused(allowance.wait(due.min(now.saturating_add(ahead)), now)))
        })
    }

    fn forgive(&self, subject: &Subject, allowance: Allowance) -> Result<(), StorageError> {
        self.write(Durability::Process, |tx| {
            let sql = "UPDATE sign_in_attempts SET due = due - ?2 WHERE subject = ?1";
            tx.execute(sql, params![subject.0, allowance.every_ms()]).map(|_| ()).map_err(storage)
        })
    }

    fn forget_expired(&self, now: Timestamp) -> Result<(), StorageError> {
        // Looked at first without the turn to write: most of the time there is nothing to do.
        let any: bool =
            self.reader()?.query_row(ANY_EXPIRED, [At(now)], |row| row.get(0)).map_err(storage)?;
        if !any {
            return Ok(());
        }
        self.write(Durability::Process, |tx| {
            EXPIRED.iter().try_for_each(|sql| tx.execute(sql, [At(now)]).map(|_| ()).map_err(storage))
        })
    }
}

/// Whether there is such an account, and it is not being deleted.
fn is_open(tx: &Transaction<'_>, account: AccountId) -> Result<bool, StorageError> {
    tx.prepare_cached("SELECT 1 FROM accounts WHERE id = ?1 AND plan <> ?2")
        .and_then(|mut statement| statement.exists(params![account.0, BEING_DELETED]))
        .map_err(storage)
}

fn link_account(
    connection: &rusqlite::Connection,
    token: &TokenHash,
    now: Timestamp,
) -> Result<Option<Account>, StorageError> {
    let read = |row: &Row<'_>| read_account(row, 0);
    connection
        .prepare_cached(LINK_ACCOUNT)
        .and_then(|mut found| found.query_row(params![token.0, At(now), BEING_DELETED], read).optional())
        .map_err(storage)
}

/// Whether the account's password has that hash still: verifying takes a while, in which it may have been changed.
fn knows(tx: &Transaction<'_>, account: AccountId, known: Option<&str>) -> Result<bool, StorageError> {
    tx.prepare_cached("SELECT (SELECT hash FROM passwords WHERE account = ?1) IS ?2")
        .and_then(|mut statement| statement.query_row(params![account.0, known], |row| row.get(0)))
        .map_err(storage)
}

fn put_password(
    tx: &Transaction<'_>,
    account: AccountId,
    hash: &str,
    at: Timestamp,
) -> Result<(), StorageError> {
    tx.execute(
        "INSERT INTO passwords (account, hash, changed_at) VALUES (?1, ?2, ?3) \
         ON CONFLICT (account) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at",
        params![account.0, hash, At(at)],
    )
    .and_then(|_| tx.execute("DELETE FROM set_up_links WHERE account = ?1", [account.0]))
    .and_then(|_| tx.execute("DELETE FROM web_sessions WHERE account = ?1", [account.0]))
    .map(|_| ())
    .map_err(storage)
}

fn read_session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: SessionId(row.get(0)?),
        account: AccountId(row.get(1)?),
        csrf: row.get(2)?,
        created_at: row.get::<_, At>(3)?.0,
        last_seen_at: row.get::<_, At>(4)?.0,
        expires_at: row.get::<_, At>(5)?.0,
        user_agent: row.get(6)?,
        address: row.get(7)?,
    })
}
