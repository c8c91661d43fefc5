//! What the driver of a run writes, and its right to write.
//!
//! An instance identifies itself by an [`InstanceId`]. The driver of a run holds its [`Lease`], which protects each of its
//! writes: if the lease was lost, nothing is written and the result is [`Write::LeaseLost`]. Leases are dated only by the
//! database's clock, because the clocks of two instances may differ.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::base::ids::RunId;
use crate::model::coverage::Coverage;
use crate::model::follow::Lookup;
use crate::model::run::{ModuleReport, Progress, ResultRecord, RunError, RunSummary, Status, Thumbnails};

/// The result of a driver's write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// The write was done.
    Done,
    /// The write was done, and the owner stopped the run at that time. Only [`save`](crate::store::Store::save) returns it.
    Stopped(Timestamp),
    /// Nothing was written. Another instance drives the run, or the run has ended or was deleted.
    LeaseLost,
}

/// What one write of a driver stores, and what readers see afterwards.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delta {
    /// The number of the write, counted from 1 over all drivers of the run. Each try has a new number, because a try
    /// whose answer was lost may have been stored and read.
    pub revision: u64,
    /// The new results in the order of their ids.
    pub added: Vec<ResultRecord>,
    /// The stored results that have changed, in the order of their ids.
    pub changed: Vec<ResultRecord>,
    /// The thumbnails of the changed results that got a picture.
    pub thumbnails: Thumbnails,
    /// The evidence that was kept by its SHA-256, compressed with gzip.
    pub evidence: BTreeMap<String, Arc<[u8]>>,
    /// The modules that have ended.
    pub reports: Vec<ModuleReport>,
    /// The progress of the run with these reports.
    pub progress: Progress,
    /// The number of modules by outcome with these reports.
    pub coverage: Coverage,
    /// All accounts that are or were looked up, in the order in which they were planned.
    pub lookups: Vec<Lookup>,
    /// What the results point to as JSON, once it is known.
    pub links: Option<String>,
}

impl Delta {
    /// Returns whether there are neither results nor thumbnails nor reports.
    pub fn is_empty(&self) -> bool {
        let has_results = !self.added.is_empty() || !self.changed.is_empty();
        !has_results && self.thumbnails.is_empty() && self.reports.is_empty()
    }

    /// Adds the report of a module that has ended.
    pub fn add_report(&mut self, report: ModuleReport) {
        report.count_in(&mut self.coverage);
        self.progress = Progress::of(self.progress.modules_total, self.coverage);
        self.reports.push(report);
    }
}

/// How far a reader has read a run. It means the same in memory and in the store: a reader may read on from either.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Position {
    /// The first revision that was not read. Before it, everything was.
    pub next: u64,
    /// How far the results from that revision on were read, if there are more of them than are read at once.
    pub page: Option<ReadPage>,
}

/// The results that were read from a revision on, in the order of their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadPage {
    /// The last result that was read.
    pub result: u32,
    /// The first revision that did not exist when the first of them were read. From it on, results with lower ids may
    /// have changed since.
    pub end: u64,
}

impl Position {
    /// The position of a reader that waits for the end alone.
    pub const END: Self = Self { next: u64::MAX, page: None };

    /// Returns the position behind everything up to that revision.
    #[must_use]
    pub fn behind(self, revision: u64) -> Self {
        Self { next: self.next.max(revision.saturating_add(1)), page: None }
    }
}

/// What a reader of the store has not read yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// The run.
    pub summary: RunSummary,
    /// The next results that were added or changed, in the order of their ids.
    pub results: Vec<ResultRecord>,
    /// The modules that have ended. They come with the last of the results.
    pub reports: Vec<ModuleReport>,
    /// The position behind them.
    pub end: Position,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// The error of a failed run, or `None` for a completed one. A failed run is refunded only once.
    pub error: Option<RunError>,
    /// The time at which the run ended.
    pub completed_at: Timestamp,
}

impl Ending {
    /// Returns the status of the run, `Completed` or `Failed`.
    pub fn status(&self) -> Status {
        if self.error.is_some() { Status::Failed } else { Status::Completed }
    }
}

/// The identifier of a process. It has a new value at every start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceId(pub Uuid);

impl InstanceId {
    /// Returns the lease of this instance on a run that has been taken over `epoch` times.
    pub fn lease(self, epoch: u64) -> Lease {
        Lease { owner: self, epoch }
    }
}

/// The right of an instance to drive one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The instance that drives the run.
    pub owner: InstanceId,
    /// The number of times that the run was taken over. An instance that loses a run and takes it over again holds
    /// another lease, so its earlier writes are refused even if they arrive late.
    pub epoch: u64,
}

/// A run that was taken over with a new lease. It was waiting or was interrupted.
#[derive(Debug, Clone, PartialEq)]
pub struct Resumable {
    /// The new lease. Its epoch is 0 if the run was not driven before.
    pub lease: Lease,
    /// The time since the run was first driven, by the database's clock. It is zero if the run was not driven before.
    pub ran_for: Duration,
    /// The stored summary of the run.
    pub summary: RunSummary,
    /// The ids of all modules of the run.
    pub modules: Vec<String>,
    /// The reports of the modules that ended before the interruption.
    pub done: Vec<ModuleReport>,
    /// The accounts that are or were looked up.
    pub lookups: Vec<Lookup>,
    /// The stored results, whose ids do not change.
    pub results: Vec<ResultRecord>,
}

impl Resumable {
    /// Returns a run that was not driven before.
    pub fn new(summary: RunSummary, lease: Lease, modules: Vec<String>) -> Self {
        let (ran_for, done, lookups, results) = (Duration::ZERO, Vec::new(), Vec::new(), Vec::new());
        Self { lease, ran_for, summary, modules, done, lookups, results }
    }
}

/// A selection of a run without a driver that an instance takes over.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// The instance that will drive the run.
    pub owner: InstanceId,
    /// Selects only runs of the web that `owner` queries, simulated or real.
    pub simulated: bool,
    /// Excludes these runs, which `owner` drives. Their leases were only renewed too late.
    pub except: &'a [RunId],
    /// Whether to include runs with an expired lease besides those without a lease.
    pub expired: bool,
    /// Selects only this run.
    pub only: Option<RunId>,
    /// The time for which the new lease is valid without a renewal.
    pub holds: Duration,
}

/// A run that its owner has stopped and that has not ended yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoppedRun {
    /// The run.
    pub id: RunId,
    /// The time at which it was first stopped.
    pub at: Timestamp,
    /// Whether it waits for its first driver.
    pub waits: bool,
}

/// A notification about a change in the store. Instances send it as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notification {
    /// A run was taken over. Its earlier driver would learn it when it saves.
    TakenOver {
        /// The run.
        run: RunId,
        /// The [epoch](crate::model::drive::Lease::epoch) of the new driver.
        epoch: u64,
    },
    /// A run was stopped by its owner. Its driver learns the time when it saves.
    Stopped(RunId),
    /// A run was deleted by its owner, or is being deleted with its account.
    Deleted(RunId),
    /// An instance released runs, which can be taken over.
    Released,
    /// A key was revoked, or an account's plan was changed, or an account was deleted.
    Access,
    /// The subscription is established. All later notifications are delivered; earlier ones may be lost.
    #[serde(skip)]
    Connected,
    /// The subscription is interrupted. No notifications are delivered.
    #[serde(skip)]
    Disconnected,
}

/// A receiver of notifications.
pub trait Subscriber: Send + Sync {
    /// Handles a notification. It is called on the only thread that receives notifications, so it must not block.
    fn notify(&self, notification: Notification);
}
