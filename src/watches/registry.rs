//! The use cases of the owners of watches.

use std::sync::Arc;

use jiff::Timestamp;

use crate::model::audit::Origin;
use crate::model::credits::Charge;
use crate::model::search::Search;
use crate::model::start::{Cause, WatchStart};
use crate::model::watch::{ChangeKind, NewWatch, Watch, WatchError};
use crate::modules::query::SearchType;
use crate::runs::service::{Runs, StartError, StartRequest, StartResult};
use crate::store::Store;

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
/// Returns the errors of [`Store::add_watch`], or an error of the store.
pub fn create(store: &Store, new: &NewWatch, at: Timestamp, by: &Origin) -> Result<Watch, WatchError> {
    let watch = match store.add_watch(new, at, by) {
        // The answer to the commit was lost: the watch is looked up by its id.
        Err(error) if error.is_unconfirmed() => {
            store.watch(new.account, new.id).ok().flatten().ok_or(error)?
        }
        added => added??,
    };
    if new.idempotency.is_none() {
        store.confirm_watch(watch.id);
    }
    Ok(watch)
}

/// Starts a run of a watch now, also if the watch is paused. The moment of the next run stays. If the last run has not
/// ended or was not compared yet, returns it as [`StartResult::Repeated`].
///
/// # Errors
/// Returns [`WatchError::InvalidQuery`] if the query is not valid for this version. The inner error is that of the
/// start.
pub fn run_now(
    runs: &Arc<Runs>,
    watch: &Watch,
    charge: Charge,
    by: Origin,
) -> Result<Result<StartResult, StartError>, WatchError> {
    match runs.start(start_request(watch, None, charge, by)) {
        Err(StartError::Query(_)) => Err(WatchError::InvalidQuery),
        started => Ok(started),
    }
}

/// Returns the request for a run of a watch. `due_at` is the moment at which it was due, or `None` on request of the
/// owner.
pub(super) fn start_request(
    watch: &Watch,
    due_at: Option<Timestamp>,
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
