//! The use cases of the owners of watches.

use std::sync::Arc;

use jiff::Timestamp;

use crate::model::audit::Origin;
use crate::model::credits::Charge;
use crate::model::search::Search;
use crate::model::start::{Cause, WatchStart};
use crate::model::watch::{ChangeKind, Watch, WatchError};
use crate::modules::query::SearchType;
use crate::runs::service::{Runs, StartError, StartRequest, StartResult};

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
    let premium = watch.premium && watch.search_type == SearchType::Username;
    StartRequest {
        account: watch.account,
        search: Search { premium, ..watch.search() },
        cause: Cause::Watch(WatchStart { watch: watch.id, due_at }),
        charge,
        idempotency: None,
        origin,
    }
}
