//! Readers of runs that other instances drive, and the notifications that wake them.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::run::RunSummary;
use super::shared_read::{self, SharedRead, SharedReads};
use crate::base::ids::RunId;
use crate::base::storage::StorageError;

/// The watched runs, by id.
#[derive(Debug, Default)]
pub(super) struct Watches {
    watches: Mutex<HashMap<RunId, Weak<Watch>>>,
}

/// A counter of the notifications about one run, which wakes its readers.
#[derive(Debug, Default)]
pub(super) struct Watch {
    count: Mutex<u64>,
    more: Condvar,
    /// The reads of the store that its readers share.
    reads: Mutex<SharedReads>,
}

impl Watches {
    /// Returns the watch of a run, which all its holders share.
    pub(super) fn watch(&self, run: RunId) -> Arc<Watch> {
        let mut watches = self.watches.lock();
        if let Some(watch) = watches.get(&run).and_then(Weak::upgrade) {
            return watch;
        }
        let watch = Arc::new(Watch::default());
        watches.insert(run, Arc::downgrade(&watch));
        watch
    }

    /// Wakes the readers of a run that has changed.
    pub(super) fn notify(&self, run: RunId) {
        let watch = self.watches.lock().get(&run).and_then(Weak::upgrade);
        if let Some(watch) = watch {
            watch.notify();
        }
    }

    /// Wakes the readers of all runs, because each run may have changed.
    pub(super) fn notify_all(&self) {
        let watches: Vec<_> = self.watches.lock().values().filter_map(Weak::upgrade).collect();
        watches.iter().for_each(|watch| watch.notify());
    }

    /// Frees the memory of runs that have no readers any more.
    pub(super) fn sweep(&self) {
        self.watches.lock().retain(|_, watch| watch.strong_count() > 0);
    }
}

impl Watch {
    /// Reads the run from the store, or returns a read of another reader since then. The calling reader has received
    /// `notified` notifications and has seen the read number `seen`. Returns `None` if the run was removed.
    ///
    /// # Errors
    /// Returns an error if the store fails, or if the same read of another reader is not answered in time.
    pub(super) fn read(
        &self,
        notified: u64,
        seen: u64,
        now: Instant,
        ask: impl FnOnce() -> Result<Option<RunSummary>, StorageError>,
    ) -> Result<Option<Arc<SharedRead>>, StorageError> {
        let mut reads = self.reads.try_lock_for(shared_read::WAIT).ok_or_else(shared_read::no_answer)?;
        reads.read(|| self.count(), notified, seen, now, ask)
    }

    /// Returns the number of notifications so far. Read it before the store.
    pub(super) fn count(&self) -> u64 {
        *self.count.lock()
    }

    /// Waits until there are more than `seen` notifications, or the moment is reached.
    pub(super) fn wait_past(&self, seen: u64, until: Instant) {
        let mut count = self.count.lock();
        while *count == seen && !self.more.wait_until(&mut count, until).timed_out() {}
    }

    fn notify(&self) {
        *self.count.lock() += 1;
        self.more.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_notification_between_two_reads_is_not_missed() {
        let (watches, run) = (Watches::default(), RunId::new());
        let watch = watches.watch(run);
        let seen = watch.count();
        watches.notify(run);
        let far = Instant::now() + Duration::from_secs(60);
        watch.wait_past(seen, far);
        assert!(Instant::now() < far);
    }

    #[test]
    fn a_notification_wakes_all_readers_of_its_run_and_no_others() {
        let (watches, run) = (Watches::default(), RunId::new());
        let (first, second, other) = (watches.watch(run), watches.watch(run), watches.watch(RunId::new()));
        let far = Instant::now() + Duration::from_secs(60);
        thread::scope(|scope| {
            for watch in [&first, &second] {
                scope.spawn(move || watch.wait_past(0, far));
            }
            watches.notify(run);
        });
        assert_eq!((first.count(), second.count(), other.count()), (1, 1, 0));
        watches.notify_all();
        assert_eq!(other.count(), 1);
    }

    #[test]
    fn a_watch_without_readers_is_evicted() {
        let (watches, run) = (Watches::default(), RunId::new());
        let watch = watches.watch(run);
        watches.sweep();
        assert_eq!(watches.watches.lock().len(), 1);
        drop(watch);
        watches.sweep();
        assert!(watches.watches.lock().is_empty());
    }
}
