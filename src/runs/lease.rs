//! [`Lease`]: the right of an instance to drive one run, and the runs that instances take over and stop.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::family::member::Lookup;
use super::run::{ModuleReport, ResultRecord, RunSummary};
use crate::base::ids::RunId;

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

/// A selection of runs without a driver that an instance takes over.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// The instance that will drive the runs.
    pub owner: InstanceId,
    /// Selects only runs of the web that `owner` queries, simulated or real.
    pub simulated: bool,
    /// Excludes these runs, which `owner` drives. Their leases were only renewed too late.
    pub except: &'a [RunId],
    /// Whether to include runs with an expired lease besides those without a lease.
    pub expired: bool,
    /// Selects only this run.
    pub only: Option<RunId>,
    /// The time for which the new leases are valid without a renewal.
    pub holds: Duration,
    /// The maximum number of runs to take over.
    pub limit: usize,
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
