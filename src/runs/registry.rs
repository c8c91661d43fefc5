//! The runs that this process holds in memory, and what the readers of all runs wait for.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use log::{error, log};

use super::live::{LiveRun, Stopped};
use super::service::Runs;
use super::waiting::Changes;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::base::threads;
use crate::model::audit::Origin;
use crate::model::drive::{Notification, Subscriber};
use crate::model::run::Status;

/// The interval at which the store is asked for changes of runs that have readers here and are driven elsewhere. It is one
/// short statement for all of them.
pub(super) const POLL_EVERY: Duration = Duration::from_millis(250);

/// The revision and the status of each run as the store had them, or `None` for a run that is not stored.
type Known = HashMap<RunId, Option<(u64, Status)>>;

impl Runs {
    /// Returns what the readers of a run wait for, whether it is live here or not.
    pub(super) fn changes_of(&self, run: RunId) -> Arc<Changes> {
        let mut all = self.changes.lock();
        let known = all.get(&run).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let new = Arc::default();
            all.insert(run, Arc::downgrade(&new));
            new
        })
    }

    /// Wakes the readers of all runs, because each run may have changed.
    pub(super) fn notify_all_readers(&self) {
        let all: Vec<Arc<Changes>> = self.changes.lock().values().filter_map(Weak::upgrade).collect();
        all.iter().for_each(|changes| changes.notify_all());
    }

    /// Lets a thread ask the store for changes from now on.
    pub(super) fn start_polling(self: &Arc<Self>) {
        let runs = Arc::downgrade(self);
        if let Err(error) = thread::Builder::new().name("poll".to_owned()).spawn(move || poll(&runs)) {
            error!("cannot start a thread for readers of runs: {error}");
        }
    }

    /// Wakes the readers of the runs that have changed in the store since they were `known`. `is_away` says whether the last
    /// read of the store failed.
    fn notify_changed(&self, known: &mut Known, is_away: &mut bool) {
        // The runs that have readers here and are not live.
        let watched: Vec<(RunId, Arc<Changes>)> = {
            let (live, mut all) = (self.live.read(), self.changes.lock());
            all.retain(|_, changes| changes.strong_count() > 0);
            let is_live = |run: &RunId| live.get(run).is_some_and(|run| !run.is_gone());
            let watched = all.iter().filter(|(run, _)| !is_live(run));
            watched.filter_map(|(run, changes)| Some((*run, changes.upgrade()?))).collect()
        };
        if watched.is_empty() {
            known.clear();
            return;
        }
        match self.store.revisions(watched.iter().map(|(run, _)| *run)) {
            Ok(found) => {
                let mut now: Known = watched.iter().map(|(run, _)| (*run, None)).collect();
                now.extend(found.into_iter().map(|(run, revision, status)| (run, Some((revision, status)))));
                // The first poll wakes the readers, because the run may have changed before it.
                let changed = watched.iter().filter(|(run, _)| known.get(run) != now.get(run));
                changed.for_each(|(_, changes)| changes.notify_all());
                (*known, *is_away) = (now, false);
            }
            Err(error) if !std::mem::replace(is_away, true) => {
                log!(error.log_level(), "cannot look for changes of runs: {error}");
            }
            Err(_) => {}
        }
    }

    /// Registers a run. Returns `false` if the run is registered with a later lease. A run that is registered during
    /// the shutdown is stopped at once, as all others.
    pub(super) fn insert(&self, run: &Arc<LiveRun>) -> bool {
        if !put(&mut self.live.write(), run) {
            return false;
        }
        self.changes_of(run.id()).notify_all();
        if self.is_shutting_down() {
            run.stop(Stopped::Shutdown);
        }
        true
    }

    /// Returns the run with that id if it is live in this process and this copy is not out of date.
    pub fn live(&self, id: RunId) -> Option<Arc<LiveRun>> {
        self.live.read().get(&id).filter(|run| !run.is_gone()).map(Arc::clone)
    }

    /// Returns the runs that this process drives. If the store or this machine was suspended, their leases have
    /// expired. Their drivers renew them, unless another instance is faster.
    pub(super) fn driven(&self) -> Vec<Arc<LiveRun>> {
        let live = self.live.read();
        live.values().filter(|run| run.stopped().is_none() && !run.has_ended()).cloned().collect()
    }

    /// Deletes a run, and with its family all runs that its leads and theirs have started. Stops them first if they are
    /// running. Returns `false` if the run is unknown, already deleted or of another account.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn delete(
        &self,
        id: RunId,
        account: AccountId,
        with_family: bool,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        let deleted = self.store.delete(id, account, with_family, by)?;
        deleted.iter().for_each(|run| self.note_deleted(*run));
        Ok(!deleted.is_empty())
    }

    /// Stops a run that was deleted, if it is live in this process, and notifies its readers.
    pub(super) fn note_deleted(&self, run: RunId) {
        let live = self.live.write().remove(&run);
        if let Some(live) = live {
            live.stop(Stopped::Deleted);
        }
        self.scheduler.answers.forget(run);
        self.changes_of(run).notify_all();
    }

    /// Removes from memory what no longer matters: runs that have ended and are stored, copies that are out of date, and the
    /// pauses and limits of hosts.
    pub fn sweep(&self) {
        self.live.write().retain(|_, run| !run.is_gone() && !run.is_stored());
        self.changes.lock().retain(|_, changes| changes.strong_count() > 0);
        self.reads.sweep(Instant::now());
        self.scheduler.sweep(Instant::now());
    }
}

impl Subscriber for Runs {
    fn notify(&self, notification: Notification) {
        match notification {
            Notification::TakenOver { run, epoch } => {
                // Its driver here would detect the later lease only by a refused write.
                if let Some(live) = self.live(run).filter(|live| live.opening.lease.epoch < epoch) {
                    live.lose();
                }
                self.changes_of(run).notify_all();
            }
            Notification::Stopped(run) => {
                if let Some(live) = self.live(run) {
                    live.wake_driver();
                }
            }
            Notification::Deleted(run) => self.note_deleted(run),
            Notification::Released => self.wake_if_free(),
            Notification::Access => {}
            Notification::Connected => {
                self.notify_all_readers();
                self.wake();
            }
            Notification::Disconnected => self.notify_all_readers(),
        }
    }
}

/// Wakes the readers of runs that have changed in the store, at intervals.
fn poll(runs: &Weak<Runs>) {
    let (mut known, mut is_away) = (Known::new(), false);
    loop {
        thread::sleep(POLL_EVERY);
        let Some(runs) = runs.upgrade() else { return };
        threads::guard("a look for changes of runs", || runs.notify_changed(&mut known, &mut is_away));
    }
}

/// Inserts a run, unless it is registered with a later lease.
fn put(live: &mut HashMap<RunId, Arc<LiveRun>>, run: &Arc<LiveRun>) -> bool {
    if live.get(&run.id()).is_some_and(|known| known.opening.lease.epoch > run.opening.lease.epoch) {
        return false;
    }
    live.insert(run.id(), Arc::clone(run));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    use crate::model::drive::{InstanceId, Resumable};
    use crate::model::start::NewRun;

    #[test]
    fn a_run_is_never_replaced_by_one_with_an_earlier_lease() {
        let new = NewRun::example();
        let run = |epoch| {
            let lease = InstanceId(Uuid::nil()).lease(epoch);
            Arc::new(LiveRun::resume(Resumable::new(new.opening(), lease, Vec::new()), Arc::default()))
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
