//! Reads of the store that are shared by all readers of a run that another instance drives. A notification wakes all
//! of them at once, and all of them need the same data.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::base::storage::StorageError;
use crate::model::drive::Changes;
use crate::model::run::{ModuleReport, ResultRecord, RunSummary};
use crate::store::Store;

/// The maximum number of results that are read from the store at once.
pub(super) const PAGE: usize = 500;
/// The time for which a read is shared with readers that have received no further notification. It is shorter than
/// any wait for a lost notification.
const MAX_AGE: Duration = Duration::from_millis(50);
/// The time for which a reader waits while another one reads the store. It equals the time for which it would wait
/// for a connection.
pub(super) const WAIT: Duration = Duration::from_secs(5);

/// The state of a run in the store at one moment, and the pages of it that were read since.
#[derive(Debug)]
pub(super) struct SharedRead {
    /// The summary at the moment of the read.
    pub(super) summary: RunSummary,
    /// The number of the read, counted from 1 for each run.
    pub(super) number: u64,
    /// The number of notifications before the read.
    count: u64,
    at: Instant,
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    changes: HashMap<Changes, Arc<[ResultRecord]>>,
    modules: Option<Arc<[ModuleReport]>>,
}

impl SharedRead {
    /// Creates a read that is not shared.
    pub(super) fn new(summary: RunSummary) -> Self {
        Self { summary, number: 0, count: 0, at: Instant::now(), pages: Mutex::default() }
    }

    /// Returns a page of results that were added or changed.
    pub(super) fn changes(
        &self,
        store: &Store,
        changes: Changes,
    ) -> Result<Arc<[ResultRecord]>, StorageError> {
        let mut read = self.pages.try_lock_for(WAIT).ok_or_else(no_answer)?;
        if let Some(page) = read.changes.get(&changes) {
            return Ok(Arc::clone(page));
        }
        let page: Arc<[ResultRecord]> = store.changes(self.summary.id, changes, PAGE)?.into();
        read.changes.insert(changes, Arc::clone(&page));
        Ok(page)
    }

    /// Returns the reports of the modules that had ended, and possibly of modules that ended later.
    pub(super) fn modules(&self, store: &Store) -> Result<Arc<[ModuleReport]>, StorageError> {
        let mut read = self.pages.try_lock_for(WAIT).ok_or_else(no_answer)?;
        if let Some(modules) = &read.modules {
            return Ok(Arc::clone(modules));
        }
        let modules: Arc<[ModuleReport]> = store.modules(self.summary.id)?.into();
        read.modules = Some(Arc::clone(&modules));
        Ok(modules)
    }
}

/// The reads of one run.
#[derive(Debug, Default)]
pub(super) struct SharedReads {
    made: u64,
    last: Option<Arc<SharedRead>>,
}

impl SharedReads {
    /// Returns a read for a reader that has received `notified` notifications and has seen the read number `seen`.
    /// The read is from just before `now` and after those notifications. `count` returns the current number of
    /// notifications. Returns `None` if the run was removed.
    pub(super) fn read(
        &mut self,
        count: impl FnOnce() -> u64,
        notified: u64,
        seen: u64,
        now: Instant,
        ask: impl FnOnce() -> Result<Option<RunSummary>, StorageError>,
    ) -> Result<Option<Arc<SharedRead>>, StorageError> {
        let is_fresh = |read: &&Arc<SharedRead>| {
            read.number > seen && read.count >= notified && now.saturating_duration_since(read.at) < MAX_AGE
        };
        if let Some(read) = self.last.as_ref().filter(is_fresh) {
            return Ok(Some(Arc::clone(read)));
        }
        // The notifications are counted before the store is read, because its answer may not contain the changes of
        // later notifications.
        let count = count();
        self.last = None;
        self.made += 1;
        let number = self.made;
        self.last = ask()?
            .map(|summary| Arc::new(SharedRead { summary, number, count, at: now, pages: Mutex::default() }));
        Ok(self.last.clone())
    }
}

/// Creates the error for a reader that waited too long for the read of another reader.
pub(super) fn no_answer() -> StorageError {
    StorageError::unavailable("timed out waiting for the same read of another request")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::start::NewRun;
    use crate::runs::remote_run::RemoteRuns;

    fn summary() -> RunSummary {
        NewRun::example().opening(1)
    }

    fn away() -> Result<Option<RunSummary>, StorageError> {
        Err(StorageError::unavailable("away"))
    }

    #[test]
    fn readers_share_a_read_until_one_has_received_a_further_notification() {
        let (runs, run, now) = (RemoteRuns::default(), summary(), Instant::now());
        let remote = runs.get(run.id);
        let ask = || Ok(Some(run.clone()));
        let first = remote.read(0, 0, now, ask).unwrap().unwrap();
        let same = |read: &Arc<SharedRead>| Arc::ptr_eq(read, &first);
        let unasked = || panic!("the store is asked again");
        assert!(same(&remote.read(0, 0, now, unasked).unwrap().unwrap()));
        assert!(same(&remote.read(0, 0, now + MAX_AGE / 2, unasked).unwrap().unwrap()));
        // There is a notification, which only one of the readers has received yet.
        runs.notify(run.id);
        assert!(same(&remote.read(0, 0, now, unasked).unwrap().unwrap()));
        let second = remote.read(1, first.number, now, ask).unwrap().unwrap();
        assert!(!same(&second));
        // Readers that have seen the first read, and new readers, get the second one.
        for seen in [0, first.number] {
            assert!(Arc::ptr_eq(&remote.read(0, seen, now, unasked).unwrap().unwrap(), &second));
        }
        // Readers read again without a notification, because one may be lost.
        let later = remote.read(1, 0, now + MAX_AGE, ask).unwrap().unwrap();
        assert!(!Arc::ptr_eq(&later, &second));
    }

    #[test]
    fn a_reader_never_gets_the_same_read_twice() {
        let (runs, run, now) = (RemoteRuns::default(), summary(), Instant::now());
        let remote = runs.get(run.id);
        let ask = || Ok(Some(run.clone()));
        let first = remote.read(0, 0, now, ask).unwrap().unwrap();
        let second = remote.read(0, first.number, now, ask).unwrap().unwrap();
        assert!(second.number > first.number);
    }

    #[test]
    fn a_failed_read_and_one_of_a_deleted_run_are_not_shared() {
        let (runs, run, now) = (RemoteRuns::default(), summary(), Instant::now());
        let remote = runs.get(run.id);
        let ask = || Ok(Some(run.clone()));
        remote.read(0, 0, now, ask).unwrap().unwrap();
        runs.notify(run.id);
        assert!(remote.read(1, 0, now, away).is_err());
        assert!(remote.read(0, 0, now, || Ok(None)).unwrap().is_none());
        assert!(remote.read(0, 0, now, ask).unwrap().is_some());
    }
}
