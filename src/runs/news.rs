//! What the processes on one database tell each other: that there is something new, never what. The store
//! has the data; news that are lost only delay, for whoever waits for them looks every now and then.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::follow::Looks;
use crate::base::ids::RunId;

/// One piece of news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// Something of a run was stored.
    Changed {
        /// Which.
        run: RunId,
        /// The [epoch](super::journal::Lease::epoch) of whoever stored it.
        epoch: u64,
    },
    /// A run was deleted by its owner, or is being deleted with its account.
    Deleted(RunId),
    /// An instance let go of runs: they may be taken over.
    Released,
    /// A key was revoked, an account's plan changed, or it was deleted.
    Access,
    /// From now on all news are heard; what happened before may have been missed.
    Hearing,
    /// From now on nothing is heard.
    Deaf,
}

/// Who wants to hear.
pub trait Ear: Send + Sync {
    /// Takes one piece of news. It is called on the one thread that hears, and must not wait for anything.
    fn hear(&self, news: News);
}

/// Where readers of runs that are driven elsewhere wait for news.
#[derive(Debug, Default)]
pub(super) struct Board {
    watches: Mutex<HashMap<RunId, Weak<Watch>>>,
}

/// The news of one run, counted.
#[derive(Debug, Default)]
pub(super) struct Watch {
    count: Mutex<u64>,
    more: Condvar,
    /// Those of its readers at the store.
    pub(super) looks: Mutex<Looks>,
}

impl Board {
    /// The watch over a run; shared by all that hold one.
    pub(super) fn watch(&self, run: RunId) -> Arc<Watch> {
        let mut watches = self.watches.lock();
        if let Some(watch) = watches.get(&run).and_then(Weak::upgrade) {
            return watch;
        }
        let watch = Arc::new(Watch::default());
        watches.insert(run, Arc::downgrade(&watch));
        watch
    }

    /// There is news of this run.
    pub(super) fn tell(&self, run: RunId) {
        let watch = self.watches.lock().get(&run).and_then(Weak::upgrade);
        if let Some(watch) = watch {
            watch.tell();
        }
    }

    /// There may be news of every run.
    pub(super) fn tell_all(&self) {
        let watches: Vec<_> = self.watches.lock().values().filter_map(Weak::upgrade).collect();
        watches.iter().for_each(|watch| watch.tell());
    }

    /// Frees the memory of runs that nobody watches any more.
    pub(super) fn sweep(&self) {
        self.watches.lock().retain(|_, watch| watch.strong_count() > 0);
    }
}

impl Watch {
    /// So many news so far: to be asked before the store is.
    pub(super) fn count(&self) -> u64 {
        *self.count.lock()
    }

    /// Waits until there is more than that, or the moment has come.
    pub(super) fn wait_beyond(&self, seen: u64, until: Instant) {
        let mut count = self.count.lock();
        while *count == seen && !self.more.wait_until(&mut count, until).timed_out() {}
    }

    fn tell(&self) {
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
    fn news_between_two_looks_are_not_slept_through() {
        let (board, run) = (Board::default(), RunId::new());
        let watch = board.watch(run);
        let seen = watch.count();
        board.tell(run);
        let far = Instant::now() + Duration::from_secs(60);
        watch.wait_beyond(seen, far);
        assert!(Instant::now() < far);
    }

    #[test]
    fn all_watches_of_a_run_are_woken_and_those_of_others_are_not() {
        let (board, run) = (Board::default(), RunId::new());
        let (first, second, other) = (board.watch(run), board.watch(run), board.watch(RunId::new()));
        let far = Instant::now() + Duration::from_secs(60);
        thread::scope(|scope| {
            for watch in [&first, &second] {
                scope.spawn(move || watch.wait_beyond(0, far));
            }
            board.tell(run);
        });
        assert_eq!((first.count(), second.count(), other.count()), (1, 1, 0));
        board.tell_all();
        assert_eq!(other.count(), 1);
    }

    #[test]
    fn what_nobody_watches_any_more_is_forgotten() {
        let (board, run) = (Board::default(), RunId::new());
        let watch = board.watch(run);
        board.sweep();
        assert_eq!(board.watches.lock().len(), 1);
        drop(watch);
        board.sweep();
        assert!(board.watches.lock().is_empty());
    }
}
