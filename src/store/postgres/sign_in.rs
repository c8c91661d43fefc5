//! Passwords, sessions, set-up links, attempts to sign in. Whatever is changed for an account locks its row first.

use jiff::Timestamp;
use postgres::Row;
use r2d2::PooledConnection;

use super::audit::note;
use super::error::storage;
use super::ledger::{account_columns, read_account};
use super::manager::Manager;
use super::session::Work;
use super::{Database, at};
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
    ", ",
    account_columns!(),
    " FROM web_sessions s JOIN accounts a ON a.id = s.account WHERE s.token_hash = $1 AND s.expires_at > $2"
);
const SESSIONS: &str = concat!(
    "SELECT ",
    session_columns!(),
    " FROM web_sessions s WHERE s.account = $1 AND s.expires_at > $2 ORDER BY s.last_seen_at DESC, s.id DESC"
);
const OPEN: &str = "INSERT INTO web_sessions \
     (id, account, token_hash, csrf, created_at, last_seen_at, expires_at, user_agent, address) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
const END_OLDEST: &str = "DELETE FROM web_sessions WHERE account = $1 AND id NOT IN \
     (SELECT id FROM web_sessions WHERE account = $1 ORDER BY last_seen_at DESC, id DESC LIMIT $2)";
const TOUCH: &str = "UPDATE web_sessions SET last_seen_at = greatest(last_seen_at, $2), \
     expires_at = greatest(expires_at, $3) WHERE id = $1";

const LINK_ACCOUNT: &str = concat!(
    "SELECT ",
    account_columns!(),
    " FROM set_up_links l JOIN accounts a ON a.id = l.account \
     WHERE l.token_hash = $1 AND l.expires_at > $2 AND a.plan <> $3"
);

/// `$2` now, `$3` the interval, `$4` how far ahead; what is further ahead is of a clock that was set back.
const ATTEMPT: &str = "INSERT INTO sign_in_attempts AS a (subject, due) VALUES ($1, $2::bigint + $3::bigint) \
     ON CONFLICT (subject) DO UPDATE SET due = greatest(least(a.due, $2 + $4::bigint), $2) + $3 \
     WHERE greatest(least(a.due, $2 + $4), $2) + $3 <= $2 + $4 RETURNING due";
const FORGIVE: &str = "UPDATE sign_in_attempts SET due = due - $2 WHERE subject = $1";

const EXPIRED: [&str; 2] =
    ["DELETE FROM web_sessions WHERE expires_at <= $1", "DELETE FROM set_up_links WHERE expires_at <= $1"];
const PAST: &str = "DELETE FROM sign_in_attempts WHERE due <= $1";

impl SignInStore for Database {
    fn password(&self, account: AccountId) -> Result<Option<String>, StorageError> {
        let rows =
            self.connection()?.query("SELECT hash FROM passwords WHERE account = $1", &[&account.0])?;
        rows.first().map(|row| row.try_get(0).map_err(storage)).transpose()
    }

    fn set_password(
        &self,
        account: AccountId,
        hash: &str,
        known: Option<&str>,
        moment: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(|work| {
            if !lock(work, account)? || !knows(work, account, known)? {
                return Ok(false);
            }
            put_password(work, account, hash, moment)?;
            let deed = Deed::of_account(Action::PasswordSet, account).with("by_link", false);
            note(work, &deed, moment, by)?;
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
        self.write(|work| {
            if !lock(work, session.account)? || !knows(work, session.account, known)? {
                return Ok(false);
            }
            work.execute(
                OPEN,
                &[
                    &session.id.0,
                    &session.account.0,
                    &token.0.as_slice(),
                    &session.csrf.as_slice(),
                    &at(session.created_at),
                    &at(session.last_seen_at),
                    &at(session.expires_at),
                    &plain(&session.user_agent),
                    &plain(&session.address),
                ],
            )?;
            work.execute(END_OLDEST, &[&session.account.0, &SESSIONS_KEPT])?;
            let deed = Deed::of_object(Action::SignedIn, session.account, session.id);
            note(work, &deed, session.created_at, by)?;
            Ok(true)
        })
    }

    fn session(&self, token: &TokenHash, now: Timestamp) -> Result<Option<(Session, Account)>, StorageError> {
        let rows = self.connection()?.query(SESSION, &[&token.0.as_slice(), &at(now)])?;
        let both = |row| Ok((read_session(row)?, read_account(row, SESSION_COLUMNS)?));
        rows.first().map(both).transpose()
    }

    fn touch_session(&self, id: SessionId, seen: Timestamp, expires: Timestamp) -> Result<(), StorageError> {
        self.connection()?.execute(TOUCH, &[&id.0, &at(seen), &at(expires)]).map(|_| ())
    }

    fn sessions(&self, account: AccountId, now: Timestamp) -> Result<Vec<Session>, StorageError> {
        let rows = self.connection()?.query(SESSIONS, &[&account.0, &at(now)])?;
        rows.iter().map(read_session).collect()
    }

    fn end_session(
        &self,
        account: AccountId,
        id: SessionId,
        moment: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(|work| {
            let sql = "DELETE FROM web_sessions WHERE id = $1 AND account = $2";
            let ended = work.execute(sql, &[&id.0, &account.0])? > 0;
            if ended {
                note(work, &Deed::of_object(Action::SignedOut, account, id), moment, by)?;
            }
            Ok(ended)
        })
    }

    fn add_set_up_link(&self, link: &SetUpLink, by: &Origin) -> Result<bool, StorageError> {
        self.write(|work| {
            if !lock(work, link.account)? {
                return Ok(false);
            }
            work.execute("DELETE FROM set_up_links WHERE account = $1", &[&link.account.0])?;
            work.execute(
                "INSERT INTO set_up_links (token_hash, account, created_at, expires_at) VALUES ($1, $2, $3, $4)",
                &[&link.token.0.as_slice(), &link.account.0, &at(link.created_at), &at(link.expires_at)],
            )?;
            note(work, &Deed::of_account(Action::LinkMade, link.account), link.created_at, by)?;
            Ok(true)
        })
    }

    fn set_up_account(&self, token: &TokenHash, now: Timestamp) -> Result<Option<Account>, StorageError> {
        let rows =
            self.connection()?.query(LINK_ACCOUNT, &[&token.0.as_slice(), &at(now), &BEING_DELETED])?;
        rows.first().map(|row| read_account(row, 0)).transpose()
    }

    fn use_set_up_link(
        &self,
        token: &TokenHash,
        hash: &str,
        now: Timestamp,
        by: &Origin,
    ) -> Result<Option<Account>, StorageError> {
        self.write(|work| {
            let rows = work.query(LINK_ACCOUNT, &[&token.0.as_slice(), &at(now), &BEING_DELETED])?;
            let Some(account) = rows.first().map(|row| read_account(row, 0)).transpose()? else {
                return Ok(None);
            };
            if !lock(work, account.id)? {
                return Ok(None);
            }
            // Somebody else may have used it up, or made another one, before the account was locked.
            let sql = "DELETE FROM set_up_links WHERE token_hash = $1";
            if work.execute(sql, &[&token.0.as_slice()])? == 0 {
                return Ok(None);
            }
            put_password(work, account.id, hash, now)?;
            let deed = Deed::of_account(Action::PasswordSet, account.id).with("by_link", true);
            note(work, &deed, now, by)?;
            Ok(Some(account))
        })
    }

    fn set_role(
        &self,
        account: AccountId,
        role: Role,
        moment: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(|work| {
            if !lock(work, account)? {
                return Ok(false);
            }
            let sql = "UPDATE accounts SET role = $2 WHERE id = $1 AND role <> $2";
            if work.execute(sql, &[&account.0, &role.as_str()])? > 0 {
                let deed = Deed::of_account(Action::RoleChanged, account).with("to", role.as_str());
                note(work, &deed, moment, by)?;
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
        let mut session = self.connection()?;
        let subject = subject.0.as_slice();
        if !session.change(ATTEMPT, &[&subject, &now, &every, &ahead])?.is_empty() {
            return Ok(Attempt::Allowed);
        }
        let rows = session.query("SELECT due FROM sign_in_attempts WHERE subject = $1", &[&subject])?;
        let due: i64 = rows.first().map_or(Ok(now), |row| row.try_get(0)).map_err(storage)?;
        Ok(Attempt::Refused(allowance.wait(due.min(now.saturating_add(ahead)), now)))
    }

    fn forgive(&self, subject: &Subject, allowance: Allowance) -> Result<(), StorageError> {
        let values = (subject.0.as_slice(), allowance.every_ms());
        self.connection()?.execute(FORGIVE, &[&values.0, &values.1]).map(|_| ())
    }

    fn forget_expired(&self, now: Timestamp) -> Result<(), StorageError> {
        let mut session = self.connection()?;
        for sql in EXPIRED {
            session.execute(sql, &[&at(now)])?;
        }
        session.execute(PAST, &[&now.as_millisecond()]).map(|_| ())
    }
}

impl Database {
    /// A connection: `session` is something else in this file.
    fn connection(&self) -> Result<PooledConnection<Manager>, StorageError> {
        Self::session(self)
    }
}

/// Locks an account. `false`: there is none, or it is being deleted.
fn lock(work: &mut Work<'_>, account: AccountId) -> Result<bool, StorageError> {
    let sql = "SELECT 1 FROM accounts WHERE id = $1 AND plan <> $2 FOR NO KEY UPDATE";
    Ok(!work.query(sql, &[&account.0, &BEING_DELETED])?.is_empty())
}

/// Whether the account's password has that hash still: verifying takes a while, in which it may have been changed. The
/// account is locked: it stays so until the end.
fn knows(work: &mut Work<'_>, account: AccountId, known: Option<&str>) -> Result<bool, StorageError> {
    let rows = work.query("SELECT hash FROM passwords WHERE account = $1", &[&account.0])?;
    let hash: Option<&str> = rows.first().map(|row| row.try_get(0).map_err(storage)).transpose()?;
    Ok(hash == known)
}

fn put_password(
    work: &mut Work<'_>,
    account: AccountId,
    hash: &str,
    moment: Timestamp,
) -> Result<(), StorageError> {
    work.execute(
        "INSERT INTO passwords (account, hash, changed_at) VALUES ($1, $2, $3) \
         ON CONFLICT (account) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at",
        &[&account.0, &hash, &at(moment)],
    )?;
    work.execute("DELETE FROM set_up_links WHERE account = $1", &[&account.0])?;
    work.execute("DELETE FROM web_sessions WHERE account = $1", &[&account.0])?;
    Ok(())
}

fn read_session(row: &Row) -> Result<Session, StorageError> {
    let csrf: &[u8] = row.try_get(2).map_err(storage)?;
    let csrf = csrf.try_into().map_err(|_| StorageError::broken("a stored form token has a wrong length"))?;
    let read = || {
        Ok(Session {
            id: SessionId(row.try_get(0)?),
            account: AccountId(row.try_get(1)?),
            csrf,
            created_at: row.try_get(3)?,
            last_seen_at: row.try_get(4)?,
            expires_at: row.try_get(5)?,
            user_agent: row.try_get(6)?,
            address: row.try_get(7)?,
        })
    };
    read().map_err(storage)
}
