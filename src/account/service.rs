//! [`Accounts`]: creates accounts and keys, authenticates requests, and reads balances.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::warn;
use parking_lot::Mutex;

use super::key::ApiKey;
use super::plan::{Plan, PlanTable};
use crate::base::cache::{Bounds, Cache, Computed};
use crate::base::clock::Clock;
use crate::base::ids::{AccountId, KeyId};
use crate::base::storage::StorageError;
use crate::model::account::{Account, KeyRecord, Role, SecretHash};
use crate::model::audit::{Actor, Origin};
use crate::model::credits::{Balance, Charge, Cycle};
use crate::store::Store;

/// The time for which a key, its owner and its plan are cached. It is the longest time for which a revoked key may
/// still work.
pub const KEY_CACHE_TTL: Duration = Duration::from_secs(2);
/// The maximum number of keys in the cache.
const KEY_CACHE_ENTRIES: usize = 10_000;

/// The sender of a request, with its permissions.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The account.
    pub account: Account,
    /// The plan of the account.
    pub plan: Plan,
    /// The actor that the audit records.
    pub actor: Actor,
    /// The key that was sent, or `None` for a session of the web app.
    pub key: Option<SecretHash>,
}

/// The reasons why an operation on an account fails.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The key is malformed, unknown or revoked.
    #[error("the API key is malformed, unknown or revoked")]
    InvalidKey,
    /// No account has this email address or id.
    #[error("no such account")]
    UnknownAccount,
    /// An account with this email address exists.
    #[error("an account with this email address exists")]
    EmailTaken,
    /// The text is not an email address.
    #[error("not an email address: expected LOCAL@DOMAIN of at most 254 bytes")]
    InvalidEmail,
    /// A label is longer than 100 characters or has a control character.
    #[error("invalid label: expected at most 100 characters without control characters")]
    InvalidLabel,
    /// No plan has this name. Contains the names that exist.
    #[error("unknown plan: expected {}", .0.join(", "))]
    UnknownPlan(Vec<String>),
    /// No key has this id.
    #[error("no such key")]
    UnknownKey,
    /// The deletion of the account has begun. No other operation is possible.
    #[error("the account is being deleted; \"account delete\" finishes that")]
    BeingDeleted,
    /// The account was closed, but not all of its data could be removed yet.
    #[error(
        "the account is closed for good, but not all of it is removed yet: a running server goes on with that, and so \
         does the same command: {0}"
    )]
    Unfinished(#[source] StorageError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The use cases of accounts. There is one value for each process, which all layers share.
pub struct Accounts {
    /// The accounts and keys as they are stored.
    pub store: Arc<Store>,
    plans: PlanTable,
    pub(super) clock: Arc<dyn Clock>,
    cache: Cache<SecretHash, CachedKey>,
    seen: Mutex<HashMap<KeyId, Timestamp>>,
    pub(super) deletions_due: Mutex<Instant>,
}

#[derive(Clone)]
struct CachedKey {
    id: KeyId,
    account: Account,
    read_at: Instant,
}

impl Accounts {
    /// Creates the use cases with the accounts in `store` and these plans.
    pub fn new(store: Arc<Store>, plans: PlanTable, clock: Arc<dyn Clock>) -> Self {
        let cache = Cache::new(Bounds { entries: KEY_CACHE_ENTRIES, weight: 0 });
        let (seen, deletions_due) = (Mutex::default(), Mutex::new(Instant::now()));
        Self { store, plans, clock, cache, seen, deletions_due }
    }

    /// Returns the plans in force.
    pub fn plans(&self) -> &PlanTable {
        &self.plans
    }

    /// Creates an account whose first billing cycle starts now.
    ///
    /// # Errors
    /// Returns [`AccountError::InvalidEmail`], [`AccountError::UnknownPlan`], [`AccountError::EmailTaken`], or an
    /// error of the store.
    pub fn create_account(&self, email: &str, plan: &str, by: &Origin) -> Result<Account, AccountError> {
        let email = normal_email(email)?;
        self.require_plan(plan)?;
        let now = self.clock.now();
        let account = Account {
            id: AccountId::new(),
            email,
            plan: plan.to_owned(),
            anchor: now,
            created_at: now,
            role: Role::User,
        };
        if self.store.add_account(&account, by)? { Ok(account) } else { Err(AccountError::EmailTaken) }
    }

    /// Returns the account with that email address, ignoring case.
    ///
    /// # Errors
    /// Returns [`AccountError::UnknownAccount`], or an error of the store.
    pub fn account_by_email(&self, email: &str) -> Result<Account, AccountError> {
        let email = email.trim().to_lowercase();
        self.store.account_by_email(&email)?.ok_or(AccountError::UnknownAccount)
    }

    /// Returns the account with that email address, unless it is being deleted.
    ///
    /// # Errors
    /// Returns [`AccountError::UnknownAccount`], [`AccountError::BeingDeleted`], or an error of the store.
    pub fn open_account(&self, email: &str) -> Result<Account, AccountError> {
        let account = self.account_by_email(email)?;
        if account.is_being_deleted() { Err(AccountError::BeingDeleted) } else { Ok(account) }
    }

    /// Changes the plan of the account with that email address. All instances use the new plan within
    /// [`KEY_CACHE_TTL`].
    ///
    /// # Errors
    /// Returns [`AccountError::UnknownPlan`], [`AccountError::UnknownAccount`], [`AccountError::BeingDeleted`], or an
    /// error of the store.
    pub fn set_plan(&self, email: &str, plan: &str, by: &Origin) -> Result<Account, AccountError> {
        self.require_plan(plan)?;
        let mut account = self.open_account(email)?;
        if !self.store.set_plan(account.id, plan, by)? {
            return Err(AccountError::UnknownAccount);
        }
        plan.clone_into(&mut account.plan);
        Ok(account)
    }

    /// Creates a key. Only the caller of this function gets the key itself.
    ///
    /// # Errors
    /// Returns [`AccountError::InvalidLabel`], [`AccountError::UnknownAccount`], or an error of the store.
    pub fn create_key(
        &self,
        account: &Account,
        label: &str,
        by: &Origin,
    ) -> Result<(ApiKey, KeyRecord), AccountError> {
        let label = label.trim();
        if label.chars().count() > 100 || label.chars().any(char::is_control) {
            return Err(AccountError::InvalidLabel);
        }
        let key = ApiKey::generate();
        let record = KeyRecord {
            id: KeyId::new(),
            account: account.id,
            hash: key.hash(),
            last_four: key.last_four().to_owned(),
            label: label.to_owned(),
            created_at: self.clock.now(),
            last_used_at: None,
            revoked_at: None,
        };
        if self.store.add_key(&record, by)? { Ok((key, record)) } else { Err(AccountError::UnknownAccount) }
    }

    /// Revokes a key. This process refuses it at once, and others do within [`KEY_CACHE_TTL`].
    ///
    /// # Errors
    /// Returns [`AccountError::UnknownKey`], or an error of the store.
    pub fn revoke_key(&self, id: KeyId, by: &Origin) -> Result<(), AccountError> {
        let known = self.store.revoke_key(id, by)?;
        self.cache.retain(|_, cached| cached.id != id);
        if known { Ok(()) } else { Err(AccountError::UnknownKey) }
    }

    /// Removes the keys of an account from the cache.
    pub(super) fn evict_access_of(&self, account: AccountId) {
        self.cache.retain(|_, cached| cached.account.id != account);
    }

    /// Clears the cache of keys, so that permissions are read again.
    pub fn evict_access(&self) {
        self.cache.retain(|_, _| false);
    }

    /// Returns the owner of a key and its plan.
    ///
    /// # Errors
    /// Returns [`AccountError::InvalidKey`], or an error of the store.
    pub fn authenticate(&self, key: &str) -> Result<Caller, AccountError> {
        let hash = ApiKey::parse(key).map_err(|_| AccountError::InvalidKey)?.hash();
        let (id, account) = match self.cached(&hash, KEY_CACHE_TTL) {
            Some(cached) => cached,
            None => self.look_up(&hash)?,
        };
        self.seen.lock().insert(id, self.clock.now());
        let plan = self.plan_of(&account);
        Ok(Caller { account, plan, actor: Actor::Key(id), key: Some(hash) })
    }

    /// Returns whether a key that opened a stream may continue to read. A cached key may be as old as `max_age`, so
    /// that all streams of a key together read the store once in that time.
    ///
    /// # Errors
    /// Returns an error if the store fails. While the store is unavailable, the result is `true`.
    pub fn may_still_read(&self, key: &SecretHash, max_age: Duration) -> Result<bool, StorageError> {
        let known = self.cached(key, max_age);
        match known.map_or_else(|| self.look_up(key), Ok) {
            Ok((_, account)) => Ok(self.plan_of(&account).api),
            Err(AccountError::Storage(error)) if error.is_unavailable() => Ok(true),
            Err(AccountError::Storage(error)) => Err(error),
            Err(_) => Ok(false),
        }
    }

    fn cached(&self, hash: &SecretHash, max_age: Duration) -> Option<(KeyId, Account)> {
        let cached = self.cache.get(hash).filter(|cached| cached.read_at.elapsed() < max_age)?;
        Some((cached.id, cached.account))
    }

    fn look_up(&self, hash: &SecretHash) -> Result<(KeyId, Account), AccountError> {
        // The age is measured from before the read, whose answer may take long.
        let read_at = Instant::now();
        let found = self.store.key_by_hash(hash)?;
        let (record, account) =
            found.filter(|(record, _)| record.revoked_at.is_none()).ok_or(AccountError::InvalidKey)?;
        let value = CachedKey { id: record.id, account: account.clone(), read_at };
        self.cache.insert(hash, Computed { value, ttl: KEY_CACHE_TTL, weight: 0 });
        Ok((record.id, account))
    }

    /// Returns the plan of an account. A plan that is no longer in the table grants nothing.
    pub fn plan_of(&self, account: &Account) -> Plan {
        self.plans.get(&account.plan).cloned().unwrap_or_else(|| {
            warn!("account {} has the plan \"{}\", which is not in the plan table", account.id, account.plan);
            Plan { name: account.plan.clone(), credits: Some(0), api: false, premium: false }
        })
    }

    /// Returns the balance of an account in its current cycle.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn balance(&self, caller: &Caller) -> Result<Balance, AccountError> {
        Ok(self.balance_in(&caller.account, &caller.plan)?)
    }

    /// Returns the balance of an account with that plan in its current cycle.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn balance_in(&self, account: &Account, plan: &Plan) -> Result<Balance, StorageError> {
        let cycle = Cycle::at(account.anchor, self.clock.now());
        Ok(Balance { used: self.store.credits_used(account.id, cycle)?, allowed: plan.credits, cycle })
    }

    /// Returns the charge for a run of that many credits that starts now.
    pub fn charge(&self, caller: &Caller, credits: u64) -> Charge {
        let cycle = Cycle::at(caller.account.anchor, self.clock.now());
        Charge { credits, allowed: caller.plan.credits, cycle }
    }

    /// Returns the charge for a run of that many credits that the account starts now without a request. Returns `None`
    /// if the account does not exist, is being deleted, or has a plan that is not configured.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn charge_of(&self, account: AccountId, credits: u64) -> Result<Option<Charge>, StorageError> {
        let Some(account) = self.store.account(account)? else { return Ok(None) };
        let Some(plan) = self.plans.get(&account.plan) else { return Ok(None) };
        let cycle = Cycle::at(account.anchor, self.clock.now());
        Ok(Some(Charge { credits, allowed: plan.credits, cycle }))
    }

    /// Returns the plan of an account and its balance in the current cycle. Returns `None` if the account does not exist
    /// or is being deleted.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn balance_of(&self, account: AccountId) -> Result<Option<(Plan, Balance)>, StorageError> {
        let Some(account) = self.store.account(account)? else { return Ok(None) };
        if account.is_being_deleted() {
            return Ok(None);
        }
        let plan = self.plan_of(&account);
        let balance = self.balance_in(&account, &plan)?;
        Ok(Some((plan, balance)))
    }

    /// Records when keys were last used, and removes expired keys from the cache. The maintenance thread calls this
    /// every few seconds, so that no request has to do it.
    ///
    /// # Errors
    /// Returns an error if the store fails. The times are kept for the next call.
    pub fn flush_key_usage(&self) -> Result<(), StorageError> {
        self.cache.sweep(Instant::now());
        let seen: Vec<(KeyId, Timestamp)> = self.seen.lock().drain().collect();
        if seen.is_empty() {
            return Ok(());
        }
        self.store.touch_keys(&seen).inspect_err(|_| {
            let mut waiting = self.seen.lock();
            for (id, at) in &seen {
                waiting.entry(*id).or_insert(*at);
            }
        })?;
        Ok(())
    }

    fn require_plan(&self, plan: &str) -> Result<(), AccountError> {
        if self.plans.get(plan).is_some() {
            return Ok(());
        }
        let names = self.plans.all().iter().map(|plan| plan.name.clone()).collect();
        Err(AccountError::UnknownPlan(names))
    }
}

fn normal_email(email: &str) -> Result<String, AccountError> {
    let email = email.trim();
    if email.len() > 254 || !email_address::EmailAddress::is_valid(email) {
        return Err(AccountError::InvalidEmail);
    }
    Ok(email.to_lowercase())
}
