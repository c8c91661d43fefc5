//! Accounts, their keys and their use of credits.

use jiff::Timestamp;

use super::audit::note;
use super::credits::USED;
use super::erasure;
use crate::base::ids::{AccountId, KeyId};
use crate::base::storage::StorageError;
use crate::model::account::{Account, BEING_DELETED, Erased, Erasure, KeyHash, KeyRecord, Role};
use crate::model::audit::{Action, AuditEvent, Origin};
use crate::model::credits::Cycle;
use crate::model::drive::Notification;
use crate::store::Store;
use crate::store::backend::{Operation, Statements};
use crate::store::document::encode;
use crate::store::value::{FromCell, Value, row, values};

row! { account_columns: Account from "a." { id, email, plan, anchor, created_at, role } }
pub(super) use account_columns;

row! {
    key_columns: KeyRecord from "k." { id, account, hash, last_four, label, created_at, last_used_at, revoked_at }
}

macro_rules! accounts {
    ($rest:literal) => {
        concat!("SELECT ", account_columns!(), " FROM accounts a ", $rest)
    };
}

macro_rules! keys {
    ($condition:literal) => {
        concat!("SELECT ", key_columns!(), " FROM api_keys k ", $condition, " ORDER BY k.created_at, k.id")
    };
}

const KEY_AND_OWNER: &str = concat!(
    "SELECT ",
    key_columns!(),
    ", ",
    account_columns!(),
    " FROM api_keys k JOIN accounts a ON a.id = k.account WHERE k.hash = ?1"
);

/// Adds a key. The account's deletion waits for this transaction, or this transaction waits for the deletion.
const ADD_KEY: &str = "INSERT INTO api_keys \
     (id, account, hash, last_four, label, created_at, last_used_at, revoked_at) \
     SELECT ?1, id, ?3, ?4, ?5, ?6, ?7, ?8 FROM accounts WHERE id = ?2 AND plan <> ?9 /*pg FOR KEY SHARE */";

/// Records the moments at which keys were used. `?1` is an array of `[ID, MILLISECONDS]`.
macro_rules! seen {
    () => {
        "(SELECT uuid(value ->> 0) AS id, max(to_timestamp(CAST(value ->> 1 AS bigint) / 1000.0)) AS at \
         FROM json_each(?1) GROUP BY 1)"
    };
}
/// Locks the keys in the order of their ids, so that two instances never wait for each other.
const LOCK_SEEN: &str = concat!(
    "SELECT 1 FROM api_keys WHERE id IN (SELECT id FROM ",
    seen!(),
    " AS seen) ORDER BY id /*pg FOR NO KEY UPDATE */"
);
const TOUCH: &str = concat!(
    "UPDATE api_keys SET last_used_at = greatest(last_used_at, seen.at) FROM ",
    seen!(),
    " AS seen WHERE api_keys.id = seen.id"
);

impl Store {
    /// Adds an account. Returns `false` if one with this email address exists.
    pub fn add_account(&self, account: &Account, by: &Origin) -> Result<bool, StorageError> {
        self.write(Operation::new("add_account"), |statements| {
            let added = statements.execute(
                "INSERT INTO accounts (id, email, plan, anchor, created_at, role) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                 ON CONFLICT (email) DO NOTHING",
                values![
                    account.id,
                    &account.email,
                    &account.plan,
                    account.anchor,
                    account.created_at,
                    account.role.as_str(),
                ],
            )?;
            if added == 1 {
                let event = AuditEvent::of_account(Action::AccountCreated, account.id);
                note(statements, &event.with("plan", account.plan.as_str()), account.created_at, by)?;
            }
            Ok(added == 1)
        })
    }

    /// Returns the account with that id.
    pub fn account(&self, id: AccountId) -> Result<Option<Account>, StorageError> {
        self.first(Operation::new("account"), accounts!("WHERE a.id = ?1"), values![id])
    }

    /// Returns the account with that email address, which must be in lower case.
    pub fn account_by_email(&self, email: &str) -> Result<Option<Account>, StorageError> {
        let sql = accounts!("WHERE a.email = ?1");
        self.first(Operation::new("account_by_email"), sql, values![email])
    }

    /// Returns all accounts, the oldest first.
    pub fn accounts(&self) -> Result<Vec<Account>, StorageError> {
        self.all(Operation::new("accounts"), accounts!("ORDER BY a.created_at, a.id"), values![])
    }

    /// Changes the plan. Returns `false` if the account is unknown or is being deleted.
    pub fn set_plan(
        &self,
        id: AccountId,
        plan: &str,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(Operation::new("set_plan"), |statements| {
            let known = "SELECT plan FROM accounts WHERE id = ?1 /*pg FOR NO KEY UPDATE */";
            let Some(before) = statements.first::<String>(known, values![id])? else { return Ok(false) };
            if before == BEING_DELETED {
                return Ok(false);
            }
            if before != plan {
                let sql = "UPDATE accounts SET plan = ?2 WHERE id = ?1";
                statements.execute(sql, values![id, plan])?;
                let event =
                    AuditEvent::of_account(Action::PlanChanged, id).with("from", before).with("to", plan);
                note(statements, &event, at, by)?;
                statements.announce(Notification::Access)?;
            }
            Ok(true)
        })
    }

    /// Begins the deletion of an account, and returns the amount of data that is deleted with it. From now on nothing
    /// can be done for the account: its keys are removed, no run is started or taken over, no key is added, and the
    /// drivers and readers of its runs are notified. For an account that is already being deleted, returns the
    /// remaining amount. Returns `None` if the account is unknown.
    pub fn close_account(
        &self,
        id: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Erased>, StorageError> {
        let operation = Operation::new("close_account");
        self.write(operation, |statements| erasure::close(statements, id, at, by))
    }

    /// Continues the deletion of a closed account. Removes some of its runs with their results or, after the last of
    /// them, the account and its email address. One call is short, so that others can write in between. Booked
    /// charges stay, identified only by the account's id.
    pub fn erase_closed(&self, id: AccountId) -> Result<Erasure, StorageError> {
        let operation = Operation::new("erase_closed").in_background().erasing();
        if self.write(operation.light(), |statements| erasure::erase_runs(statements, id))? > 0 {
            return Ok(Erasure::More);
        }
        let erasure = self.write(operation, |statements| erasure::erase_rest(statements, id))?;
        if erasure == Erasure::Done {
            self.backend.account_erased();
        }
        Ok(erasure)
    }

    /// Returns the accounts whose deletion has begun and not ended.
    pub fn closed_accounts(&self) -> Result<Vec<AccountId>, StorageError> {
        let sql = "SELECT id FROM accounts WHERE plan = ?1 ORDER BY id";
        let operation = Operation::new("closed_accounts").in_background();
        self.all(operation, sql, values![BEING_DELETED])
    }

    /// Adds a key. Returns `false` if the account is unknown or is being deleted.
    pub fn add_key(&self, key: &KeyRecord, by: &Origin) -> Result<bool, StorageError> {
        self.write(Operation::new("add_key"), |statements| {
            let added = statements.execute(
                ADD_KEY,
                values![
                    key.id,
                    key.account,
                    &key.hash.0,
                    &key.last_four,
                    &key.label,
                    key.created_at,
                    key.last_used_at,
                    key.revoked_at,
                    BEING_DELETED,
                ],
            )?;
            if added == 1 {
                let event = AuditEvent::of_object(Action::KeyCreated, key.account, key.id);
                note(statements, &event, key.created_at, by)?;
            }
            Ok(added == 1)
        })
    }

    /// Returns the key with that hash, revoked or not, and its owner.
    pub fn key_by_hash(&self, hash: &KeyHash) -> Result<Option<(KeyRecord, Account)>, StorageError> {
        self.first(Operation::new("key_by_hash"), KEY_AND_OWNER, values![&hash.0])
    }

    /// Returns all keys of an account, or of every account for `None`, the oldest first.
    pub fn keys(&self, account: Option<AccountId>) -> Result<Vec<KeyRecord>, StorageError> {
        let operation = Operation::new("keys");
        match account {
            Some(account) => self.all(operation, keys!("WHERE k.account = ?1"), values![account]),
            None => self.all(operation, keys!(""), values![]),
        }
    }

    /// Revokes a key. A key that is already revoked keeps its first date. Returns `false` if the key is unknown.
    pub fn revoke_key(&self, id: KeyId, at: Timestamp, by: &Origin) -> Result<bool, StorageError> {
        self.write(Operation::new("revoke_key"), |statements| {
            let known =
                "SELECT account, revoked_at IS NULL FROM api_keys WHERE id = ?1 /*pg FOR NO KEY UPDATE */";
            let Some((account, is_valid)) = statements.first(known, values![id])? else { return Ok(false) };
            if is_valid {
                statements.execute("UPDATE api_keys SET revoked_at = ?2 WHERE id = ?1", values![id, at])?;
                note(statements, &AuditEvent::of_object(Action::KeyRevoked, account, id), at, by)?;
                statements.announce(Notification::Access)?;
            }
            Ok(true)
        })
    }

    /// Records when keys were last used. A recorded time never becomes earlier.
    pub fn touch_keys(&self, seen: &[(KeyId, Timestamp)]) -> Result<(), StorageError> {
        if seen.is_empty() {
            return Ok(());
        }
        let moment = |(id, at): &(KeyId, Timestamp)| (id.0, at.as_millisecond());
        let seen = encode(&seen.iter().map(moment).collect::<Vec<_>>())?;
        self.write(Operation::new("touch_keys").in_background().light(), |statements| {
            statements.rows(LOCK_SEEN, values![&seen])?;
            statements.execute(TOUCH, values![&seen]).map(drop)
        })
    }

    /// Returns the credits that an account has used in the cycle that starts at `cycle.start`.
    pub fn credits_used(&self, account: AccountId, cycle: Cycle) -> Result<u64, StorageError> {
        let used = self.first(Operation::new("credits_used"), USED, values![account, cycle.start])?;
        Ok(used.unwrap_or_default())
    }
}

/// Locks an account for this transaction alone. Returns `false` if it does not exist or is being deleted.
pub(super) fn lock(statements: &mut dyn Statements, account: AccountId) -> Result<bool, StorageError> {
    let sql = "SELECT 1 FROM accounts WHERE id = ?1 AND plan <> ?2 /*pg FOR NO KEY UPDATE */";
    statements.has(sql, values![account, BEING_DELETED])
}

/// Locks an account against its deletion, which waits for this transaction, or this transaction waits for it. Returns
/// `false` if it does not exist or is being deleted.
pub(super) fn lock_shared(statements: &mut dyn Statements, account: AccountId) -> Result<bool, StorageError> {
    let sql = "SELECT 1 FROM accounts WHERE id = ?1 AND plan <> ?2 /*pg FOR KEY SHARE */";
    statements.has(sql, values![account, BEING_DELETED])
}

impl FromCell for KeyHash {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        <[u8; 32]>::from_cell(cell).map(Self)
    }
}

/// A role that only a later version knows grants nothing here.
impl FromCell for Role {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        String::from_cell(cell).map(|name| Self::from_name(&name).unwrap_or_default())
    }
}
