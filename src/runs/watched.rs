//! [`WatchedRuns`]: the runs that this process does not drive and that have readers here. A notification, or one poll of all
//! of them, wakes the readers of a run that has changed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use log::{error, log};
use parking_lot::{Condvar, Mutex};

use super::live::Step;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::drive::Position;
use crate::model::run::Status;
use crate::store::Store;

/// The interval of the poll. Notifications may be lost, and SQLite sends none.
pub(super) const POLL_EVERY: Duration = Duration::from_secs(1);
/// The time for which a reader waits while another one reads the store. It equals the time for which it would wait
/// for a connection.
const WAIT: Duration = Duration::from_secs(5);

/// The runs that have readers here and are driven elsewhere, wait for a driver, or have ended.
#[derive(Default)]
pub(super) struct WatchedRuns {
    runs: Mutex<HashMap<RunId, Weak<WatchedRun>>>,
    /// Whether the thread of the poll runs.
    is_polling: AtomicBool,
}

/// A run that this process does not drive: a counter of its changes, which wakes its readers.
#[derive(Default)]
pub(super) struct WatchedRun {
    changes: Mutex<Seen>,
    changed: Condvar,
    /// The last read of the store, which readers at the same position share.
    read: Mutex<Option<Read>>,
}

#[derive(Default)]
struct Seen {
    count: u64,
    /// What the last poll has found. The first one wakes the readers, because the run may have changed before it.
    polled: Option<Option<(u64, Status)>>,
}

/// What a reader was at, and what it has read.
struct Read {
    count: u64,
    at: (Position, u32),
    step: Arc<Step>,
}

impl WatchedRuns {
    /// Returns the entry of a run, which all its readers share, and keeps polling the store while there are readers.
    pub(super) fn get(self: &Arc<Self>, store: &Arc<Store>, run: RunId) -> Arc<WatchedRun> {
        let mut runs = self.runs.lock();
        let entry = runs.get(&run).and_then(Weak::upgrade).unwrap_or_else(|| {
            let new = Arc::<WatchedRun>::default();
            runs.insert(run, Arc::downgrade(&new));
            new
        });
        drop(runs);
        if !self.is_polling.swap(true, Ordering::AcqRel) {
            let (watched, store) = (Arc::clone(self), Arc::downgrade(store));
            let poll = thread::Builder::new().name("poll".to_owned()).spawn(move || watched.poll(&store));
            if let Err(error) = poll {
                // The next reader tries again.
                error!("cannot start a thread for readers of runs: {error}");
                self.is_polling.store(false, Ordering::Release);
            }
        }
        entry
    }

    /// Wakes the readers of a run that has changed.
    pub(super) fn notify(&self, run: RunId) {
        let known = self.runs.lock().get(&run).and_then(Weak::upgrade);
        if let Some(known) = known {
            known.notify(|_| true);
        }
    }

    /// Wakes the readers of all runs, because each run may have changed.
    pub(super) fn notify_all(&self) {
        self.all().iter().for_each(|(_, run)| run.notify(|_| true));
    }

    fn all(&self) -> Vec<(RunId, Arc<WatchedRun>)> {
        let runs = self.runs.lock();
        runs.iter().filter_map(|(id, run)| Some((*id, run.upgrade()?))).collect()
    }

    /// Wakes the readers of runs that have changed, until there are no more readers.
    fn poll(&self, store: &Weak<Store>) {
        let mut is_away = false;
        loop {
            thread::sleep(POLL_EVERY);
            let watched = self.all();
            let Some(store) = store.upgrade().filter(|_| !watched.is_empty()) else {
                let mut runs = self.runs.lock();
                runs.retain(|_, run| run.strong_count() > 0);
                if runs.is_empty() {
                    // A reader that comes later takes the lock after this.
                    self.is_polling.store(false, Ordering::Release);
                    return;
                }
                continue;
            };
            match store.revisions(watched.iter().map(|(id, _)| *id)) {
                Ok(found) => {
                    let found: HashMap<RunId, (u64, Status)> =
                        found.into_iter().map(|(id, revision, status)| (id, (revision, status))).collect();
                    for (id, run) in watched {
                        let now = Some(found.get(&id).copied());
                        run.notify(|polled| std::mem::replace(polled, now) != now);
                    }
                    is_away = false;
                }
                Err(error) if !std::mem::replace(&mut is_away, true) => {
                    log!(error.log_level(), "cannot look for changes of runs: {error}");
                }
                Err(_) => {}
            }
            self.runs.lock().retain(|_, run| run.strong_count() > 0);
        }
    }
}

impl WatchedRun {
    /// Returns the number of changes so far. Read it before the run.
    pub(super) fn count(&self) -> u64 {
        self.changes.lock().count
    }

    /// Waits until there are more than `seen` changes, or the moment is reached.
    pub(super) fn wait(&self, seen: u64, until: Instant) {
        let mut changes = self.changes.lock();
        while changes.count == seen && !self.changed.wait_until(&mut changes, until).timed_out() {}
    }

    fn notify(&self, has_changed: impl FnOnce(&mut Option<Option<(u64, Status)>>) -> bool) {
        let mut changes = self.changes.lock();
        if has_changed(&mut changes.polled) {
            changes.count += 1;
            self.changed.notify_all();
        }
    }

    /// Reads what a reader that has counted `seen` changes has not read, or returns the same read of another reader since
    /// then. Returns `None` if the run was removed.
    ///
    /// # Errors
    /// Returns an error if the store fails, or if the read of another reader is not answered in time.
    pub(super) fn read(
        &self,
        at: (Position, u32),
        seen: u64,
        ask: impl FnOnce() -> Result<Option<Step>, StorageError>,
    ) -> Result<Option<Arc<Step>>, StorageError> {
        let no_answer =
            || StorageError::unavailable("timed out waiting for the same read of another request");
        let mut read = self.read.try_lock_for(WAIT).ok_or_else(no_answer)?;
        if let Some(known) = read.as_ref().filter(|known| known.at == at && known.count >= seen) {
            return Ok(Some(Arc::clone(&known.step)));
        }
        // Changes are counted before the store is read, because its answer may not contain later ones.
        let count = self.count();
        let Some(step) = ask()?.map(Arc::new) else { return Ok(None) };
        *read = Some(Read { count, at, step: Arc::clone(&step) });
        Ok(Some(step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step() -> Result<Option<Step>, StorageError> {
        Ok(Some(Step { frames: Vec::new(), end: Position::default(), is_last: false }))
    }

    #[test]
    fn a_change_between_two_reads_is_not_missed() {
        let run = WatchedRun::default();
        let seen = run.count();
        run.notify(|_| true);
        let far = Instant::now() + Duration::from_secs(60);
        run.wait(seen, far);
        assert!(Instant::now() < far);
    }

    #[test]
    fn readers_at_the_same_position_share_a_read_until_one_knows_of_a_change() {
        let (run, start, unasked) =
            (WatchedRun::default(), (Position::default(), 0), || panic!("asked again"));
        let first = run.read(start, 0, step).unwrap().unwrap();
        let same = |read: &Arc<Step>| Arc::ptr_eq(read, &first);
        assert!(same(&run.read(start, 0, unasked).unwrap().unwrap()));
        run.notify(|_| true);
        assert!(same(&run.read(start, 0, unasked).unwrap().unwrap()), "this reader does not know of it yet");
        let second = run.read(start, 1, step).unwrap().unwrap();
        assert!(!same(&second));
        assert!(Arc::ptr_eq(&run.read(start, 0, unasked).unwrap().unwrap(), &second));
        assert!(!Arc::ptr_eq(&run.read((Position::END, 0), 1, step).unwrap().unwrap(), &second));
        assert!(run.read(start, 1, || Err(StorageError::unavailable("away"))).is_err());
        assert!(run.read(start, 1, || Ok(None)).unwrap().is_none());
    }
}
