//! The use cases of the owners of watches.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::clock::Clock;
use crate::base::ids::{AccountId, WatchChangeId, WatchId, WebhookId};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::credits::Charge;
use crate::model::interval::Interval;
use crate::model::search::Search;
use crate::model::start::{Cause, Idempotency, WatchStart};
use crate::model::watch::{
    ChangeKind, MOST_WATCHES, NewWatch, StoredChange, Watch, WatchActivity, WatchAdded, WatchChanged,
    WatchUpdate,
};
use crate::modules::query::SearchType;
use crate::runs::service::{Runs, StartError, StartRequest, StartResult};
use crate::store::Store;

/// The reasons why an operation on watches fails.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// No kind of change was given, or one that does not exist.
    #[error("invalid kinds of changes: {} are allowed", ChangeKind::ALL.map(ChangeKind::as_str).join(", "))]
    InvalidKinds,
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    Mismatch,
    /// The account has the most watches that are allowed.
    #[error("an account has at most {MOST_WATCHES} watches: delete one that is no longer used")]
    TooMany,
    /// The account was deleted just before.
    #[error("no such account")]
    UnknownAccount,
    /// The account has no such watch.
    #[error("unknown watch")]
    UnknownWatch,
    /// The account has no such webhook.
    #[error("unknown webhook")]
    UnknownWebhook,
    /// The stored query is not valid for this version.
    #[error("the query of the watch is no longer valid: delete the watch")]
    InvalidQuery,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The watch that an owner asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchRequest {
    /// The search that is repeated.
    pub search: Search,
    /// The time between two runs.
    pub every: Interval,
    /// The kinds of changes that are reported to webhooks.
    pub notify_on: Vec<ChangeKind>,
    /// The webhook that gets its events, or `None` for all that have subscribed.
    pub webhook: Option<WebhookId>,
}

/// The watches of all accounts. There is one value for each process.
pub struct Watches {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    simulated: bool,
}

impl Watches {
    /// Creates the use cases. `simulated` tells whether this process queries the simulated web.
    pub fn new(store: Arc<Store>, clock: Arc<dyn Clock>, simulated: bool) -> Self {
        Self { store, clock, simulated }
    }

    /// Returns the kinds with these names, sorted, each once.
    ///
    /// # Errors
    /// Returns [`WatchError::InvalidKinds`] for no name, or for one that is not allowed.
    pub fn kinds<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<ChangeKind>, WatchError> {
        let known = names.into_iter().map(ChangeKind::from_name).collect::<Option<_>>();
        let mut kinds: Vec<ChangeKind> = known.ok_or(WatchError::InvalidKinds)?;
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.is_empty() { Err(WatchError::InvalidKinds) } else { Ok(kinds) }
    }

    /// Creates a watch. Its first run is due at once. A repeated request gets the watch of the first one.
    ///
    /// # Errors
    /// Returns [`WatchError::Mismatch`], [`WatchError::TooMany`], [`WatchError::UnknownWebhook`], [`WatchError::UnknownAccount`], or an error of
    /// the store.
    pub fn create(
        &self,
        account: AccountId,
        request: WatchRequest,
        idempotency: Option<Idempotency>,
        by: &Origin,
    ) -> Result<Watch, WatchError> {
        let WatchRequest { search, every, notify_on, webhook } = request;
        let (id, simulated) = (WatchId::new(), self.simulated);
        let new = NewWatch { id, account, search, simulated, every, notify_on, webhook, idempotency };
        let added = match self.store.add_watch(&new, self.clock.now(), by) {
            // The answer to the commit was lost: the watch is looked up by its id.
            Err(error) if error.is_unconfirmed() => match self.store.watch(account, id) {
                Ok(Some(watch)) => WatchAdded::Done(Box::new(watch)),
                Ok(None) | Err(_) => return Err(error.into()),
            },
            added => added?,
        };
        match added {
            WatchAdded::Done(watch) => {
                self.store.confirm_watch(watch.id);
                Ok(*watch)
            }
            WatchAdded::Repeated(id) => self.store.watch(account, id)?.ok_or(WatchError::UnknownWatch),
            WatchAdded::Mismatch => Err(WatchError::Mismatch),
            WatchAdded::TooMany => Err(WatchError::TooMany),
            WatchAdded::UnknownWebhook => Err(WatchError::UnknownWebhook),
            WatchAdded::UnknownAccount => Err(WatchError::UnknownAccount),
        }
    }

    /// Returns at most `limit` watches of an account with ids below `before`, the newest first.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn list(
        &self,
        account: AccountId,
        before: Option<WatchId>,
        limit: usize,
    ) -> Result<Vec<Watch>, WatchError> {
        Ok(self.store.watches(account, before, limit)?)
    }

    /// Returns what these watches of an account have done. They are those of one page of [`Watches::list`], or one watch.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn activity(
        &self,
        account: AccountId,
        watches: &[Watch],
    ) -> Result<BTreeMap<WatchId, WatchActivity>, WatchError> {
        let (Some(newest), Some(oldest)) = (watches.first(), watches.last()) else {
            return Ok(BTreeMap::new());
        };
        Ok(self.store.watch_activity(account, oldest.id..=newest.id)?)
    }

    /// Returns a watch of an account.
    ///
    /// # Errors
    /// Returns [`WatchError::UnknownWatch`], or an error of the store.
    pub fn find(&self, account: AccountId, id: WatchId) -> Result<Watch, WatchError> {
        self.store.watch(account, id)?.ok_or(WatchError::UnknownWatch)
    }

    /// Changes a watch.
    ///
    /// # Errors
    /// Returns [`WatchError::UnknownWatch`], [`WatchError::UnknownWebhook`], or an error of the store.
    pub fn change(
        &self,
        account: AccountId,
        id: WatchId,
        update: &WatchUpdate,
        by: &Origin,
    ) -> Result<Watch, WatchError> {
        match self.store.change_watch(account, id, update, self.clock.now(), by)? {
            WatchChanged::Done(watch) => Ok(*watch),
            WatchChanged::UnknownWatch => Err(WatchError::UnknownWatch),
            WatchChanged::UnknownWebhook => Err(WatchError::UnknownWebhook),
        }
    }

    /// Deletes a watch with its changes. Its runs stay.
    ///
    /// # Errors
    /// Returns [`WatchError::UnknownWatch`], or an error of the store.
    pub fn delete(&self, account: AccountId, id: WatchId, by: &Origin) -> Result<(), WatchError> {
        let known = self.store.delete_watch(account, id, self.clock.now(), by)?;
        if known { Ok(()) } else { Err(WatchError::UnknownWatch) }
    }

    /// Returns at most `limit` changes of a watch with ids below `before`, the newest first.
    ///
    /// # Errors
    /// Returns [`WatchError::UnknownWatch`], or an error of the store.
    pub fn changes(
        &self,
        account: AccountId,
        id: WatchId,
        before: Option<WatchChangeId>,
        limit: usize,
    ) -> Result<Vec<StoredChange>, WatchError> {
        self.store.watch_changes(account, id, before, limit)?.ok_or(WatchError::UnknownWatch)
    }

    /// Starts a run of a watch now, also if the watch is paused. The moment of the next run stays. If the last run has not
    /// ended or was not compared yet, returns it as [`StartResult::Repeated`].
    ///
    /// # Errors
    /// Returns [`WatchError::InvalidQuery`] if the query is not valid for this version. The inner error is that of the
    /// start.
    pub fn run_now(
        runs: &Runs,
        watch: &Watch,
        charge: Charge,
        by: Origin,
    ) -> Result<Result<StartResult, StartError>, WatchError> {
        match runs.starter.start(start_request(watch, None, charge, by)) {
            Err(StartError::Query(_)) => Err(WatchError::InvalidQuery),
            started => Ok(started),
        }
    }
}

/// Returns the request for a run of a watch. `due_at` is the moment at which it was due, or `None` on request of the
/// owner.
pub(super) fn start_request(
    watch: &Watch,
    due_at: Option<jiff::Timestamp>,
    charge: Charge,
    origin: Origin,
) -> StartRequest {
    let premium = watch.search.premium && watch.search.search_type == SearchType::Username;
    StartRequest {
        account: watch.account,
        search: Search { premium, ..watch.search.clone() },
        cause: Cause::Watch(WatchStart { watch: watch.id, due_at }),
        charge,
        idempotency: None,
        origin,
    }
}
