//! Serialized runs, kept so that polling costs neither a serializer nor a database round trip each time.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::base::ids::{AccountId, RunId};
use crate::http::{Compressed, etag_of};

/// All bodies together; their compressed forms, where they are asked for, add a sixth of it.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// How long a stored run is believed without asking the store: the longest that a run which another
/// instance deleted may still be read here.
const STORED_TTL: Duration = Duration::from_secs(2);

/// How long a snapshot of a live run is kept, at least: it is made again where somebody still polls. One of a run that
/// was deleted elsewhere meanwhile stays no longer.
const LIVE_KEPT: Duration = Duration::from_secs(60);

/// How long a deletion is remembered: longer than any request that was under way takes.
const REMEMBER_DELETED: Duration = Duration::from_secs(60);

/// A serialized run.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Owner.
    pub account: AccountId,
    /// The JSON text.
    pub body: Arc<[u8]>,
    /// Its compressed form: made for the first poll that takes it, sent to all.
    pub compressed: Compressed,
    /// Strong entity tag, with its quotes.
    pub etag: String,
    /// `Last-Modified` of a run that has ended.
    pub last_modified: Option<String>,
    freshness: Freshness,
    keep_until: Instant,
}

/// Until when a snapshot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// As long as the live run has this version.
    Version(u64),
    /// Until this moment.
    Until(Instant),
}

impl Snapshot {
    /// A snapshot of a live run at that version.
    pub fn live(account: AccountId, body: Vec<u8>, last_modified: Option<String>, version: u64) -> Self {
        Self::new(account, body, last_modified, Freshness::Version(version), LIVE_KEPT)
    }

    /// A snapshot of a run that has ended, from the store.
    pub fn stored(account: AccountId, body: Vec<u8>, last_modified: Option<String>) -> Self {
        let fresh = Freshness::Until(Instant::now() + STORED_TTL);
        Self::new(account, body, last_modified, fresh, STORED_TTL)
    }

    fn new(
        account: AccountId,
        body: Vec<u8>,
        last_modified: Option<String>,
        freshness: Freshness,
        kept: Duration,
    ) -> Self {
        Self {
            account,
            etag: etag_of(&body),
            body: body.into(),
            compressed: Compressed::default(),
            last_modified,
            freshness,
            keep_until: Instant::now() + kept,
        }
    }
}

/// The newest snapshot of each of the runs that were read lately.
#[derive(Debug, Default)]
pub struct Snapshots {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    by_run: HashMap<RunId, Snapshot>,
    order: VecDeque<RunId>,
    bytes: usize,
    /// Deleted lately: whoever read one of these before must not bring it back.
    deleted: HashMap<RunId, Instant>,
}

impl Snapshots {
    /// The snapshot of a live run, if it is of that version.
    pub fn at_version(&self, run: RunId, version: u64) -> Option<Snapshot> {
        let state = self.state.lock();
        state.by_run.get(&run).filter(|snapshot| snapshot.freshness == Freshness::Version(version)).cloned()
    }

    /// The snapshot of a stored run, if it is fresh.
    pub fn stored(&self, run: RunId) -> Option<Snapshot> {
        let state = self.state.lock();
        let now = Instant::now();
        state
            .by_run
            .get(&run)
            .filter(|snapshot| matches!(snapshot.freshness, Freshness::Until(end) if now < end))
            .cloned()
    }

    /// Keeps a snapshot; the oldest give way.
    pub fn keep(&self, run: RunId, snapshot: &Snapshot) {
        let mut state = self.state.lock();
        if state.deleted.contains_key(&run) {
            return;
        }
        state.bytes += snapshot.body.len();
        match state.by_run.insert(run, snapshot.clone()) {
            Some(old) => state.bytes -= old.body.len(),
            None => state.order.push_back(run),
        }
        while state.bytes > MAX_BYTES {
            let Some(oldest) = state.order.pop_front() else { return };
            if let Some(old) = state.by_run.remove(&oldest) {
                state.bytes -= old.body.len();
            }
        }
    }

    /// Drops what is over at that moment: results stay in memory no longer than they may be shown.
    pub fn sweep(&self, now: Instant) {
        let mut state = self.state.lock();
        let State { by_run, order, bytes, deleted } = &mut *state;
        by_run.retain(|_, snapshot| now < snapshot.keep_until);
        order.retain(|run| by_run.contains_key(run));
        *bytes = by_run.values().map(|snapshot| snapshot.body.len()).sum();
        deleted.retain(|_, at| now.saturating_duration_since(*at) < REMEMBER_DELETED);
    }

    /// Forgets a run that was deleted.
    pub fn forget(&self, run: RunId) {
        let mut state = self.state.lock();
        state.deleted.insert(run, Instant::now());
        if let Some(old) = state.by_run.remove(&run) {
            state.bytes -= old.body.len();
            state.order.retain(|known| *known != run);
        }
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
        assert!(snapshots.state.lock().bytes <= MAX_BYTES);
        assert!(snapshots.at_version(runs[0], 1).is_none());
        assert!(snapshots.at_version(runs[69], 1).is_some());
        assert!(snapshots.at_version(runs[69], 2).is_none(), "an older version is not shown");
        snapshots.forget(runs[69]);
        assert!(snapshots.at_version(runs[69], 1).is_none());
        snapshots.keep(runs[69], &Snapshot::live(account, vec![b'x'], None, 1));
        assert!(snapshots.at_version(runs[69], 1).is_none(), "a deleted run does not come back");
    }

    #[test]
    fn what_may_not_be_shown_any_more_leaves_memory() {
        let snapshots = Snapshots::default();
        let (account, start) = (AccountId::new(), Instant::now());
        let [live, stored, deleted] = [(); 3].map(|()| RunId::new());
        snapshots.keep(live, &Snapshot::live(account, vec![b'x'; 5], None, 1));
        snapshots.keep(stored, &Snapshot::stored(account, vec![b'x'; 7], None));
        snapshots.forget(deleted);
        let kept = || {
            let state = snapshots.state.lock();
            (state.bytes, state.by_run.len(), state.order.len(), state.deleted.len())
        };
        snapshots.sweep(start);
        assert_eq!(kept(), (12, 2, 2, 1));
        snapshots.sweep(start + LIVE_KEPT / 2);
        assert_eq!(kept(), (5, 1, 1, 1));
        assert!(snapshots.at_version(live, 1).is_some());
        snapshots.sweep(Instant::now() + LIVE_KEPT);
        assert_eq!(kept(), (0, 0, 0, 0));
    }

    #[test]
    fn the_same_body_has_the_same_tag() {
        let account = AccountId::new();
        let tag = |body: &str, version| Snapshot::live(account, body.into(), None, version).etag;
        assert_eq!(tag("a", 1), tag("a", 2));
        assert_ne!(tag("a", 1), tag("b", 1));
    }
}
