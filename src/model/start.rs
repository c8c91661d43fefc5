//! What is stored when a run starts, and why a start is refused.

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, ToSpan};

use crate::base::ids::{AccountId, BatchId, RunId, WatchId};
use crate::model::audit::Origin;
use crate::model::coverage::Coverage;
use crate::model::credits::Charge;
#[cfg(test)]
use crate::model::credits::Cycle;
use crate::model::drive::InstanceId;
use crate::model::follow::NewMember;
use crate::model::notes::RunNotes;
use crate::model::refusal::Refusal;
use crate::model::run::{Progress, RunSummary, Status, count};
use crate::model::search::Search;
#[cfg(test)]
use crate::modules::query::{Query, SearchType};

/// A run to be created.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// The id of the run, which the API calls `run_id`.
    pub id: RunId,
    /// The account that owns the run.
    pub account: AccountId,
    /// What is searched for.
    pub search: Search,
    /// What starts it.
    pub cause: Cause,
    /// The cost of the search.
    pub charge: Charge,
    /// Whether checks query the simulated web.
    pub simulated: bool,
    /// The ids of the run's modules, in the order of the catalogue.
    pub modules: Vec<String>,
    /// The time at which the search was accepted.
    pub created_at: Timestamp,
    /// The instance that drives the run from the start. If it is `None`, the run waits until an instance takes it
    /// over.
    pub owner: Option<InstanceId>,
    /// The time for which the owner's lease is valid without a renewal.
    pub holds: Duration,
    /// Whether the run is undone unless its caller gets it, because a repetition of the request would start another one.
    pub is_unconfirmed: bool,
    /// The caller's `Idempotency-Key`, if there is one.
    pub idempotency: Option<Idempotency>,
    /// The origin of the request, for the audit.
    pub origin: Origin,
}

impl NewRun {
    /// Returns the run in its initial state.
    pub fn opening(&self) -> RunSummary {
        let Search { search_type, query, premium, options, choice, follow, .. } = self.search.clone();
        let cause = self.cause;
        RunSummary {
            id: self.id,
            account: self.account,
            status: Status::Running,
            search_type,
            query,
            premium,
            options,
            choice: choice.narrowed().map(Arc::new),
            follow,
            family: cause.member().map(|member| member.place),
            watch: if let Cause::Watch(start) = cause { Some(start.watch) } else { None },
            batch: if let Cause::Row(row) = cause { Some(row.batch) } else { None },
            retry_of: if let Cause::Retry(run) = cause { Some(run) } else { None },
            simulated: self.simulated,
            total_results: 0,
            revision: 0,
            progress: Progress { modules_total: count(self.modules.len()), ..Progress::default() },
            coverage: Coverage::default(),
            credits_charged: self.charge.credits,
            created_at: self.created_at,
            completed_at: None,
            stopped_at: None,
            error: None,
            queue_position: None,
            notes: RunNotes::default(),
        }
    }
}

#[cfg(test)]
impl NewRun {
    /// Returns a search for a username.
    pub(crate) fn example() -> Self {
        Self {
            id: RunId::new(),
            account: AccountId::new(),
            search: Search::plain(&Query::parse(SearchType::Username, "alice").unwrap()),
            cause: Cause::Request,
            charge: Charge {
                credits: 1,
                allowed: None,
                cycle: Cycle::at(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH),
            },
            simulated: false,
            modules: Vec::new(),
            created_at: Timestamp::UNIX_EPOCH,
            owner: Some(InstanceId(uuid::Uuid::new_v4())),
            holds: Duration::ZERO,
            is_unconfirmed: false,
            idempotency: None,
            origin: Origin::SYSTEM,
        }
    }
}

/// What starts a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A request of its owner.
    Request,
    /// A request to ask the modules of this run again that came to no conclusion.
    Retry(RunId),
    /// A lead of another run of the family.
    Lead(NewMember),
    /// A watch.
    Watch(WatchStart),
    /// The turn of a row of a batch.
    Row(RowRef),
}

impl Cause {
    /// Returns the place of a run that a lead starts.
    pub fn member(&self) -> Option<&NewMember> {
        if let Self::Lead(member) = self { Some(member) } else { None }
    }
}

/// An `Idempotency-Key` and the request for which it was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// The key. It has up to 255 printable ASCII characters.
    pub key: String,
    /// The SHA-256 of the canonical body of the request.
    pub body_hash: [u8; 32],
    /// The time of the request.
    pub at: Timestamp,
}

impl Idempotency {
    /// Returns the time, 24 hours ago, before which recorded keys are expired.
    pub fn valid_since(now: Timestamp) -> Timestamp {
        now.saturating_sub(24.hours()).unwrap_or(now)
    }
}

/// The result of starting a run, or of creating a batch, whose id is given instead of that of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    /// It was created, and a run was charged.
    Created,
    /// The idempotency key was used before with the same body. Nothing was charged. Contains what that request
    /// has created.
    Repeated(RunId),
    /// Nothing was charged or created.
    Refused(Refusal),
}

/// The watch that starts a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchStart {
    /// The watch.
    pub watch: WatchId,
    /// The moment at which the run is due. The run is started only if that is still the next one and has passed by the
    /// database's clock. `None` starts a run on request of the owner, and leaves the next moment as it is.
    pub due_at: Option<Timestamp>,
}

/// Names a row of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRef {
    /// The batch.
    pub batch: BatchId,
    /// The place of the search in the request, from 1.
    pub position: u32,
}
