//! The published state of a run, and the ring of its last events.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use jiff::Timestamp;

use crate::runs::coverage::Coverage;
use crate::runs::event::{self, Frame};
use crate::runs::family::member::{FollowedLead, Lookup};
use crate::runs::host_limiter::Waker;
use crate::runs::journal::Ending;
use crate::runs::ring::Ring;
use crate::runs::run::{ModuleReport, ResultRecord, RunSummary, Status};

/// The number of events that a ring keeps.
pub const RING_EVENTS: usize = 1024;

/// The reasons why a process stops driving a run that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The server shuts down. The run is resumed later or by another instance.
    Shutdown,
    /// Another instance drives the run.
    LeaseLost,
    /// The owner deleted the run.
    Deleted,
}

pub(super) struct State {
    pub(super) status: Status,
    pub(super) ending: Option<Ending>,
    pub(super) credits_charged: u64,
    /// The results in the order of their ids.
    pub(super) results: Vec<Arc<Published>>,
    /// The revision of the last write of results.
    pub(super) revision: u64,
    /// The ids of changed results that are not announced yet.
    unannounced: BTreeSet<u32>,
    pub(super) reports: Vec<ModuleReport>,
    pub(super) lookups: Vec<Lookup>,
    /// The runs that leads of this run have started, as far as they are known before the run ends.
    pub(super) children: Vec<(FollowedLead, RunSummary)>,
    pub(super) coverage: Coverage,
    pub(super) ring: Ring<Event>,
    pub(super) done: Option<Frame>,
    pub(super) is_stored: bool,
    pub(super) stopped: Option<Stopped>,
    /// The time at which the owner stopped the run. Its driver then ends it with what it has.
    pub(super) stopped_at: Option<Timestamp>,
    /// Whether the store may have notes about the run.
    pub(super) is_annotated: bool,
    /// Whether the driver is to write a checkpoint before the next one is due.
    pub(super) wants_checkpoint: bool,
    pub(super) wake_driver: Option<Waker>,
    pub(super) ended_at: Option<Instant>,
    pub(super) version: u64,
}

/// A result with its frame.
#[derive(Debug)]
pub struct Published {
    /// The stored form of the result.
    pub record: ResultRecord,
    pub(super) frame: Frame,
    /// The revision of its last change, or 0 if it has not changed since it was first published here.
    pub(super) changed_at: u64,
}

#[derive(Clone)]
pub(super) enum Event {
    Result(Arc<Published>),
    /// Results have changed. The event contains their ids, because a reader gets the results in the state in which
    /// they are when it reads.
    Changes {
        ids: Arc<[u32]>,
        revision: u64,
    },
    Progress {
        frame: Frame,
        reports: usize,
    },
}

/// Returns a version that is unique in the process. Therefore a remembered version never equals another state, even
/// of a run that was taken over and came back.
pub(super) fn next_version() -> u64 {
    static NEWEST: AtomicU64 = AtomicU64::new(1);
    NEWEST.fetch_add(1, Ordering::Relaxed)
}

impl State {
    pub(super) fn new(
        summary: &RunSummary,
        results: Vec<ResultRecord>,
        reports: Vec<ModuleReport>,
        lookups: Vec<Lookup>,
    ) -> Self {
        Self {
            status: Status::Running,
            ending: None,
            credits_charged: summary.credits_charged,
            results: results.into_iter().map(Published::added).collect(),
            revision: summary.revision,
            unannounced: BTreeSet::new(),
            coverage: ModuleReport::coverage_of(&reports),
            reports,
            lookups,
            children: Vec::new(),
            ring: Ring::new(RING_EVENTS),
            done: None,
            is_stored: false,
            stopped: None,
            stopped_at: summary.stopped_at,
            is_annotated: true,
            wants_checkpoint: false,
            wake_driver: None,
            ended_at: None,
            version: next_version(),
        }
    }

    fn place(&self, id: u32) -> Option<usize> {
        self.results.binary_search_by_key(&id, |result| result.record.id).ok()
    }

    pub(super) fn result(&self, id: u32) -> Option<&Arc<Published>> {
        self.place(id).map(|at| &self.results[at])
    }

    /// Adds the results that the write `revision` has stored.
    pub(super) fn take(&mut self, added: Vec<Arc<Published>>, changed: Vec<Arc<Published>>, revision: u64) {
        if !added.is_empty() || !changed.is_empty() {
            self.revision = revision;
        }
        for result in added {
            self.results.push(Arc::clone(&result));
            self.ring.push(Event::Result(result));
        }
        for result in changed {
            if let Some(at) = self.place(result.record.id) {
                self.unannounced.insert(result.record.id);
                self.results[at] = result;
            }
        }
    }

    /// Adds modules that have ended. Returns how many had ended before.
    pub(super) fn take_reports(&mut self, reports: Vec<ModuleReport>) -> usize {
        let seen = self.reports.len();
        for report in reports {
            self.coverage.add(report.status, report.reason, report.circuit);
            self.reports.push(report);
        }
        seen
    }

    pub(super) fn push_progress(&mut self, frame: Frame) {
        let reports = self.reports.len();
        self.ring.push(Event::Progress { frame, reports });
    }

    /// Announces changed results to readers. Returns `false` if there are none.
    pub(super) fn push_changes(&mut self) -> bool {
        let ids: Arc<[u32]> = std::mem::take(&mut self.unannounced).into_iter().collect();
        let is_any = !ids.is_empty();
        if is_any {
            self.ring.push(Event::Changes { ids, revision: self.revision });
        }
        is_any
    }

    /// Returns the revision up to which a reader at the end of the ring has seen all changes.
    pub(super) fn told(&self) -> u64 {
        let held_back = self.unannounced.iter().filter_map(|id| self.result(*id));
        held_back.map(|result| result.changed_at - 1).min().unwrap_or(self.revision)
    }
}

impl Published {
    /// Creates a new result.
    pub(super) fn added(record: ResultRecord) -> Arc<Self> {
        Self::changed(record, 0)
    }

    /// Creates a result that the write `revision` has changed.
    pub(super) fn changed(record: ResultRecord, changed_at: u64) -> Arc<Self> {
        let frame = event::result_frame(&record);
        Arc::new(Self { record, frame, changed_at })
    }
}
