//! The published state of a run, and the ring of its last events.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use jiff::Timestamp;

use crate::base::ids::RunId;
use crate::model::coverage::Coverage;
use crate::model::drive::Ending;
use crate::model::run::{ModuleReport, Progress, ResultRecord, RunSummary, Status, count};
use crate::modules::outcome::Outcome;
use crate::runs::event::{self, DoneData, Frame, ProgressData};
use crate::runs::ring::Ring;

/// The number of events that a ring keeps.
pub const RING_EVENTS: usize = 1024;

pub(super) struct State {
    pub(super) status: Status,
    /// The number of modules that the run asks.
    modules: usize,
    pub(super) ending: Option<Ending>,
    pub(super) credits_charged: u64,
    /// The results in the order of their ids.
    pub(super) results: Vec<Arc<PublishedResult>>,
    /// The revision of the last write of results.
    pub(super) revision: u64,
    /// The ids of changed results that are not announced yet.
    unannounced: BTreeSet<u32>,
    pub(super) reports: Vec<ModuleReport>,
    pub(super) coverage: Coverage,
    pub(super) ring: Ring<Event>,
    pub(super) done: Option<Frame>,
    pub(super) is_stored: bool,
    /// Whether the store may have notes about the run.
    pub(super) is_annotated: bool,
    pub(super) ended_at: Option<Instant>,
    pub(super) version: u64,
}

/// A result with its frame.
#[derive(Debug)]
pub struct PublishedResult {
    /// The stored form of the result.
    pub record: ResultRecord,
    pub(super) frame: Frame,
    /// The revision of its last change, or 0 if it has not changed since it was first published here.
    pub(super) changed_at: u64,
}

#[derive(Clone)]
pub(super) enum Event {
    Result(Arc<PublishedResult>),
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
        modules: usize,
        results: Vec<ResultRecord>,
        reports: Vec<ModuleReport>,
    ) -> Self {
        Self {
            status: Status::Running,
            modules,
            ending: None,
            credits_charged: summary.credits_charged,
            results: results.into_iter().map(PublishedResult::added).collect(),
            revision: summary.revision,
            unannounced: BTreeSet::new(),
            coverage: ModuleReport::coverage_of(&reports),
            reports,
            ring: Ring::new(RING_EVENTS),
            done: None,
            is_stored: false,
            is_annotated: true,
            ended_at: None,
            version: next_version(),
        }
    }

    /// Returns the current state of the run that began with `opening`, without results and reports.
    pub(super) fn summary(&self, opening: &RunSummary, stopped_at: Option<Timestamp>) -> RunSummary {
        RunSummary {
            status: self.status,
            total_results: count(self.results.len()),
            revision: self.revision,
            progress: self.progress(),
            coverage: self.coverage,
            credits_charged: self.credits_charged,
            completed_at: self.ending.as_ref().map(|ending| ending.completed_at),
            stopped_at,
            error: self.ending.as_ref().and_then(|ending| ending.error.clone()),
            ..opening.clone()
        }
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            modules_total: count(self.modules),
            modules_completed: count(self.reports.len()),
            modules_with_hits: self.coverage.count_of(Outcome::Hit),
        }
    }

    /// Returns a progress frame with the modules that have ended since `seen` had.
    pub(super) fn progress_since(&self, seen: usize) -> Frame {
        event::progress_frame(&ProgressData {
            results_so_far: count(self.results.len()),
            progress: self.progress(),
            coverage: self.coverage,
            module_status: self.reports[seen..]
                .iter()
                .map(|report| (report.module.clone(), report.status))
                .collect(),
        })
    }

    fn place(&self, id: u32) -> Option<usize> {
        self.results.binary_search_by_key(&id, |result| result.record.id).ok()
    }

    pub(super) fn result(&self, id: u32) -> Option<&Arc<PublishedResult>> {
        self.place(id).map(|at| &self.results[at])
    }

    /// Adds the results that the write `revision` has stored.
    pub(super) fn take(
        &mut self,
        added: Vec<Arc<PublishedResult>>,
        changed: Vec<Arc<PublishedResult>>,
        revision: u64,
    ) {
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

    /// Adds modules that have ended, and announces them to readers.
    pub(super) fn take_reports(&mut self, reports: Vec<ModuleReport>) {
        if reports.is_empty() {
            return;
        }
        let seen = self.reports.len();
        for report in reports {
            self.coverage.add(report.status, report.cut(), report.circuit);
            self.reports.push(report);
        }
        let (frame, reports) = (self.progress_since(seen), self.reports.len());
        self.ring.push(Event::Progress { frame, reports });
    }

    /// Ends the run. `before_done` are the frames that readers get before `done`.
    pub(super) fn end(&mut self, run: RunId, ending: Ending, is_stored: bool, before_done: &[Frame]) {
        self.push_changes();
        self.status = ending.status;
        if ending.status == Status::Failed {
            self.credits_charged = 0;
        }
        let done = event::done_frame(&DoneData {
            run_id: run,
            status: ending.status,
            total_results: count(self.results.len()),
            progress: self.progress(),
            coverage: self.coverage,
            results_available: is_stored,
            error: ending.error.as_ref(),
        });
        let mut last = before_done.concat();
        last.extend_from_slice(&done);
        self.done = Some(last.into());
        self.ending = Some(ending);
        self.ended_at = Some(Instant::now());
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

impl PublishedResult {
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
