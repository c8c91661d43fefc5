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
use crate::base::text::plain;
use crate::model::account::{Account, KeyRecord, Role, SecretHash};
use crate::model::audit::{Actor, Origin};
use crate::model::credits::{Balance, Charge, Cycle};
use crate::model::refusal::{Code, Refusal};
use crate::store::Store;

/// The time for which a key, its owner and its plan are cached. It is the longest time for which a revoked key may
/// still work.
pub const KEY_CACHE_TTL: Duration = Duration::from_secs(2);
/// The maximum number of keys in the cache.
const KEY_CACHE_ENTRIES: usize = 10_000;

/// The sender of a request, with its permissions.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The account, as it was stored at most [`KEY_CACHE_TTL`] ago.
    pub account: Account,
    /// The plan of the account in this server's table.
    pub plan: Plan,
    /// The actor that the audit records.
    pub actor: Actor,
    /// The key that was sent, or `None` for a session of the web app.
    pub key: Option<SecretHash>,
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
    /// Returns the refusal of an invalid or known email address, and of an unknown plan.
    pub fn create_account(&self, email: &str, plan: &str, by: &Origin) -> Result<Account, Refusal> {
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
        if self.store.add_account(&account, by)? {
            return Ok(account);
        }
        let message = "an account with this email address exists";
        Err(Refusal::new(Code::Conflict, message).with("field", "email"))
    }

    /// Returns the account with that email address, ignoring case.
    ///
    /// # Errors
    /// Returns the refusal of an unknown account.
    pub fn account_by_email(&self, email: &str) -> Result<Account, Refusal> {
        let email = email.trim().to_lowercase();
        self.store.account_by_email(&email)?.ok_or_else(|| no_account(&email))
    }

    /// Returns the account with that email address, unless it is being deleted.
    ///
    /// # Errors
    /// Returns the refusal of an account that is unknown or being deleted.
    pub fn open_account(&self, email: &str) -> Result<Account, Refusal> {
        let account = self.account_by_email(email)?;
        if !account.is_being_deleted() {
            return Ok(account);
        }
        let message = "the account is being deleted; \"account delete\" finishes that";
        Err(Refusal::new(Code::Conflict, message))
    }

    /// Changes the plan of the account with that email address. All instances use the new plan within
    /// [`KEY_CACHE_TTL`].
    ///
    /// # Errors
    /// Returns the refusal of an unknown plan, and of an account that is unknown or being deleted.
    pub fn set_plan(&self, email: &str, plan: &str, by: &Origin) -> Result<Account, Refusal> {
        self.require_plan(plan)?;
        let mut account = self.open_account(email)?;
        if !self.store.set_plan(account.id, plan, by)? {
            return Err(no_account(email));
        }
        plan.clone_into(&mut account.plan);
        Ok(account)
    }

    /// Creates a key. Only the caller of this function gets the key itself.
    ///
    /// # Errors
    /// Returns the refusal of a label that is too long or has a control character, of one key too many, and of an unknown
    /// account.
    pub fn create_key(
        &self,
        account: &Account,
        label: &str,
        by: &Origin,
    ) -> Result<(ApiKey, KeyRecord), Refusal> {
        let label = label.trim();
        if label.chars().count() > 100 || label.chars().any(char::is_control) {
            let allowed = "at most 100 characters without control characters";
            return Err(Refusal::invalid_request("label", "invalid label", allowed));
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
        if self.store.add_key(&record, by)? { Ok((key, record)) } else { Err(no_account(&account.email)) }
    }

    /// Revokes a key. This process refuses it at once, and others do within [`KEY_CACHE_TTL`].
    ///
    /// # Errors
    /// Returns the refusal of an unknown key.
    pub fn revoke_key(&self, id: KeyId, by: &Origin) -> Result<(), Refusal> {
        let known = self.store.revoke_key(id, by)?;
        self.cache.retain(|_, cached| cached.id != id);
        if known { Ok(()) } else { Err(Refusal::new(Code::NotFound, "no such key")) }
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
    /// Returns the refusal of a key that is malformed, unknown or revoked.
    pub fn authenticate(&self, key: &str) -> Result<Caller, Refusal> {
        let hash = ApiKey::parse(key).ok_or_else(Refusal::unknown_key)?.hash();
        let (id, account) = self.known(&hash, KEY_CACHE_TTL)?.ok_or_else(Refusal::unknown_key)?;
        self.seen.lock().insert(id, self.clock.now());
        Ok(Caller { plan: self.plan_of(&account), account, actor: Actor::Key(id), key: Some(hash) })
    }

    /// Returns whether a key that opened a stream may continue to read. A cached key may be as old as `max_age`, so
    /// that all streams of a key together read the store once in that time.
    ///
    /// # Errors
    /// Returns an error if the store fails. While the store is unavailable, the result is `true`.
    pub fn may_still_read(&self, key: &SecretHash, max_age: Duration) -> Result<bool, StorageError> {
        match self.known(key, max_age) {
            Ok(known) => Ok(known.is_some_and(|(_, account)| self.plan_of(&account).api)),
            Err(error) if error.is_unavailable() => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Returns the id and the owner of a key that is not revoked, from the cache if they were read within `max_age`.
    fn known(&self, hash: &SecretHash, max_age: Duration) -> Result<Option<(KeyId, Account)>, StorageError> {
        if let Some(cached) = self.cache.get(hash).filter(|cached| cached.read_at.elapsed() < max_age) {
            return Ok(Some((cached.id, cached.account)));
        }
        // The age is measured from before the read, whose answer may take long.
        let read_at = Instant::now();
        let found = self.store.key_by_hash(hash)?.filter(|(record, _)| record.revoked_at.is_none());
        let Some((KeyRecord { id, .. }, account)) = found else { return Ok(None) };
        let value = CachedKey { id, account: account.clone(), read_at };
        self.cache.insert(hash, Computed { value, ttl: KEY_CACHE_TTL, weight: 0 });
        Ok(Some((id, account)))
    }

    /// Returns the plan of an account. A plan that is no longer in the table grants nothing.
    pub fn plan_of(&self, account: &Account) -> Plan {
        self.plans.get(&account.plan).cloned().unwrap_or_else(|| {
            warn!("account {} has the plan \"{}\", which is not in the plan table", account.id, account.plan);
            Plan { name: account.plan.clone(), credits: Some(0), api: false, premium: false }
        })
    }

    /// Returns an account as the caller of what the service does for it. Returns `None` if the account does not exist or is
    /// being deleted.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn owner(&self, account: AccountId) -> Result<Option<Caller>, StorageError> {
        let account = self.store.account(account)?.filter(|account| !account.is_being_deleted());
        let caller = |account: Account| Caller {
            plan: self.plan_of(&account),
            account,
            actor: Actor::System,
            key: None,
        };
        Ok(account.map(caller))
    }

    /// Returns the balance of an account in its current cycle.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn balance(&self, caller: &Caller) -> Result<Balance, StorageError> {
        let cycle = Cycle::at(caller.account.anchor, self.clock.now());
        let used = self.store.credits_used(&[(caller.account.id, cycle)])?.iter().sum();
        Ok(Balance { used, allowed: caller.plan.credits, cycle })
    }

    /// Returns the credits that each account has used in its current cycle.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn credits_used(&self, accounts: &[&Account]) -> Result<Vec<u64>, StorageError> {
        let cycle = |account: &&Account| (account.id, Cycle::at(account.anchor, self.clock.now()));
        self.store.credits_used(&accounts.iter().map(cycle).collect::<Vec<_>>())
    }

    /// Returns the charge for a run of that many credits that starts now.
    pub fn charge(&self, caller: &Caller, credits: u64) -> Charge {
        let cycle = Cycle::at(caller.account.anchor, self.clock.now());
        Charge { credits, allowed: caller.plan.credits, cycle }
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

    fn require_plan(&self, plan: &str) -> Result<(), Refusal> {
        if self.plans.get(plan).is_some() {
            return Ok(());
        }
        Err(Refusal::invalid_request("plan", "unknown plan", self.plans.names_where(|_| true)))
    }
}

/// Returns the refusal of an account that does not exist. `account` is its email address or its id.
pub fn no_account(account: &str) -> Refusal {
    Refusal::new(Code::NotFound, format!("no account {}", plain(account)))
}

fn normal_email(email: &str) -> Result<String, Refusal> {
    let email = email.trim();
    let is_letter = |c: char| c.is_alphanumeric() || "-.[]:".contains(c);
    let is_valid = |(name, host): (&str, &str)| {
        let is_sent =
            !name.is_empty() && !name.contains(|c: char| c == '@' || c.is_whitespace() || c.is_control());
        is_sent && !host.is_empty() && host.chars().all(is_letter)
    };
    if email.len() > 254 || !email.rsplit_once('@').is_some_and(is_valid) {
        let allowed = "LOCAL@DOMAIN of at most 254 bytes";
        return Err(Refusal::invalid_request("email", "not an email address", allowed));
    }
    Ok(email.to_lowercase())
}
