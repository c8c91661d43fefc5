//! [`Registry`]: the runs that this process holds in memory, and the readers of other runs.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

use super::lifecycle::Lifecycle;
use super::live::{LiveRun, Stopped};
use super::watched::WatchedRuns;
use crate::base::ids::RunId;
use crate::model::drive::Notification;

/// A function that is called with the id of a run that was deleted or changed, through this process or another one.
pub type OnRun = Box<dyn Fn(RunId) + Send + Sync>;

/// The runs in memory, by id.
pub(super) struct Registry {
    live: RwLock<HashMap<RunId, Arc<LiveRun>>>,
    /// The runs that this process does not drive and that have readers here.
    pub(super) watched: Arc<WatchedRuns>,
    /// Whether there are other processes whose notifications are not received.
    is_disconnected: AtomicBool,
    /// The shutdown of the process, and the wake-up of its maintenance thread.
    pub(super) lifecycle: Arc<Lifecycle>,
    keep_ended: Duration,
    on_deletion: OnRun,
    on_annotation: OnRun,
}

impl Registry {
    /// Creates a registry that keeps runs that have ended for `keep_ended`.
    pub(super) fn new(
        lifecycle: Arc<Lifecycle>,
        keep_ended: Duration,
        on_deletion: OnRun,
        on_annotation: OnRun,
    ) -> Self {
        let (live, watched, is_disconnected) = <(_, _, AtomicBool)>::default();
        Self { live, watched, is_disconnected, lifecycle, keep_ended, on_deletion, on_annotation }
    }

    /// Registers a run. Returns `false` if the run is registered with a later lease. A run that is registered during
    /// the shutdown is stopped at once, as all others.
    pub(super) fn insert(&self, run: &Arc<LiveRun>) -> bool {
        if !put(&mut self.live.write(), run) {
            return false;
        }
        self.watched.notify(run.id());
        if self.lifecycle.is_shutting_down() {
            run.stop(Stopped::Shutdown);
        }
        true
    }

    /// Returns the run with that id if it is live in this process and this copy is not out of date.
    pub(super) fn live(&self, id: RunId) -> Option<Arc<LiveRun>> {
        self.live.read().get(&id).filter(|run| !run.signals.is_gone()).map(Arc::clone)
    }

    /// Returns the runs that this process drives. If the store or this machine was suspended, their leases have
    /// expired. Their drivers renew them, unless another instance is faster.
    pub(super) fn driven(&self) -> Vec<RunId> {
        let live = self.live.read();
        let driven =
            live.values().filter(|run| run.signals.stopped().is_none() && run.published.ended_at().is_none());
        driven.map(|run| run.id()).collect()
    }

    /// Returns the number of runs of batches that this process drives.
    pub(super) fn driven_of_batches(&self) -> usize {
        let live = self.live.read();
        let driven =
            live.values().filter(|run| run.signals.stopped().is_none() && run.published.ended_at().is_none());
        driven.filter(|run| run.opening().batch.is_some()).count()
    }

    /// Removes a run that was not created.
    pub(super) fn remove(&self, run: RunId) {
        self.live.write().remove(&run);
    }

    /// Stops a run that was deleted, if it is live in this process, and notifies its readers.
    pub(super) fn note_deleted(&self, run: RunId) {
        let live = self.live.write().remove(&run);
        if let Some(live) = live {
            live.stop(Stopped::Deleted);
        }
        (self.on_deletion)(run);
        self.watched.notify(run);
    }

    /// Lets the readers of a run read what is noted about it, if it is live in this process.
    pub(super) fn note_annotated(&self, run: RunId) {
        if let Some(live) = self.live(run) {
            live.published.note_annotated();
        }
        (self.on_annotation)(run);
    }

    /// Stops all runs, and wakes all readers.
    pub(super) fn stop_all(&self) {
        self.watched.notify_all();
        for run in self.live.read().values() {
            run.stop(Stopped::Shutdown);
        }
    }

    /// Handles a notification.
    pub(super) fn notify(&self, notification: Notification) {
        match notification {
            Notification::Changed { run, epoch } => self.note_change(run, epoch),
            Notification::Stopped(run) => {
                if let Some(live) = self.live(run) {
                    live.signals.request_save();
                }
            }
            Notification::Annotated(run) => self.note_annotated(run),
            Notification::Deleted(run) => self.note_deleted(run),
            Notification::Released => self.lifecycle.wake_maintenance(),
            Notification::Access => {}
            Notification::Connected => {
                // A run that ended, and was deleted without a notification, must not be kept longer.
                self.sweep();
                self.is_disconnected.store(false, Ordering::Relaxed);
                self.watched.notify_all();
                self.lifecycle.wake_maintenance();
            }
            Notification::Disconnected => {
                self.is_disconnected.store(true, Ordering::Relaxed);
                // Whether notes are changed is not told from now on.
                self.live.read().values().for_each(|run| run.published.note_annotated());
                // Runs may be deleted without a notification, but the store has them.
                self.sweep();
                self.watched.notify_all();
            }
        }
    }

    /// Stops a run that another instance writes with a later lease, before its driver detects this by a refused
    /// write.
    fn note_change(&self, run: RunId, epoch: u64) {
        if let Some(live) = self.live(run).filter(|live| live.lease().epoch < epoch) {
            live.lose();
        }
        self.watched.notify(run);
    }

    /// Removes runs that have ended, are stored and were kept long enough, and copies that are out of date.
    pub(super) fn sweep(&self) {
        let is_disconnected = self.is_disconnected.load(Ordering::Relaxed);
        let keep = if is_disconnected { Duration::ZERO } else { self.keep_ended };
        let may_stay = |run: &LiveRun| {
            let ended_at = run.published.ended_at().filter(|_| run.published.is_stored());
            !run.signals.is_gone() && ended_at.is_none_or(|at| at.elapsed() < keep)
        };
        self.live.write().retain(|_, run| may_stay(run));
    }
}

/// Inserts a run, unless it is registered with a later lease.
fn put(live: &mut HashMap<RunId, Arc<LiveRun>>, run: &Arc<LiveRun>) -> bool {
    if live.get(&run.id()).is_some_and(|known| known.lease().epoch > run.lease().epoch) {
        return false;
    }
    live.insert(run.id(), Arc::clone(run));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    use crate::model::drive::InstanceId;
    use crate::model::start::NewRun;

    #[test]
    fn a_run_is_never_replaced_by_one_with_an_earlier_lease() {
        let new = NewRun::example();
        let run =
            |epoch| Arc::new(LiveRun::new(new.opening(1), InstanceId(Uuid::nil()).lease(epoch), Vec::new()));
        let mut live = HashMap::new();
        let (early, late) = (run(0), run(2));
        assert!(put(&mut live, &early) && put(&mut live, &late));
        assert!(!put(&mut live, &early) && !put(&mut live, &run(1)));
        assert!(Arc::ptr_eq(&live[&new.id], &late));
        // A run may come back after it was removed.
        live.clear();
        assert!(put(&mut live, &early));
    }
}
