//! [`PublishedState`]: the state of a run that readers see, and waiting for its changes.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::state::{self, PublishedResult, State};
use super::waiters::Waiters;
use crate::model::drive::Delta;
use crate::model::run::{ModuleReport, ResultRecord};

/// The state of a run that readers see. Readers can wait for its changes.
pub struct PublishedState {
    state: Mutex<State>,
    waiters: Waiters,
}

impl PublishedState {
    pub(super) fn new(state: State) -> Self {
        Self { state: Mutex::new(state), waiters: Waiters::default() }
    }

    /// Returns a number that changes whenever anything in the run changes.
    pub fn version(&self) -> u64 {
        self.state.lock().version
    }

    /// Returns the reports of the modules that have ended.
    pub fn reports(&self) -> Vec<ModuleReport> {
        self.state.lock().reports.clone()
    }

    /// Returns the current state of a result.
    pub fn result(&self, id: u32) -> Option<ResultRecord> {
        self.state.lock().result(id).map(|result| result.record.clone())
    }

    /// Returns whether the run has ended and is stored completely. It can then be removed from memory.
    pub fn is_stored(&self) -> bool {
        self.state.lock().is_stored
    }

    /// Returns the time at which the run ended, if it has.
    pub fn ended_at(&self) -> Option<Instant> {
        self.state.lock().ended_at
    }

    /// Returns whether the store may have notes about the run.
    pub fn is_annotated(&self) -> bool {
        self.state.lock().is_annotated
    }

    /// Records that the store may have notes about the run, and gives the run a new version.
    pub fn note_annotated(&self) {
        self.change(|state| {
            state.is_annotated = true;
            true
        });
    }

    /// Adds stored results and ended modules, with one progress frame for them all. Readers that already have a changed
    /// result get the change through [`Self::announce_changes`], or at the end of the run.
    pub fn add(&self, delta: Delta, reports: Vec<ModuleReport>) {
        if delta.added.is_empty() && delta.changed.is_empty() && reports.is_empty() {
            return;
        }
        // Results are serialized before the lock is taken, so that readers do not wait for thousands of them.
        let added: Vec<Arc<PublishedResult>> = delta.added.into_iter().map(PublishedResult::added).collect();
        let changed: Vec<Arc<PublishedResult>> = delta
            .changed
            .into_iter()
            .map(|record| PublishedResult::changed(record, delta.revision))
            .collect();
        self.change(|state| {
            state.take(added, changed, delta.revision);
            state.take_reports(reports);
            true
        });
    }

    /// Sends the results that have changed since the last call to the readers that have their earlier state.
    pub fn announce_changes(&self) {
        let has_news = self.state.lock().push_changes();
        if has_news {
            self.waiters.notify_all();
        }
    }

    /// Waits until the version differs from `version`, or the moment is reached.
    pub fn wait_for_change(&self, version: u64, until: Instant) {
        self.wait_for(until, |state| (state.version != version).then_some(()));
    }

    /// Waits until `read` returns a value, and returns it. Returns `None` if the moment is reached first.
    pub(super) fn wait_for<T>(&self, until: Instant, mut read: impl FnMut(&State) -> Option<T>) -> Option<T> {
        loop {
            let seen = self.waiters.count();
            let value = read(&self.state.lock());
            if value.is_some() || !self.waiters.wait(seen, until) {
                return value;
            }
        }
    }

    /// Reads the state under its lock.
    pub(super) fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state.lock())
    }

    /// Changes the state under its lock. If `change` returns `true`, the run gets a new version, and its readers wake.
    pub(super) fn change(&self, change: impl FnOnce(&mut State) -> bool) {
        let mut state = self.state.lock();
        if !change(&mut state) {
            return;
        }
        state.version = state::next_version();
        // Woken threads need this lock, so it is released first.
        drop(state);
        self.waiters.notify_all();
    }
}
