//! Accounts, their keys and their use of credits.

use super::*;

row! { Account from "a." { id, email, plan, anchor, created_at, role } }

row! {
    KeyRecord from "k." { id, account, hash, last_four, label, created_at, last_used_at, revoked_at }
}

const KEY_AND_OWNER: &str = "SELECT {row} FROM api_keys k JOIN accounts a ON a.id = k.account \
     WHERE k.hash = ?1";

const KEYS: &str = "SELECT {row} FROM api_keys k WHERE k.account = ?1 OR CAST(?1 AS uuid) IS NULL \
     ORDER BY k.created_at, k.id";
const COUNT_KEYS: &str = "SELECT count(*) FROM api_keys WHERE account = ?1 AND revoked_at IS NULL";
const ADD_KEY: &str = "INSERT INTO api_keys \
     (id, account, hash, last_four, label, created_at, last_used_at, revoked_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

const REVOKE_KEY: &str =
    "UPDATE api_keys SET revoked_at = {now} WHERE id = ?1 AND revoked_at IS NULL RETURNING account";
const TOUCH: &str = "UPDATE api_keys SET last_used_at = greatest(last_used_at, ?2) WHERE id = ?1";
pub(super) const SET_PLAN: &str = "UPDATE accounts SET plan = ?2 WHERE id = ?1";

impl Store {
    /// Adds an account. Returns `false` if one with this email address exists.
    pub fn add_account(&self, account: &Account, by: &Origin) -> Result<bool> {
        let sql = "INSERT INTO accounts (id, email, plan, anchor, created_at, role) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (email) DO NOTHING RETURNING 1";
        let Account { id, email, plan, anchor, created_at, role } = account;
        let values = values![*id, email, plan, *anchor, *created_at, role.as_str()];
        let event = AuditEvent::of_account(Action::AccountCreated, *id).with("plan", plan.as_str());
        Ok(self.noted::<i64>("add_account", sql, values, &event, by)?.is_some())
    }

    /// Returns the account with that id.
    pub fn account(&self, id: AccountId) -> Result<Option<Account>> {
        self.first("account", "SELECT {row} FROM accounts a WHERE a.id = ?1", values![id])
    }

    /// Returns the account with that email address, which must be in lower case.
    pub fn account_by_email(&self, email: &str) -> Result<Option<Account>> {
        let sql = "SELECT {row} FROM accounts a WHERE a.email = ?1";
        self.first("account_by_email", sql, values![email])
    }

    /// Returns all accounts, the oldest first.
    pub fn accounts(&self) -> Result<Vec<Account>> {
        self.all("accounts", "SELECT {row} FROM accounts a ORDER BY a.created_at, a.id", values![])
    }

    /// Changes the plan. Returns `false` if the account is unknown or is being deleted.
    pub fn set_plan(&self, id: AccountId, plan: &str, by: &Origin) -> Result<bool> {
        self.write("set_plan", |tx| {
            let before = locked_plan(tx, id)?.filter(|before| before != BEING_DELETED);
            let Some(before) = before else { return Ok(false) };
            if before != plan {
                tx.execute(SET_PLAN, values![id, plan])?;
                let event = AuditEvent::of_account(Action::PlanChanged, id).with("from", before);
                tx.note(&event.with("to", plan), by)?;
                tx.announce(Notification::Access)?;
            }
            Ok(true)
        })
    }

    /// Adds a key. Returns `false` if the account is unknown or is being deleted.
    ///
    /// # Errors
    /// Returns the refusal of one key too many.
    pub fn add_key(&self, key: &KeyRecord, by: &Origin) -> Result<bool, Refusal> {
        let KeyRecord { id, account, hash, last_four, label, created_at, last_used_at, revoked_at } = key;
        self.write("add_key", |tx| {
            // So that two are not added at once.
            if !lock(tx, *account)? {
                return Ok(Ok(false));
            }
            if tx.one::<usize>(COUNT_KEYS, values![*account])? >= MOST_KEYS {
                return Ok(Err(too_many(&format!("{MOST_KEYS} keys: revoke"))));
            }
            let mut values = values![*id, *account, &hash.0, last_four, label, *created_at];
            values.extend(values![*last_used_at, *revoked_at]);
            tx.execute(ADD_KEY, values)?;
            tx.note(&AuditEvent::of_object(Action::KeyCreated, *account, id), by)?;
            Ok(Ok(true))
        })?
    }

    /// Returns the key with that hash, revoked or not, and its owner.
    pub fn key_by_hash(&self, hash: &SecretHash) -> Result<Option<(KeyRecord, Account)>> {
        self.first("key_by_hash", KEY_AND_OWNER, values![&hash.0])
    }

    /// Returns all keys of an account, or of every account for `None`, the oldest first.
    pub fn keys(&self, account: Option<AccountId>) -> Result<Vec<KeyRecord>> {
        self.all("keys", KEYS, values![account])
    }

    /// Revokes a key. A key that is already revoked keeps its first date. Returns `false` if the key is unknown.
    pub fn revoke_key(&self, id: KeyId, by: &Origin) -> Result<bool> {
        self.write("revoke_key", |tx| {
            if let Some(account) = tx.first(REVOKE_KEY, values![id])? {
                tx.note(&AuditEvent::of_object(Action::KeyRevoked, account, id), by)?;
                tx.announce(Notification::Access)?;
                return Ok(true);
            }
            tx.has("SELECT 1 FROM api_keys WHERE id = ?1", values![id])
        })
    }

    /// Records when keys were last used. A recorded time never becomes earlier.
    pub fn touch_keys(&self, seen: &[(KeyId, Timestamp)]) -> Result<()> {
        // In the order of their ids, so that two instances never wait for each other.
        let mut seen = seen.to_vec();
        seen.sort_unstable();
        if seen.is_empty() {
            return Ok(());
        }
        self.write(background("touch_keys").light(), |tx| {
            seen.iter().try_for_each(|(id, at)| tx.execute(TOUCH, values![*id, *at]).map(drop))
        })
    }
}

/// Returns the refusal of one more than an account may have.
pub(super) fn too_many(most: &str) -> Refusal {
    Refusal::new(Code::Conflict, format!("an account has at most {most} one that is no longer used"))
}

/// Locks an account for this transaction alone, and returns its plan. It does not wait for transactions that are starting
/// a run.
pub(super) fn locked_plan(tx: &mut Tx, account: AccountId) -> Result<Option<String>> {
    tx.first("SELECT plan FROM accounts WHERE id = ?1 /*pg FOR NO KEY UPDATE */", values![account])
}

/// Locks an account for this transaction alone. Returns `false` if it does not exist or is being deleted.
pub(super) fn lock(tx: &mut Tx, account: AccountId) -> Result<bool> {
    Ok(locked_plan(tx, account)?.is_some_and(|plan| plan != BEING_DELETED))
}

/// Locks an account against its deletion, which waits for this transaction, or this transaction waits for it. Returns
/// `false` if it does not exist or is being deleted.
pub(super) fn lock_shared(tx: &mut Tx, account: AccountId) -> Result<bool> {
    let sql = "SELECT 1 FROM accounts WHERE id = ?1 AND plan <> ?2 /*pg FOR KEY SHARE */";
    tx.has(sql, values![account, BEING_DELETED])
}
