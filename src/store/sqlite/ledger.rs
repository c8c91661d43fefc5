//! Accounts, keys and the use of credits.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, ToSql, params};
use uuid::Uuid;

use super::audit::note;
use super::error::storage;
use super::{At, Database, Durability};
use crate::account::account::{Account, BEING_DELETED, Role};
use crate::account::audit::{Action, Deed, Origin};
use crate::account::credits::Cycle;
use crate::account::key::{KeyHash, KeyRecord};
use crate::account::ledger::{Erased, Erasure, Ledger};
use crate::account::rate_limit::quota::Quota;
use crate::base::ids::{AccountId, KeyId};
use crate::base::storage::StorageError;
use crate::store::document::plain;
use crate::store::limits::PING_WAIT;
use crate::store::row::number;

const ACCOUNTS: &str = "SELECT id, email, plan, anchor, created_at, role FROM accounts";
const KEYS: &str =
    "SELECT id, account, hash, last_four, label, created_at, last_used_at, revoked_at FROM api_keys";
const KEY_AND_OWNER: &str = "SELECT k.id, k.account, k.hash, k.last_four, k.label, k.created_at, k.last_used_at, k.revoked_at, \
     a.id, a.email, a.plan, a.anchor, a.created_at, a.role \
     FROM api_keys k JOIN accounts a ON a.id = k.account WHERE k.hash = ?1";

impl Ledger for Database {
    fn add_account(&self, account: &Account, by: &Origin) -> Result<bool, StorageError> {
        self.write(Durability::Full, |tx| {
            let added = tx
                .prepare_cached(
                    "INSERT INTO accounts (id, email, plan, anchor, created_at, role) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                     ON CONFLICT (email) DO NOTHING",
                )
                .and_then(|mut statement| {
                    statement.execute(params![
                        account.id.0,
                        plain(&account.email),
                        plain(&account.plan),
                        At(account.anchor),
                        At(account.created_at),
                        account.role.as_str()
                    ])
                })
                .map_err(storage)?;
            if added == 1 {
                let deed = Deed::of_account(Action::AccountCreated, account.id);
                note(tx, &deed.with("plan", account.plan.as_str()), account.created_at, by)?;
            }
            Ok(added == 1)
        })
    }

    fn account(&self, id: AccountId) -> Result<Option<Account>, StorageError> {
        self.accounts_where("WHERE id = ?1", &id.0).map(|found| found.into_iter().next())
    }

    fn account_by_email(&self, email: &str) -> Result<Option<Account>, StorageError> {
        self.accounts_where("WHERE email = ?1", &plain(email)).map(|found| found.into_iter().next())
    }

    fn accounts(&self) -> Result<Vec<Account>, StorageError> {
        self.accounts_where("WHERE ?1 ORDER BY created_at, id", &true)
    }

    fn set_plan(&self, id: AccountId, plan: &str, at: Timestamp, by: &Origin) -> Result<bool, StorageError> {
        self.write(Durability::Full, |tx| {
            let known = "SELECT plan FROM accounts WHERE id = ?1";
            let before: Option<String> =
                tx.query_row(known, [id.0], |row| row.get(0)).optional().map_err(storage)?;
            let Some(before) = before.filter(|plan| plan != BEING_DELETED) else { return Ok(false) };
            if before != plan {
                tx.execute("UPDATE accounts SET plan = ?2 WHERE id = ?1", params![id.0, plain(plan)])
                    .map_err(storage)?;
                let deed = Deed::of_account(Action::PlanChanged, id).with("from", before).with("to", plan);
                note(tx, &deed, at, by)?;
            }
            Ok(true)
        })
    }

    fn close_account(
        &self,
        id: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Erased>, StorageError> {
        self.close(id, at, by)
    }

    fn erase_closed(&self, id: AccountId) -> Result<Erasure, StorageError> {
        self.erase_part(id)
    }

    fn closed_accounts(&self) -> Result<Vec<AccountId>, StorageError> {
        self.closed()
    }

    fn add_key(&self, key: &KeyRecord, by: &Origin) -> Result<bool, StorageError> {
        self.write(Durability::Full, |tx| {
            let added = tx
                .execute(
                    "INSERT INTO api_keys \
                     (id, account, hash, last_four, label, created_at, last_used_at, revoked_at) \
                     SELECT ?1, id, ?3, ?4, ?5, ?6, ?7, ?8 FROM accounts WHERE id = ?2 AND plan <> ?9",
                    params![
                        key.id.0,
                        key.account.0,
                        key.hash.0,
                        plain(&key.last_four),
                        plain(&key.label),
                        At(key.created_at),
                        key.last_used_at.map(At),
                        key.revoked_at.map(At),
                        BEING_DELETED
                    ],
                )
                .map_err(storage)?;
            if added == 1 {
                let deed = Deed::of_object(Action::KeyCreated, key.account, key.id);
                note(tx, &deed, key.created_at, by)?;
            }
            Ok(added == 1)
        })
    }

    fn key_by_hash(&self, hash: &KeyHash) -> Result<Option<(KeyRecord, Account)>, StorageError> {
        self.reader()?
            .prepare_cached(KEY_AND_OWNER)
            .and_then(|mut statement| {
                statement.query_row([&hash.0], |row| Ok((read_key(row)?, read_account(row, 8)?))).optional()
            })
            .map_err(storage)
    }

    fn keys(&self, account: Option<AccountId>) -> Result<Vec<KeyRecord>, StorageError> {
        let (condition, value): (_, &dyn ToSql) = match &account {
            Some(account) => ("WHERE account = ?1", &account.0),
            None => ("WHERE ?1", &true),
        };
        let reader = self.reader()?;
        let mut statement =
            reader.prepare_cached(&format!("{KEYS} {condition} ORDER BY created_at, id")).map_err(storage)?;
        let rows = statement.query_map([value], read_key).map_err(storage)?;
        rows.collect::<rusqlite::Result<_>>().map_err(storage)
    }

    fn revoke_key(&self, id: KeyId, at: Timestamp, by: &Origin) -> Result<bool, StorageError> {
        self.write(Durability::Full, |tx| {
            let known = "SELECT account, revoked_at IS NULL FROM api_keys WHERE id = ?1";
            let found: Option<(Uuid, bool)> = tx
                .query_row(known, [id.0], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
                .map_err(storage)?;
            if let Some((account, true)) = found {
                tx.execute("UPDATE api_keys SET revoked_at = ?2 WHERE id = ?1", params![id.0, At(at)])
                    .map_err(storage)?;
                note(tx, &Deed::of_object(Action::KeyRevoked, AccountId(account), id), at, by)?;
            }
            Ok(found.is_some())
        })
    }

    fn touch_keys(&self, seen: &[(KeyId, Timestamp)]) -> Result<(), StorageError> {
        if seen.is_empty() {
            return Ok(());
        }
        self.write(Durability::Process, |tx| {
            let mut statement = tx
                .prepare_cached(
                    "UPDATE api_keys SET last_used_at = ?2 \
                     WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)",
                )
                .map_err(storage)?;
            for (id, at) in seen {
                statement.execute(params![id.0, At(*at)]).map_err(storage)?;
            }
            Ok(())
        })
    }

    fn credits_used(&self, account: AccountId, cycle: Cycle) -> Result<u64, StorageError> {
        let used: Option<i64> = self
            .reader()?
            .prepare_cached("SELECT used FROM credit_usage WHERE account = ?1 AND cycle_start = ?2")
            .and_then(|mut statement| {
                statement.query_row(params![account.0, At(cycle.start)], |row| row.get(0)).optional()
            })
            .map_err(storage)?;
        used.map_or(Ok(0), number)
    }

    fn quota(&self) -> Option<&dyn Quota> {
        None
    }

    fn ping(&self) -> Result<(), StorageError> {
        self.is_well(PING_WAIT)
    }
}

impl Database {
    /// `condition` names exactly the parameter `?1`.
    fn accounts_where(&self, condition: &str, value: &dyn ToSql) -> Result<Vec<Account>, StorageError> {
        let reader = self.reader()?;
        let mut statement = reader.prepare_cached(&format!("{ACCOUNTS} {condition}")).map_err(storage)?;
        let rows = statement.query_map([value], |row| read_account(row, 0)).map_err(storage)?;
        rows.collect::<rusqlite::Result<_>>().map_err(storage)
    }
}

pub(super) fn read_account(row: &Row<'_>, first: usize) -> rusqlite::Result<Account> {
    Ok(Account {
        id: AccountId(row.get(first)?),
        email: row.get(first + 1)?,
        plan: row.get(first + 2)?,
        anchor: row.get::<_, At>(first + 3)?.0,
        created_at: row.get::<_, At>(first + 4)?.0,
        // One that a later version knows gives nothing here.
        role: Role::named(&row.get::<_, String>(first + 5)?).unwrap_or_default(),
    })
}

fn read_key(row: &Row<'_>) -> rusqlite::Result<KeyRecord> {
    let moment = |at: Option<At>| at.map(|at| at.0);
    Ok(KeyRecord {
        id: KeyId(row.get(0)?),
        account: AccountId(row.get(1)?),
        hash: KeyHash(row.get(2)?),
        last_four: row.get(3)?,
        label: row.get(4)?,
        created_at: row.get::<_, At>(5)?.0,
        last_used_at: moment(row.get(6)?),
        revoked_at: moment(row.get(7)?),
    })
}
