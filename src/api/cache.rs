//! A cache of serialized runs, so that polling needs neither serialization nor a database query each time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::base::cache::{Bounds, Cache, Computed};
use crate::base::ids::{AccountId, RunId};
use crate::http::{Compressed, etag_of};

/// The most bytes of all bodies together. Compressed forms, if clients ask for them, add about a sixth.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// The most snapshots.
const MAX_ENTRIES: usize = 100_000;
/// The time for which a stored run is returned without asking the store. A run that another instance deleted can be
/// read here for at most this time.
const STORED_TTL: Duration = Duration::from_secs(2);

/// The time for which the snapshot of a live run is kept. It is made again if a client still polls. The snapshot of a run that another instance deleted is kept no longer either.
const LIVE_TTL: Duration = Duration::from_secs(60);

/// The time for which a deletion is remembered: longer than any running request takes.
const DELETED_TTL: Duration = Duration::from_secs(60);

/// A serialized run.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The owner of the run.
    pub account: AccountId,
    /// The JSON text.
    pub body: Arc<[u8]>,
    /// The compressed form. It is made for the first client that accepts it, and shared by all.
    pub compressed: Compressed,
    /// The strong entity tag with its quotes.
    pub etag: String,
    /// The value of `Last-Modified`, for a run that has ended.
    pub last_modified: Option<String>,
    /// The version of a live run, or `None` for a stored run.
    version: Option<u64>,
}

impl Snapshot {
    /// Returns a snapshot of a live run at this version.
    pub fn live(account: AccountId, body: Vec<u8>, last_modified: Option<String>, version: u64) -> Self {
        Self { version: Some(version), ..Self::stored(account, body, last_modified) }
    }

    /// Returns a snapshot of an ended run from the store.
    pub fn stored(account: AccountId, body: Vec<u8>, last_modified: Option<String>) -> Self {
        Self {
            account,
            etag: etag_of(&body),
            body: body.into(),
            compressed: Compressed::default(),
            last_modified,
            version: None,
        }
    }
}

/// The newest snapshots of recently read runs.
#[derive(Debug)]
pub struct Snapshots {
    cache: Cache<RunId, Snapshot>,
    /// Recently deleted runs. A request that read one of them before must not store it again.
    deleted: Mutex<HashMap<RunId, Instant>>,
}

impl Default for Snapshots {
    fn default() -> Self {
        let cache = Cache::new(Bounds { entries: MAX_ENTRIES, weight: MAX_BYTES });
        Self { cache, deleted: Mutex::default() }
    }
}

impl Snapshots {
    /// Returns the snapshot of a live run if it has this version.
    pub fn at_version(&self, run: RunId, version: u64) -> Option<Snapshot> {
        self.cache.get(&run).filter(|snapshot| snapshot.version == Some(version))
    }

    /// Returns the snapshot of a stored run if it is fresh.
    pub fn stored(&self, run: RunId) -> Option<Snapshot> {
        self.cache.get(&run).filter(|snapshot| snapshot.version.is_none())
    }

    /// Stores a snapshot. The least recently used ones are evicted if there are too many.
    pub fn keep(&self, run: RunId, snapshot: &Snapshot) {
        // The lock is held until the snapshot is stored, so that a deletion removes it.
        let deleted = self.deleted.lock();
        if deleted.contains_key(&run) {
            return;
        }
        let ttl = if snapshot.version.is_some() { LIVE_TTL } else { STORED_TTL };
        self.cache.insert(&run, Computed { value: snapshot.clone(), ttl, weight: snapshot.body.len() });
    }

    /// Removes the snapshots that have expired at `now`, so that no result stays in memory longer than it may
    /// be shown.
    pub fn sweep(&self, now: Instant) {
        self.cache.sweep(now);
        self.deleted.lock().retain(|_, at| now.saturating_duration_since(*at) < DELETED_TTL);
    }

    /// Removes the snapshot of a run that has changed.
    pub fn renew(&self, run: RunId) {
        self.cache.remove(&run);
    }

    /// Removes a run that was deleted.
    pub fn forget(&self, run: RunId) {
        let mut deleted = self.deleted.lock();
        deleted.insert(run, Instant::now());
        self.cache.remove(&run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_stays_bounded_and_the_newest_stay() {
        let snapshots = Snapshots::default();
        let account = AccountId::new();
        let runs: Vec<RunId> = (0..70).map(|_| RunId::new()).collect();
        for run in &runs {
            snapshots.keep(*run, &Snapshot::live(account, vec![b'x'; 1024 * 1024], None, 1));
        }
        assert!(snapshots.cache.size().1 <= MAX_BYTES);
        assert!(snapshots.at_version(runs[0], 1).is_none());
        assert!(snapshots.at_version(runs[69], 1).is_some());
        assert!(snapshots.at_version(runs[69], 2).is_none(), "an older version is not shown");
        snapshots.forget(runs[69]);
        assert!(snapshots.at_version(runs[69], 1).is_none());
        snapshots.keep(runs[69], &Snapshot::live(account, vec![b'x'], None, 1));
        assert!(snapshots.at_version(runs[69], 1).is_none(), "a deleted run does not come back");
    }

    #[test]
    fn expired_snapshots_leave_memory() {
        let snapshots = Snapshots::default();
        let (account, start) = (AccountId::new(), Instant::now());
        let [live, stored, deleted] = [(); 3].map(|()| RunId::new());
        snapshots.keep(live, &Snapshot::live(account, vec![b'x'; 5], None, 1));
        snapshots.keep(stored, &Snapshot::stored(account, vec![b'x'; 7], None));
        snapshots.forget(deleted);
        let kept = || (snapshots.cache.size(), snapshots.deleted.lock().len());
        snapshots.sweep(start);
        assert_eq!(kept(), ((2, 12), 1));
        snapshots.sweep(start + LIVE_TTL / 2);
        assert_eq!(kept(), ((1, 5), 1));
        assert!(snapshots.at_version(live, 1).is_some());
        snapshots.sweep(Instant::now() + LIVE_TTL);
        assert_eq!(kept(), ((0, 0), 0));
    }

    #[test]
    fn the_same_body_has_the_same_tag() {
        let account = AccountId::new();
        let tag = |body: &str, version| Snapshot::live(account, body.into(), None, version).etag;
        assert_eq!(tag("a", 1), tag("a", 2));
        assert_ne!(tag("a", 1), tag("b", 1));
    }
}
