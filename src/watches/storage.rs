//! [`WatchStore`]: storage of watches, their baselines and the changes that they have found.
//!
//! Watches are dated only by the database's clock, because the clocks of two instances may differ. The transaction that
//! starts a run of a watch is that of [`Journal::start`](crate::runs::journal::Journal::start).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use jiff::Timestamp;

use super::baseline::Baseline;
use super::change::{FoundChange, StoredChange};
use super::watch::{NewWatch, Watch, WatchActivity, WatchUpdate};
use crate::account::audit::Origin;
use crate::base::ids::{AccountId, RunId, WatchChangeId, WatchId};
use crate::base::storage::StorageError;

/// The result of [`WatchStore::add_watch`].
#[derive(Debug, Clone, PartialEq)]
pub enum WatchAdded {
    /// The watch was added. Its first run is due at once.
    Done(Box<Watch>),
    /// The idempotency key was used before with the same body. Contains the watch of that request.
    Repeated(WatchId),
    /// The idempotency key was used before with another body.
    Mismatch,
    /// The account has the most watches that are allowed.
    TooMany,
    /// The account has no such webhook.
    UnknownWebhook,
    /// The account does not exist or is being deleted.
    UnknownAccount,
}

/// The result of [`WatchStore::change_watch`].
#[derive(Debug, Clone, PartialEq)]
pub enum WatchChanged {
    /// The watch was changed.
    Done(Box<Watch>),
    /// The account has no such watch.
    UnknownWatch,
    /// The account has no such webhook.
    UnknownWebhook,
}

/// A watch whose last run has ended, or was deleted, and was not compared yet.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedRun {
    /// The watch.
    pub watch: Watch,
    /// The run.
    pub run: RunId,
    /// The last conclusions before the run.
    pub baseline: Baseline,
}

/// What the comparison of a run has shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// The changes.
    pub changes: Vec<FoundChange>,
    /// The baseline of the next run, or `None` if it stays as it is.
    pub baseline: Option<Baseline>,
}

/// The storage of watches. Every call is one transaction. `store` is the only implementation: the trait keeps SQL out of
/// this layer.
pub trait WatchStore: Send + Sync {
    /// Adds a watch and an audit entry.
    fn add_watch(&self, new: &NewWatch, at: Timestamp, by: &Origin) -> Result<WatchAdded, StorageError>;

    /// Returns a watch of an account.
    fn watch(&self, account: AccountId, id: WatchId) -> Result<Option<Watch>, StorageError>;

    /// Returns at most `limit` watches of an account with ids below `before`, the newest first.
    fn watches(
        &self,
        account: AccountId,
        before: Option<WatchId>,
        limit: usize,
    ) -> Result<Vec<Watch>, StorageError>;

    /// Returns what the watches of an account have done whose ids are in a range, which includes both ends.
    fn watch_activity(
        &self,
        account: AccountId,
        ids: RangeInclusive<WatchId>,
    ) -> Result<BTreeMap<WatchId, WatchActivity>, StorageError>;

    /// Changes a watch and adds an audit entry. With another interval, the next run is due at the next moment of that
    /// interval unless it is due already.
    fn change_watch(
        &self,
        account: AccountId,
        id: WatchId,
        update: &WatchUpdate,
        at: Timestamp,
        by: &Origin,
    ) -> Result<WatchChanged, StorageError>;

    /// Deletes a watch with its changes and adds an audit entry. Its runs stay. Returns `false` if the account has no such
    /// watch.
    fn delete_watch(
        &self,
        account: AccountId,
        id: WatchId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError>;

    /// Returns at most `limit` changes of a watch with ids below `before`, the newest first. Returns `None` if the account
    /// has no such watch.
    fn watch_changes(
        &self,
        account: AccountId,
        id: WatchId,
        before: Option<WatchChangeId>,
        limit: usize,
    ) -> Result<Option<Vec<StoredChange>>, StorageError>;

    /// Returns at most `limit` active watches of the simulated or the real web whose next run is due, after this one in
    /// the order of `(next_at, id)`. Writes nothing.
    fn due_watches(
        &self,
        simulated: bool,
        after: Option<(Timestamp, WatchId)>,
        limit: usize,
    ) -> Result<Vec<Watch>, StorageError>;

    /// Pauses an active watch whose account cannot pay for the run that is due at this moment. Returns `false` if that run
    /// was started or skipped meanwhile.
    fn pause_unpaid(&self, id: WatchId, due_at: Timestamp) -> Result<bool, StorageError>;

    /// Gives up the run that is due at this moment. The next one is due at the next moment of the interval.
    fn skip_run(&self, id: WatchId, due_at: Timestamp) -> Result<(), StorageError>;

    /// Returns at most `limit` accounts with ids above `after` that have watches which are paused because of credits.
    fn unpaid_accounts(&self, after: Option<AccountId>, limit: usize)
    -> Result<Vec<AccountId>, StorageError>;

    /// Makes the watches of an account active that are paused because of credits, if a run costs at most that many
    /// credits.
    fn resume_paid(&self, account: AccountId, credits: u64, premium: bool) -> Result<(), StorageError>;

    /// Returns at most `limit` watches whose last run has ended or was deleted, and was not compared.
    fn ended_runs(&self, simulated: bool, limit: usize) -> Result<Vec<EndedRun>, StorageError>;

    /// Records that the last run of a watch was compared, with what that has shown, and adds the deliveries that report it.
    /// Does nothing and returns `false` if the run was compared before.
    fn close_run(&self, ended: &EndedRun, shown: &Comparison) -> Result<bool, StorageError>;
}
