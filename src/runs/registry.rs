//! [`Registry`]: the runs that this process holds in memory, and what the readers of all runs wait for.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use log::{error, log};
use parking_lot::{Mutex, RwLock};

use super::context::RunContext;
use super::live::{LiveRun, Step, Stopped};
use super::waiting::Changes;
use crate::base::cache::{Bounds, Cache};
use crate::base::ids::RunId;
use crate::model::drive::{Notification, Position};
use crate::model::run::Status;

/// The interval at which the store is asked for changes of runs that have readers here and are driven elsewhere.
/// Notifications may be lost, and SQLite sends none.
pub(super) const POLL_EVERY: Duration = Duration::from_secs(1);

/// The bounds of the shared reads: their number, and the bytes of their frames.
const BOUNDS: Bounds = Bounds { entries: 1000, weight: 8 * 1024 * 1024 };

/// The reads of the store of the last second. Readers at the same position of a run that have seen the same change share one.
/// A slow read holds up nobody else.
type Reads = Cache<(RunId, Position, u32, u64), Read>;

/// The result of a read of the store.
#[derive(Clone)]
pub(super) enum Read {
    /// What was not read.
    Step(Arc<Step>),
    /// The run was deleted.
    Gone,
    /// The store does not answer.
    Failed,
}

/// The runs in memory, by id.
pub(super) struct Registry {
    pub(super) context: Arc<RunContext>,
    live: RwLock<HashMap<RunId, Arc<LiveRun>>>,
    /// What readers wait for, of the runs that are live or have readers here.
    changes: Mutex<HashMap<RunId, Weak<Changes>>>,
    /// What readers have read from the store.
    pub(super) reads: Reads,
    is_polling: AtomicBool,
    /// Whether there are other processes whose notifications are not received.
    is_disconnected: AtomicBool,
    keep_ended: Duration,
}

impl Registry {
    /// Creates a registry that keeps runs that have ended for `keep_ended`.
    pub(super) fn new(context: Arc<RunContext>, keep_ended: Duration) -> Self {
        let (live, changes, reads) = (RwLock::default(), Mutex::default(), Cache::new(BOUNDS));
        let (is_polling, is_disconnected) = Default::default();
        Self { context, live, changes, reads, is_polling, is_disconnected, keep_ended }
    }

    /// Returns what the readers of a run wait for, whether it is live here or not.
    pub(super) fn changes(&self, run: RunId) -> Arc<Changes> {
        let mut all = self.changes.lock();
        let known = all.get(&run).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let new = Arc::default();
            all.insert(run, Arc::downgrade(&new));
            new
        })
    }

    /// Wakes the readers of a run that has changed.
    fn notify_readers(&self, run: RunId) {
        let known = self.changes.lock().get(&run).and_then(Weak::upgrade);
        known.iter().for_each(|changes| changes.notify_all());
    }

    /// Wakes the readers of all runs, because each run may have changed.
    fn notify_all_readers(&self) {
        let all: Vec<Arc<Changes>> = self.changes.lock().values().filter_map(Weak::upgrade).collect();
        all.iter().for_each(|changes| changes.notify_all());
    }

    /// Lets a thread ask the store for changes from now on.
    pub(super) fn start_polling(self: &Arc<Self>) {
        if !self.is_polling.swap(true, Ordering::Relaxed) {
            let registry = Arc::downgrade(self);
            if let Err(error) = thread::Builder::new().name("poll".to_owned()).spawn(move || poll(&registry))
            {
                // The next reader tries again.
                error!("cannot start a thread for readers of runs: {error}");
                self.is_polling.store(false, Ordering::Relaxed);
            }
        }
    }

    /// Returns the runs that have readers here and are not live.
    fn watched(&self) -> Vec<(RunId, Arc<Changes>)> {
        let (live, mut all) = (self.live.read(), self.changes.lock());
        all.retain(|_, changes| changes.strong_count() > 0);
        let is_live = |run: &RunId| live.get(run).is_some_and(|run| !run.is_gone());
        let watched = all.iter().filter(|(run, _)| !is_live(run));
        watched.filter_map(|(run, changes)| Some((*run, changes.upgrade()?))).collect()
    }

    /// Registers a run. Returns `false` if the run is registered with a later lease. A run that is registered during
    /// the shutdown is stopped at once, as all others.
    pub(super) fn insert(&self, run: &Arc<LiveRun>) -> bool {
        if !put(&mut self.live.write(), run) {
            return false;
        }
        self.notify_readers(run.id());
        if self.context.drivers.is_shutting_down() {
            run.stop(Stopped::Shutdown);
        }
        true
    }

    /// Returns the run with that id if it is live in this process and this copy is not out of date.
    pub(super) fn live(&self, id: RunId) -> Option<Arc<LiveRun>> {
        self.live.read().get(&id).filter(|run| !run.is_gone()).map(Arc::clone)
    }

    /// Returns the runs that this process drives. If the store or this machine was suspended, their leases have
    /// expired. Their drivers renew them, unless another instance is faster.
    pub(super) fn driven(&self) -> Vec<Arc<LiveRun>> {
        let live = self.live.read();
        live.values().filter(|run| run.stopped().is_none() && run.ended_at().is_none()).cloned().collect()
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
        self.context.scheduler.answers().forget(run);
        self.notify_readers(run);
    }

    /// Lets the readers of a run read what is noted about it, if it is live in this process.
    pub(super) fn note_annotated(&self, run: RunId) {
        if let Some(live) = self.live(run) {
            live.note_annotated();
        }
    }

    /// Stops all runs, and wakes all readers.
    pub(super) fn stop_all(&self) {
        self.notify_all_readers();
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
                    live.request_save();
                }
            }
            Notification::Annotated(run) => self.note_annotated(run),
            Notification::Deleted(run) => self.note_deleted(run),
            Notification::Released => self.context.drivers.wake_maintenance(),
            Notification::Access => {}
            Notification::Connected => {
                // A run that ended, and was deleted without a notification, must not be kept longer.
                self.sweep();
                self.is_disconnected.store(false, Ordering::Relaxed);
                self.notify_all_readers();
                self.context.drivers.wake_maintenance();
            }
            Notification::Disconnected => {
                self.is_disconnected.store(true, Ordering::Relaxed);
                // From now on, nothing says whether notes are changed.
                self.live.read().values().for_each(|run| run.note_annotated());
                // Runs may be deleted without a notification, but the store has them.
                self.sweep();
                self.notify_all_readers();
            }
        }
    }

    /// Stops a run that another instance writes with a later lease, before its driver detects this by a refused
    /// write.
    fn note_change(&self, run: RunId, epoch: u64) {
        if let Some(live) = self.live(run).filter(|live| live.lease().epoch < epoch) {
            live.lose();
        }
        self.notify_readers(run);
    }

    /// Removes runs that have ended, are stored and were kept long enough, and copies that are out of date.
    pub(super) fn sweep(&self) {
        let is_disconnected = self.is_disconnected.load(Ordering::Relaxed);
        let keep = if is_disconnected { Duration::ZERO } else { self.keep_ended };
        let may_stay = |run: &LiveRun| {
            let ended_at = run.ended_at().filter(|_| run.is_stored());
            !run.is_gone() && ended_at.is_none_or(|at| at.elapsed() < keep)
        };
        self.live.write().retain(|_, run| may_stay(run));
        self.changes.lock().retain(|_, changes| changes.strong_count() > 0);
        self.reads.sweep(Instant::now());
    }
}

/// Wakes the readers of runs that have changed in the store, every second.
fn poll(registry: &Weak<Registry>) {
    type Known = HashMap<RunId, Option<(u64, Status)>>;
    let (mut known, mut is_away) = (Known::new(), false);
    loop {
        thread::sleep(POLL_EVERY);
        let Some(registry) = registry.upgrade() else { return };
        let watched = registry.watched();
        if watched.is_empty() {
            known.clear();
            continue;
        }
        match registry.context.store.revisions(watched.iter().map(|(run, _)| *run)) {
            Ok(found) => {
                let mut now: Known = watched.iter().map(|(run, _)| (*run, None)).collect();
                now.extend(found.into_iter().map(|(run, revision, status)| (run, Some((revision, status)))));
                // The first poll wakes the readers, because the run may have changed before it.
                let changed = watched.iter().filter(|(run, _)| known.get(run) != now.get(run));
                changed.for_each(|(_, changes)| changes.notify_all());
                (known, is_away) = (now, false);
            }
            Err(error) if !std::mem::replace(&mut is_away, true) => {
                log!(error.log_level(), "cannot look for changes of runs: {error}");
            }
            Err(_) => {}
        }
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
        let run = |epoch| {
            Arc::new(LiveRun::new(
                new.opening(1),
                InstanceId(Uuid::nil()).lease(epoch),
                Vec::new(),
                Arc::default(),
            ))
        };
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
