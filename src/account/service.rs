//! What can be done with accounts: create, authenticate, look at the pool.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::warn;
use parking_lot::Mutex;

use super::account::{Account, Role};
use super::audit::{Actor, Origin};
use super::credits::{Balance, Charge, Cycle};
use super::key::{ApiKey, KeyHash, KeyRecord};
use super::ledger::Ledger;
use super::plan::{Plan, PlanTable};
use crate::base::clock::Clock;
use crate::base::ids::{AccountId, KeyId};
use crate::base::storage::StorageError;

/// How long a key, its owner and its plan are believed without asking the store: the longest that a
/// revoked key may go on working.
pub const KEY_CACHE_TTL: Duration = Duration::from_secs(2);
/// Entries of the key cache; beyond it, expired ones are thrown out.
const KEY_CACHE_ENTRIES: usize = 10_000;

/// Whoever sent a request, with what they may do.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The account.
    pub account: Account,
    /// Its plan.
    pub plan: Plan,
    /// Who that is to the audit.
    pub actor: Actor,
}

/// Why something about an account could not be done.
#[derive(Debug)]
pub enum AccountError {
    /// The key is malformed, unknown or revoked.
    InvalidKey,
    /// No account has this email address or id.
    UnknownAccount,
    /// An account with this email address exists.
    EmailTaken,
    /// Not an email address.
    InvalidEmail,
    /// A label is at most 100 characters, none of them a control character.
    InvalidLabel,
    /// No plan has this name; the names that exist.
    UnknownPlan(Vec<String>),
    /// No key has this id.
    UnknownKey,
    /// The deletion of the account was begun: nothing else can be done with it.
    BeingDeleted,
    /// An account was closed for good, but not all of it could be removed.
    Unfinished(StorageError),
    /// The system gave no random numbers.
    Random(getrandom::Error),
    /// The store failed.
    Storage(StorageError),
}

impl From<StorageError> for AccountError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl fmt::Display for AccountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidKey => f.write_str("the API key is malformed, unknown or revoked"),
            Self::UnknownAccount => f.write_str("no such account"),
            Self::EmailTaken => f.write_str("an account with this email address exists"),
            Self::InvalidEmail => {
                f.write_str("not an email address: LOCAL@DOMAIN of at most 254 bytes is allowed")
            }
            Self::InvalidLabel => {
                f.write_str("not a label: at most 100 characters, no control characters, are allowed")
            }
            Self::UnknownPlan(names) => write!(f, "no such plan: {} are allowed", names.join(", ")),
            Self::UnknownKey => f.write_str("no such key"),
            Self::BeingDeleted => {
                f.write_str("the account is being deleted; \"account delete\" sees that through")
            }
            Self::Unfinished(error) => write!(
                f,
                "the account is closed for good, but not all of it is removed yet: a running server goes on with \
                 that, and so does the same command: {error}"
            ),
            Self::Random(error) => write!(f, "the system gives no random numbers: {error}"),
            Self::Storage(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AccountError {}

/// The use cases of this room. One for a process; shared.
pub struct Accounts {
    pub(super) ledger: Arc<dyn Ledger>,
    plans: PlanTable,
    pub(super) clock: Arc<dyn Clock>,
    cache: Mutex<HashMap<KeyHash, CachedKey>>,
    seen: Mutex<HashMap<KeyId, Timestamp>>,
    pub(super) deletions_due: Mutex<Instant>,
}

struct CachedKey {
    id: KeyId,
    account: Account,
    read_at: Timestamp,
}

impl Accounts {
    /// Accounts kept in `ledger`, with these plans.
    pub fn new(ledger: Arc<dyn Ledger>, plans: PlanTable, clock: Arc<dyn Clock>) -> Self {
        let (cache, seen, deletions_due) = (Mutex::default(), Mutex::default(), Mutex::new(Instant::now()));
        Self { ledger, plans, clock, cache, seen, deletions_due }
    }

    /// The plans in force.
    pub fn plans(&self) -> &PlanTable {
        &self.plans
    }

    /// Creates an account whose first billing cycle starts now.
    ///
    /// # Errors
    /// [`AccountError::InvalidEmail`], [`AccountError::UnknownPlan`], [`AccountError::EmailTaken`],
    /// or the store's failure.
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
        if self.ledger.add_account(&account, by)? { Ok(account) } else { Err(AccountError::EmailTaken) }
    }

    /// The account with that email address, whatever its case.
    ///
    /// # Errors
    /// [`AccountError::UnknownAccount`] or the store's failure.
    pub fn account_by_email(&self, email: &str) -> Result<Account, AccountError> {
        let email = email.trim().to_lowercase();
        self.ledger.account_by_email(&email)?.ok_or(AccountError::UnknownAccount)
    }

    /// The same, of one that is not being deleted.
    ///
    /// # Errors
    /// [`AccountError::UnknownAccount`], [`AccountError::BeingDeleted`] or the store's failure.
    pub fn open_account(&self, email: &str) -> Result<Account, AccountError> {
        let account = self.account_by_email(email)?;
        if account.is_being_deleted() { Err(AccountError::BeingDeleted) } else { Ok(account) }
    }

    /// All accounts, oldest first.
    ///
    /// # Errors
    /// The store's failure.
    pub fn accounts(&self) -> Result<Vec<Account>, AccountError> {
        Ok(self.ledger.accounts()?)
    }

    /// Changes the plan of the account with that email address; holds within [`KEY_CACHE_TTL`].
    ///
    /// # Errors
    /// [`AccountError::UnknownPlan`], [`AccountError::UnknownAccount`], [`AccountError::BeingDeleted`], or the store's
    /// failure.
    pub fn set_plan(&self, email: &str, plan: &str, by: &Origin) -> Result<Account, AccountError> {
        self.require_plan(plan)?;
        let mut account = self.open_account(email)?;
        if !self.ledger.set_plan(account.id, plan, self.clock.now(), by)? {
            return Err(AccountError::UnknownAccount);
        }
        plan.clone_into(&mut account.plan);
        Ok(account)
    }

    /// Makes a key. This is the only time that the key itself is known.
    ///
    /// # Errors
    /// [`AccountError::InvalidLabel`], [`AccountError::UnknownAccount`], [`AccountError::Random`], or the store's
    /// failure.
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
        let key = ApiKey::generate().map_err(AccountError::Random)?;
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
        if self.ledger.add_key(&record, by)? { Ok((key, record)) } else { Err(AccountError::UnknownAccount) }
    }

    /// The keys of one account, or of all.
    ///
    /// # Errors
    /// The store's failure.
    pub fn keys(&self, account: Option<AccountId>) -> Result<Vec<KeyRecord>, AccountError> {
        Ok(self.ledger.keys(account)?)
    }

    /// Revokes a key: at once here, within [`KEY_CACHE_TTL`] in other processes.
    ///
    /// # Errors
    /// [`AccountError::UnknownKey`] or the store's failure.
    pub fn revoke_key(&self, id: KeyId, by: &Origin) -> Result<(), AccountError> {
        let known = self.ledger.revoke_key(id, self.clock.now(), by)?;
        self.cache.lock().retain(|_, cached| cached.id != id);
        if known { Ok(()) } else { Err(AccountError::UnknownKey) }
    }

    /// Forgets what the keys of an account may do.
    pub(super) fn forget_access_of(&self, account: AccountId) {
        self.cache.lock().retain(|_, cached| cached.account.id != account);
    }

    /// Forgets what keys may do, so that it is read anew: some of it has changed.
    pub fn forget_access(&self) {
        self.cache.lock().clear();
    }

    /// Whose key this is.
    ///
    /// # Errors
    /// [`AccountError::InvalidKey`] or the store's failure.
    pub fn authenticate(&self, key: &str) -> Result<Caller, AccountError> {
        let hash = ApiKey::parse(key).map_err(|_| AccountError::InvalidKey)?.hash();
        let now = self.clock.now();
        let (id, account) = match self.cached(&hash, now) {
            Some(cached) => cached,
            None => self.look_up(&hash, now)?,
        };
        self.seen.lock().insert(id, now);
        let plan = self.plan_of(&account);
        Ok(Caller { account, plan, actor: Actor::Key(id) })
    }

    fn cached(&self, hash: &KeyHash, now: Timestamp) -> Option<(KeyId, Account)> {
        let cache = self.cache.lock();
        let cached = cache.get(hash)?;
        is_fresh(cached, now).then(|| (cached.id, cached.account.clone()))
    }

    fn look_up(&self, hash: &KeyHash, now: Timestamp) -> Result<(KeyId, Account), AccountError> {
        let found = self.ledger.key_by_hash(hash)?;
        let (record, account) = found
            .filter(|(record, _)| record.hash.is_same(hash) && record.revoked_at.is_none())
            .ok_or(AccountError::InvalidKey)?;
        let mut cache = self.cache.lock();
        if cache.len() >= KEY_CACHE_ENTRIES {
            cache.retain(|_, cached| is_fresh(cached, now));
        }
        cache.insert(*hash, CachedKey { id: record.id, account: account.clone(), read_at: now });
        Ok((record.id, account))
    }

    /// The plan of an account. One that the table no longer has allows nothing.
    pub fn plan_of(&self, account: &Account) -> Plan {
        self.plans.get(&account.plan).cloned().unwrap_or_else(|| {
            warn!(
                "account {} is on plan \"{}\", which the plan table does not have",
                account.id, account.plan
            );
            Plan { name: account.plan.clone(), credits: Some(0), api: false, premium: false }
        })
    }

    /// The pool of an account in its present cycle.
    ///
    /// # Errors
    /// The store's failure.
    pub fn balance(&self, caller: &Caller) -> Result<Balance, AccountError> {
        let cycle = Cycle::at(caller.account.anchor, self.clock.now());
        let used = self.ledger.credits_used(caller.account.id, cycle)?;
        Ok(Balance { used, allowed: caller.plan.credits, cycle })
    }

    /// Credits that an account has used in its present cycle.
    ///
    /// # Errors
    /// The store's failure.
    pub fn used(&self, account: &Account) -> Result<u64, AccountError> {
        let cycle = Cycle::at(account.anchor, self.clock.now());
        Ok(self.ledger.credits_used(account.id, cycle)?)
    }

    /// What a run of that many credits books now.
    pub fn charge(&self, caller: &Caller, credits: u64) -> Charge {
        let cycle = Cycle::at(caller.account.anchor, self.clock.now());
        Charge { credits, allowed: caller.plan.credits, cycle }
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// The store's failure.
    pub fn ping(&self) -> Result<(), StorageError> {
        self.ledger.ping()
    }

    /// Writes down when keys were last seen, and frees the cache of expired entries. The housekeeper
    /// calls it every now and then, so that no request pays for it.
    ///
    /// # Errors
    /// The store's failure; the moments are kept for the next time.
    pub fn keep_house(&self) -> Result<(), AccountError> {
        let now = self.clock.now();
        self.cache.lock().retain(|_, cached| is_fresh(cached, now));
        let seen: Vec<(KeyId, Timestamp)> = self.seen.lock().drain().collect();
        if seen.is_empty() {
            return Ok(());
        }
        self.ledger.touch_keys(&seen).inspect_err(|_| {
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

fn is_fresh(cached: &CachedKey, now: Timestamp) -> bool {
    let age = now.as_millisecond() - cached.read_at.as_millisecond();
    (0..KEY_CACHE_TTL.as_millis() as i64).contains(&age)
}

fn normal_email(email: &str) -> Result<String, AccountError> {
    let email = email.trim();
    if email.len() > 254 || !email_address::EmailAddress::is_valid(email) {
        return Err(AccountError::InvalidEmail);
    }
    Ok(email.to_lowercase())
}
