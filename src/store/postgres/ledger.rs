//! Accounts, keys and the use of credits.

use jiff::Timestamp;
use postgres::Row;
use uuid::Uuid;

use super::audit::note;
use super::error::storage;
use super::session::Values;
use super::{Database, at, herald};
use crate::account::account::{Account, BEING_DELETED, Role};
use crate::account::audit::{Action, Deed, Origin};
use crate::account::credits::Cycle;
use crate::account::key::{KeyHash, KeyRecord};
use crate::account::ledger::{Erased, Erasure, Ledger};
use crate::account::rate_limit::quota::Quota;
use crate::base::ids::{AccountId, KeyId};
use crate::base::storage::StorageError;
use crate::runs::news::News;
use crate::store::document::plain;
use crate::store::limits::PING_WAIT;
use crate::store::row::number;

/// What [`read_account`] reads of the table `a`.
macro_rules! account_columns {
    () => {
        "a.id, a.email, a.plan, a.anchor, a.created_at, a.role"
    };
}
pub(super) use account_columns;

macro_rules! key_columns {
    () => {
        "k.id, k.account, k.hash, k.last_four, k.label, k.created_at, k.last_used_at, k.revoked_at"
    };
}

/// Rows are locked in the order of their ids, so that two instances never wait for each other.
const TOUCH: &str = "WITH seen AS ( \
         SELECT k.id, s.at FROM api_keys k JOIN unnest($1::uuid[], $2::timestamptz[]) AS s(id, at) USING (id) \
         ORDER BY k.id FOR NO KEY UPDATE OF k \
     ), latest AS (SELECT id, max(at) AS at FROM seen GROUP BY id) \
     UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, l.at) FROM latest l WHERE k.id = l.id";

/// The account's deletion waits for this transaction, or this one for its deletion.
const ADD_KEY: &str = "INSERT INTO api_keys \
     (id, account, hash, last_four, label, created_at, last_used_at, revoked_at) \
     SELECT $1, id, $3, $4, $5, $6, $7, $8 FROM accounts WHERE id = $2 AND plan <> $9 FOR KEY SHARE";

impl Ledger for Database {
    fn add_account(&self, account: &Account, by: &Origin) -> Result<bool, StorageError> {
        self.write(|work| {
            let added = work.execute(
                "INSERT INTO accounts (id, email, plan, anchor, created_at, role) VALUES ($1, $2, $3, $4, $5, $6) \
                 ON CONFLICT (email) DO NOTHING",
                &[
                    &account.id.0,
                    &plain(&account.email),
                    &plain(&account.plan),
                    &at(account.anchor),
                    &at(account.created_at),
                    &account.role.as_str(),
                ],
            )?;
            if added == 1 {
                let deed = Deed::of_account(Action::AccountCreated, account.id);
                note(work, &deed.with("plan", account.plan.as_str()), account.created_at, by)?;
            }
            Ok(added == 1)
        })
    }

    fn account(&self, id: AccountId) -> Result<Option<Account>, StorageError> {
        let sql = concat!("SELECT ", account_columns!(), " FROM accounts a WHERE a.id = $1");
        Ok(self.read_accounts(sql, &[&id.0])?.pop())
    }

    fn account_by_email(&self, email: &str) -> Result<Option<Account>, StorageError> {
        let sql = concat!("SELECT ", account_columns!(), " FROM accounts a WHERE a.email = $1");
        Ok(self.read_accounts(sql, &[&plain(email)])?.pop())
    }

    fn accounts(&self) -> Result<Vec<Account>, StorageError> {
        let sql = concat!("SELECT ", account_columns!(), " FROM accounts a ORDER BY a.created_at, a.id");
        self.read_accounts(sql, &[])
    }

    fn set_plan(
        &self,
        id: AccountId,
        plan: &str,
        moment: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(|work| {
            let known = "SELECT plan FROM accounts WHERE id = $1 FOR NO KEY UPDATE";
            let rows = work.query(known, &[&id.0])?;
            let Some(row) = rows.first() else { return Ok(false) };
            let before: String = row.try_get(0).map_err(storage)?;
            if before == BEING_DELETED {
                return Ok(false);
            }
            if before != plan {
                work.execute("UPDATE accounts SET plan = $2 WHERE id = $1", &[&id.0, &plain(plan)])?;
                let deed = Deed::of_account(Action::PlanChanged, id).with("from", before).with("to", plan);
                note(work, &deed, moment, by)?;
                herald::announce(work, News::Access)?;
            }
            Ok(true)
        })
    }

    fn close_account(
        &self,
        id: AccountId,
        moment: Timestamp,
        by: &Origin,
    ) -> Result<Option<Erased>, StorageError> {
        self.close(id, moment, by)
    }

    fn erase_closed(&self, id: AccountId) -> Result<Erasure, StorageError> {
        self.erase_part(id)
    }

    fn closed_accounts(&self) -> Result<Vec<AccountId>, StorageError> {
        self.closed()
    }

    fn add_key(&self, key: &KeyRecord, by: &Origin) -> Result<bool, StorageError> {
        self.write(|work| {
            let added = work.execute(
                ADD_KEY,
                &[
                    &key.id.0,
                    &key.account.0,
                    &key.hash.0.as_slice(),
                    &plain(&key.last_four),
                    &plain(&key.label),
                    &at(key.created_at),
                    &key.last_used_at.map(at),
                    &key.revoked_at.map(at),
                    &BEING_DELETED,
                ],
            )?;
            if added == 1 {
                let deed = Deed::of_object(Action::KeyCreated, key.account, key.id);
                note(work, &deed, key.created_at, by)?;
            }
            Ok(added == 1)
        })
    }

    fn key_by_hash(&self, hash: &KeyHash) -> Result<Option<(KeyRecord, Account)>, StorageError> {
        let sql = concat!(
            "SELECT ",
            key_columns!(),
            ", ",
            account_columns!(),
            " FROM api_keys k JOIN accounts a ON a.id = k.account WHERE k.hash = $1"
        );
        let rows = self.session()?.query(sql, &[&hash.0.as_slice()])?;
        rows.first().map(|row| Ok((read_key(row)?, read_account(row, 8)?))).transpose()
    }

    fn keys(&self, account: Option<AccountId>) -> Result<Vec<KeyRecord>, StorageError> {
        const KEYS: &str = concat!("SELECT ", key_columns!(), " FROM api_keys k ORDER BY k.created_at, k.id");
        const KEYS_OF: &str = concat!(
            "SELECT ",
            key_columns!(),
            " FROM api_keys k WHERE k.account = $1 ORDER BY k.created_at, k.id"
        );
        let mut session = self.session()?;
        let rows = match account {
            Some(account) => session.query(KEYS_OF, &[&account.0])?,
            None => session.query(KEYS, &[])?,
        };
        rows.iter().map(read_key).collect()
    }

    fn revoke_key(&self, id: KeyId, revoked_at: Timestamp, by: &Origin) -> Result<bool, StorageError> {
        self.write(|work| {
            let known = "SELECT account, revoked_at IS NULL FROM api_keys WHERE id = $1 FOR NO KEY UPDATE";
            let rows = work.query(known, &[&id.0])?;
            let Some(row) = rows.first() else { return Ok(false) };
            if row.try_get(1).map_err(storage)? {
                let account = AccountId(row.try_get(0).map_err(storage)?);
                let sql = "UPDATE api_keys SET revoked_at = $2 WHERE id = $1";
                work.execute(sql, &[&id.0, &at(revoked_at)])?;
                note(work, &Deed::of_object(Action::KeyRevoked, account, id), revoked_at, by)?;
                herald::announce(work, News::Access)?;
            }
            Ok(true)
        })
    }

    fn touch_keys(&self, seen: &[(KeyId, Timestamp)]) -> Result<(), StorageError> {
        if seen.is_empty() {
            return Ok(());
        }
        let ids: Vec<Uuid> = seen.iter().map(|(id, _)| id.0).collect();
        let moments: Vec<Timestamp> = seen.iter().map(|(_, moment)| at(*moment)).collect();
        self.session()?.execute(TOUCH, &[&ids, &moments]).map(|_| ())
    }

    fn credits_used(&self, account: AccountId, cycle: Cycle) -> Result<u64, StorageError> {
        let sql = "SELECT used FROM credit_usage WHERE account = $1 AND cycle_start = $2";
        let rows = self.session()?.query(sql, &[&account.0, &at(cycle.start)])?;
        rows.first().map_or(Ok(0), |row| number(row.try_get(0).map_err(storage)?))
    }

    fn quota(&self) -> Option<&dyn Quota> {
        Some(self)
    }

    fn ping(&self) -> Result<(), StorageError> {
        self.is_well(PING_WAIT)
    }
}

impl Database {
    fn read_accounts(&self, sql: &'static str, values: Values<'_>) -> Result<Vec<Account>, StorageError> {
        self.session()?.query(sql, values)?.iter().map(|row| read_account(row, 0)).collect()
    }
}

pub(super) fn read_account(row: &Row, first: usize) -> Result<Account, StorageError> {
    let read = || {
        Ok(Account {
            id: AccountId(row.try_get(first)?),
            email: row.try_get(first + 1)?,
            plan: row.try_get(first + 2)?,
            anchor: row.try_get(first + 3)?,
            created_at: row.try_get(first + 4)?,
            // One that a later version knows gives nothing here.
            role: Role::named(row.try_get(first + 5)?).unwrap_or_default(),
        })
    };
    read().map_err(storage)
}

fn read_key(row: &Row) -> Result<KeyRecord, StorageError> {
    let hash: &[u8] = row.try_get(2).map_err(storage)?;
    let hash = hash.try_into().map_err(|_| StorageError::broken("a stored key hash has a wrong length"))?;
    let read = || {
        Ok(KeyRecord {
            id: KeyId(row.try_get(0)?),
            account: AccountId(row.try_get(1)?),
            hash: KeyHash(hash),
            last_four: row.try_get(3)?,
            label: row.try_get(4)?,
            created_at: row.try_get(5)?,
            last_used_at: row.try_get(6)?,
            revoked_at: row.try_get(7)?,
        })
    };
    read().map_err(storage)
}
