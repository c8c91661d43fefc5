//! What this room asks of storage. `store` implements it, once for each database.

use jiff::Timestamp;

use super::account::Account;
use super::audit::Origin;
use super::credits::Cycle;
use super::key::{KeyHash, KeyRecord};
use super::rate_limit::quota::Quota;
use crate::base::ids::{AccountId, KeyId};
use crate::base::storage::StorageError;

/// What goes with an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Erased {
    /// Keys.
    pub keys: u64,
    /// Runs, with their results.
    pub runs: u64,
}

/// How far the deletion of an account is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasure {
    /// There is more of it.
    More,
    /// It is gone.
    Done,
}

/// Keeps accounts, keys and the use of credits. Every change is noted in the audit, with its origin. (Charges are booked by `runs::journal::Journal::start`,
/// in the transaction that creates the run.)
pub trait Ledger: Send + Sync {
    /// Adds an account. `false`: one with this email address exists.
    fn add_account(&self, account: &Account, by: &Origin) -> Result<bool, StorageError>;

    /// The account of that id.
    fn account(&self, id: AccountId) -> Result<Option<Account>, StorageError>;

    /// The account with that (lower-cased) email address.
    fn account_by_email(&self, email: &str) -> Result<Option<Account>, StorageError>;

    /// All accounts, oldest first.
    fn accounts(&self) -> Result<Vec<Account>, StorageError>;

    /// Changes the plan. `false`: no such account, or it is being deleted.
    fn set_plan(&self, id: AccountId, plan: &str, at: Timestamp, by: &Origin) -> Result<bool, StorageError>;

    /// Begins the deletion of an account, and tells what goes with it. From now on nothing can be done for it: its
    /// keys are gone, no run can be started or taken over, no key added, and whoever drives or follows one of its runs
    /// hears that it is deleted. Begun before: what is left. `None`: no such account.
    fn close_account(
        &self,
        id: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Erased>, StorageError>;

    /// Goes on with the deletion of a closed account: removes some of its runs with their results or, after the last
    /// of them, the account and its email address. One call never takes long, so that others can write in between.
    /// What was booked stays, under the account's id alone.
    fn erase_closed(&self, id: AccountId) -> Result<Erasure, StorageError>;

    /// The accounts whose deletion was begun and has not ended.
    fn closed_accounts(&self) -> Result<Vec<AccountId>, StorageError>;

    /// Adds a key. `false`: no such account, or it is being deleted.
    fn add_key(&self, key: &KeyRecord, by: &Origin) -> Result<bool, StorageError>;

    /// The key with that hash and its owner; revoked keys too.
    fn key_by_hash(&self, hash: &KeyHash) -> Result<Option<(KeyRecord, Account)>, StorageError>;

    /// All keys of an account, oldest first; of every account for `None`.
    fn keys(&self, account: Option<AccountId>) -> Result<Vec<KeyRecord>, StorageError>;

    /// Revokes a key; a revoked one keeps its first date. `false`: no such key.
    fn revoke_key(&self, id: KeyId, at: Timestamp, by: &Origin) -> Result<bool, StorageError>;

    /// Notes when keys were last seen; never moves a date back.
    fn touch_keys(&self, seen: &[(KeyId, Timestamp)]) -> Result<(), StorageError>;

    /// Credits used by an account in the cycle that starts at `cycle.start`.
    fn credits_used(&self, account: AccountId, cycle: Cycle) -> Result<u64, StorageError>;

    /// Where several instances count requests together. `None`: the store serves one process, which counts
    /// for itself.
    fn quota(&self) -> Option<&dyn Quota>;

    /// Whether the database answers.
    fn ping(&self) -> Result<(), StorageError>;
}
