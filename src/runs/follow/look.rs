//! One look at the store for all readers of a run that is driven elsewhere: news wake all of them at once, and what
//! they ask is the same.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::stored::PAGE;
use crate::base::storage::StorageError;
use crate::runs::journal::{Changes, Journal};
use crate::runs::news::Watch;
use crate::runs::run::{ModuleReport, ResultRecord, RunSummary};

/// How long a look is good for readers that have heard nothing since: less than anyone waits for news that got lost.
const GOOD_FOR: Duration = Duration::from_millis(50);
/// How long a reader waits while another one asks the store: as long as it would for a connection to ask by itself.
const WAIT: Duration = Duration::from_secs(5);

/// What the store said of a run at one moment, and what has been read of it since.
#[derive(Debug)]
pub(in crate::runs) struct Look {
    /// As it was.
    pub(super) summary: RunSummary,
    /// Looks of the same watch are numbered from 1.
    pub(super) number: u64,
    /// So many news had been heard before.
    count: u64,
    at: Instant,
    read: Mutex<Read>,
}

#[derive(Debug, Default)]
struct Read {
    pages: HashMap<Changes, Arc<[ResultRecord]>>,
    modules: Option<Arc<[ModuleReport]>>,
}

impl Look {
    /// One that nobody else sees.
    pub(super) fn new(summary: RunSummary) -> Self {
        Self { summary, number: 0, count: 0, at: Instant::now(), read: Mutex::default() }
    }

    /// A page of results that were added or changed.
    pub(super) fn changes(
        &self,
        journal: &dyn Journal,
        changes: Changes,
    ) -> Result<Arc<[ResultRecord]>, StorageError> {
        let mut read = self.read.try_lock_for(WAIT).ok_or_else(no_answer)?;
        if let Some(page) = read.pages.get(&changes) {
            return Ok(Arc::clone(page));
        }
        let page: Arc<[ResultRecord]> = journal.changes(self.summary.id, changes, PAGE)?.into();
        read.pages.insert(changes, Arc::clone(&page));
        Ok(page)
    }

    /// The modules that had ended; some more may have.
    pub(super) fn modules(&self, journal: &dyn Journal) -> Result<Arc<[ModuleReport]>, StorageError> {
        let mut read = self.read.try_lock_for(WAIT).ok_or_else(no_answer)?;
        if let Some(modules) = &read.modules {
            return Ok(Arc::clone(modules));
        }
        let modules: Arc<[ModuleReport]> = journal.modules(self.summary.id)?.into();
        read.modules = Some(Arc::clone(&modules));
        Ok(modules)
    }
}

/// The looks of one watch.
#[derive(Debug, Default)]
pub(in crate::runs) struct Looks {
    made: u64,
    last: Option<Arc<Look>>,
}

impl Watch {
    /// Looks at the store for a reader that has heard so many news and has `seen` the look of that number, or gives what
    /// another reader saw since, just before `now` and after those news. `None`: the run is gone.
    pub(super) fn look(
        &self,
        heard: u64,
        seen: u64,
        now: Instant,
        ask: impl FnOnce() -> Result<Option<RunSummary>, StorageError>,
    ) -> Result<Option<Arc<Look>>, StorageError> {
        let mut looks = self.looks.try_lock_for(WAIT).ok_or_else(no_answer)?;
        let is_good = |look: &&Arc<Look>| {
            look.number > seen && look.count >= heard && now.saturating_duration_since(look.at) < GOOD_FOR
        };
        if let Some(look) = looks.last.as_ref().filter(is_good) {
            return Ok(Some(Arc::clone(look)));
        }
        // Before the store is asked: what is told from here on may not be in its answer.
        let count = self.count();
        looks.last = None;
        looks.made += 1;
        let number = looks.made;
        looks.last =
            ask()?.map(|summary| Arc::new(Look { summary, number, count, at: now, read: Mutex::default() }));
        Ok(looks.last.clone())
    }
}

fn no_answer() -> StorageError {
    StorageError::unavailable("others wait for the answer to the same question")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::journal::NewRun;
    use crate::runs::news::Board;

    fn summary() -> RunSummary {
        RunSummary::opening(&NewRun::example(), 1)
    }

    fn away() -> Result<Option<RunSummary>, StorageError> {
        Err(StorageError::unavailable("away"))
    }

    #[test]
    fn readers_that_heard_the_same_share_a_look_and_whoever_heard_more_looks_anew() {
        let (board, run, now) = (Board::default(), summary(), Instant::now());
        let watch = board.watch(run.id);
        let ask = || Ok(Some(run.clone()));
        let first = watch.look(0, 0, now, ask).unwrap().unwrap();
        let same = |look: &Arc<Look>| Arc::ptr_eq(look, &first);
        let unasked = || panic!("the store is asked again");
        assert!(same(&watch.look(0, 0, now, unasked).unwrap().unwrap()));
        assert!(same(&watch.look(0, 0, now + GOOD_FOR / 2, unasked).unwrap().unwrap()));
        // There are news, which only one of them has heard yet.
        board.tell(run.id);
        assert!(same(&watch.look(0, 0, now, unasked).unwrap().unwrap()));
        let second = watch.look(1, first.number, now, ask).unwrap().unwrap();
        assert!(!same(&second));
        // Who has seen the first one, and whoever comes, finds the second.
        for seen in [0, first.number] {
            assert!(Arc::ptr_eq(&watch.look(0, seen, now, unasked).unwrap().unwrap(), &second));
        }
        // Nobody heard anything, and looks all the same: news may get lost.
        let later = watch.look(1, 0, now + GOOD_FOR, ask).unwrap().unwrap();
        assert!(!Arc::ptr_eq(&later, &second));
    }

    #[test]
    fn nobody_is_shown_twice_what_he_has_seen() {
        let (board, run, now) = (Board::default(), summary(), Instant::now());
        let watch = board.watch(run.id);
        let ask = || Ok(Some(run.clone()));
        let first = watch.look(0, 0, now, ask).unwrap().unwrap();
        let second = watch.look(0, first.number, now, ask).unwrap().unwrap();
        assert!(second.number > first.number);
    }

    #[test]
    fn nothing_is_remembered_of_a_run_that_is_gone_or_a_store_that_is_away() {
        let (board, run, now) = (Board::default(), summary(), Instant::now());
        let watch = board.watch(run.id);
        let ask = || Ok(Some(run.clone()));
        watch.look(0, 0, now, ask).unwrap().unwrap();
        board.tell(run.id);
        assert!(watch.look(1, 0, now, away).is_err());
        assert!(watch.look(0, 0, now, || Ok(None)).unwrap().is_none());
        assert!(watch.look(0, 0, now, ask).unwrap().is_some());
    }
}
