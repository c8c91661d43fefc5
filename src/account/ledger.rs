//! [`Ledger`]: storage of accounts, keys and credits.

use std::sync::Arc;

use jiff::Timestamp;

use super::account::Account;
use super::audit::Origin;
use super::credits::Cycle;
use super::key::{KeyHash, KeyRecord};
use super::rate_limit::quota::Quota;
use crate::base::ids::{AccountId, KeyId};
use crate::base::storage::StorageError;

/// The amount of data that is deleted with an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Erased {
    /// The number of keys.
    pub keys: u64,
    /// The number of runs, each with its results.
    pub runs: u64,
}

/// The progress of the deletion of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasure {
    /// More data must be deleted.
    More,
    /// The account has been removed.
    Done,
}

/// The storage of accounts, keys and the use of credits. Every change is recorded in the audit with its origin.
/// `runs::journal::Journal::start` books charges, in the transaction that creates the run. `store` is the only
/// implementation: the trait keeps SQL out of this layer.
pub trait Ledger: Send + Sync {
    /// Adds an account. Returns `false` if one with this email address exists.
    fn add_account(&self, account: &Account, by: &Origin) -> Result<bool, StorageError>;

    /// Returns the account with that id.
    fn account(&self, id: AccountId) -> Result<Option<Account>, StorageError>;

    /// Returns the account with that email address, which must be in lower case.
    fn account_by_email(&self, email: &str) -> Result<Option<Account>, StorageError>;

    /// Returns all accounts, the oldest first.
    fn accounts(&self) -> Result<Vec<Account>, StorageError>;

    /// Changes the plan. Returns `false` if the account is unknown or is being deleted.
    fn set_plan(&self, id: AccountId, plan: &str, at: Timestamp, by: &Origin) -> Result<bool, StorageError>;

    /// Begins the deletion of an account, and returns the amount of data that is deleted with it. From now on nothing
    /// can be done for the account: its keys are removed, no run is started or taken over, no key is added, and the
    /// drivers and readers of its runs are notified. For an account that is already being deleted, returns the
    /// remaining amount. Returns `None` if the account is unknown.
    fn close_account(
        &self,
        id: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Erased>, StorageError>;

    /// Continues the deletion of a closed account. Removes some of its runs with their results or, after the last of
    /// them, the account and its email address. One call is short, so that others can write in between. Booked
    /// charges stay, identified only by the account's id.
    fn erase_closed(&self, id: AccountId) -> Result<Erasure, StorageError>;

    /// Returns the accounts whose deletion has begun and not ended.
    fn closed_accounts(&self) -> Result<Vec<AccountId>, StorageError>;

    /// Adds a key. Returns `false` if the account is unknown or is being deleted.
    fn add_key(&self, key: &KeyRecord, by: &Origin) -> Result<bool, StorageError>;

    /// Returns the key with that hash, revoked or not, and its owner.
    fn key_by_hash(&self, hash: &KeyHash) -> Result<Option<(KeyRecord, Account)>, StorageError>;

    /// Returns all keys of an account, or of every account for `None`, the oldest first.
    fn keys(&self, account: Option<AccountId>) -> Result<Vec<KeyRecord>, StorageError>;

    /// Revokes a key. A key that is already revoked keeps its first date. Returns `false` if the key is unknown.
    fn revoke_key(&self, id: KeyId, at: Timestamp, by: &Origin) -> Result<bool, StorageError>;

    /// Records when keys were last used. A recorded time never becomes earlier.
    fn touch_keys(&self, seen: &[(KeyId, Timestamp)]) -> Result<(), StorageError>;

    /// Returns the credits that an account has used in the cycle that starts at `cycle.start`.
    fn credits_used(&self, account: AccountId, cycle: Cycle) -> Result<u64, StorageError>;

    /// Returns the shared counters of requests, or `None` if the store serves only one process, which counts by
    /// itself.
    fn quota(self: Arc<Self>) -> Option<Arc<dyn Quota>>;

    /// Checks that the database answers.
    fn ping(&self) -> Result<(), StorageError>;
}
