//! Readers of runs that other instances drive, and the notifications that wake them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::shared_read::{self, SharedRead, SharedReads};
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::run::RunSummary;

/// The interval at which the store is polled for changes of a run that another instance drives, while no
/// notifications are received.
const POLL_EVERY: Duration = Duration::from_millis(500);
/// The interval at which the store is polled while notifications are received. A notification may be lost, and
/// instances of an earlier version send none.
const POLL_WHEN_CONNECTED: Duration = Duration::from_secs(3);

/// The state of the subscription to notifications.
#[derive(Debug)]
pub(super) struct Subscription(AtomicU8);

impl Default for Subscription {
    fn default() -> Self {
        Self(AtomicU8::new(Self::NONE))
    }
}

impl Subscription {
    /// No notifications are expected, because this seems to be the only process on the store.
    const NONE: u8 = 0;
    pub(super) const CONNECTED: u8 = 1;
    pub(super) const DISCONNECTED: u8 = 2;

    pub(super) fn set(&self, to: u8) {
        self.0.store(to, Ordering::Relaxed);
    }

    /// Returns whether there are other processes whose notifications are not received.
    pub(super) fn is_disconnected(&self) -> bool {
        self.0.load(Ordering::Relaxed) == Self::DISCONNECTED
    }

    fn poll_every(&self) -> Duration {
        if self.0.load(Ordering::Relaxed) == Self::CONNECTED { POLL_WHEN_CONNECTED } else { POLL_EVERY }
    }
}

/// The runs of other instances that have readers here, by id.
#[derive(Debug, Default)]
pub(super) struct RemoteRuns {
    runs: Mutex<HashMap<RunId, Weak<RemoteRun>>>,
    /// The subscription to the notifications of other instances.
    pub(super) subscription: Subscription,
}

/// A run that another instance drives: a counter of the notifications about it, which wakes its readers.
#[derive(Debug, Default)]
pub(super) struct RemoteRun {
    count: Mutex<u64>,
    more: Condvar,
    /// The reads of the store that its readers share.
    reads: Mutex<SharedReads>,
}

impl RemoteRuns {
    /// Returns the entry of a run, which all its readers share.
    pub(super) fn get(&self, run: RunId) -> Arc<RemoteRun> {
        let mut runs = self.runs.lock();
        if let Some(known) = runs.get(&run).and_then(Weak::upgrade) {
            return known;
        }
        let new = Arc::new(RemoteRun::default());
        runs.insert(run, Arc::downgrade(&new));
        new
    }

    /// Wakes the readers of a run that has changed.
    pub(super) fn notify(&self, run: RunId) {
        let known = self.runs.lock().get(&run).and_then(Weak::upgrade);
        if let Some(known) = known {
            known.notify();
        }
    }

    /// Wakes the readers of all runs, because each run may have changed.
    pub(super) fn notify_all(&self) {
        let runs: Vec<_> = self.runs.lock().values().filter_map(Weak::upgrade).collect();
        runs.iter().for_each(|run| run.notify());
    }

    /// Waits until there are more notifications of a run than `seen`, but until the given moment or the next poll at
    /// most. The beginning of the shutdown wakes all waiting threads.
    pub(super) fn wait(&self, run: &RemoteRun, seen: u64, until: Instant) {
        run.wait_past(seen, until.min(Instant::now() + self.subscription.poll_every()));
    }

    /// Frees the memory of runs that have no readers any more.
    pub(super) fn sweep(&self) {
        self.runs.lock().retain(|_, run| run.strong_count() > 0);
    }
}

impl RemoteRun {
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
    fn wait_past(&self, seen: u64, until: Instant) {
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

    use super::*;

    #[test]
    fn a_notification_between_two_reads_is_not_missed() {
        let (runs, id) = (RemoteRuns::default(), RunId::new());
        let run = runs.get(id);
        let seen = run.count();
        runs.notify(id);
        let far = Instant::now() + Duration::from_secs(60);
        run.wait_past(seen, far);
        assert!(Instant::now() < far);
    }

    #[test]
    fn a_notification_wakes_all_readers_of_its_run_and_no_others() {
        let (runs, id) = (RemoteRuns::default(), RunId::new());
        let (first, second, other) = (runs.get(id), runs.get(id), runs.get(RunId::new()));
        let far = Instant::now() + Duration::from_secs(60);
        thread::scope(|scope| {
            for run in [&first, &second] {
                scope.spawn(move || run.wait_past(0, far));
            }
            runs.notify(id);
        });
        assert_eq!((first.count(), second.count(), other.count()), (1, 1, 0));
        runs.notify_all();
        assert_eq!(other.count(), 1);
    }

    #[test]
    fn a_run_without_readers_is_evicted() {
        let (runs, id) = (RemoteRuns::default(), RunId::new());
        let run = runs.get(id);
        runs.sweep();
        assert_eq!(runs.runs.lock().len(), 1);
        drop(run);
        runs.sweep();
        assert!(runs.runs.lock().is_empty());
    }
}
