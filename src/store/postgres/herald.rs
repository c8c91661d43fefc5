//! Tells the other instances what was written, and how news are put into words.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use log::debug;
use parking_lot::{Condvar, Mutex};
use r2d2::Pool;
use uuid::Uuid;

use super::error::pool_error;
use super::manager::Manager;
use super::session::Work;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::runs::news::News;

/// Where all news are told. (Instances in other schemas of the database hear of runs that they don't know.)
pub(super) const CHANNEL: &str = "sightline";
/// The pause after news were told, in which more gather: it bounds what telling costs the server.
const GATHER: Duration = Duration::from_millis(10);
/// Runs in one notification: PostgreSQL takes 8,000 bytes, and each is told in at most 55.
const RUNS_AT_ONCE: usize = 128;

/// Nothing that was told needs to reach the disk.
const TELL_LIGHTLY: &str = "SELECT pg_notify('sightline', payload) \
     FROM (SELECT set_config('synchronous_commit', 'off', true)) AS lightly, unnest($1::text[]) AS payload";
const TELL: &str = "SELECT pg_notify('sightline', payload) FROM unnest($1::text[]) AS payload";

/// Tells of changed runs, each once for all that was written of it within a moment.
#[derive(Default)]
pub(super) struct Herald {
    desk: OnceLock<Arc<Desk>>,
}

#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    more: Condvar,
}

#[derive(Default)]
struct State {
    changed: HashMap<RunId, u64>,
    closed: bool,
}

impl Herald {
    /// Starts telling. What was noted before is not told.
    pub(super) fn start(&self, pool: Pool<Manager>) -> Result<(), StorageError> {
        let mut is_new = false;
        let desk = Arc::clone(self.desk.get_or_init(|| {
            is_new = true;
            Arc::default()
        }));
        if is_new {
            thread::Builder::new()
                .name("postgres-herald".into())
                .spawn(move || desk.work(&pool))
                .map_err(StorageError::unavailable)?;
        }
        Ok(())
    }

    /// Notes that something of a run was stored.
    pub(super) fn tell(&self, run: RunId, epoch: u64) {
        if let Some(desk) = self.desk.get() {
            let mut state = desk.state.lock();
            let newest = state.changed.entry(run).or_default();
            *newest = epoch.max(*newest);
            desk.more.notify_one();
        }
    }
}

impl Drop for Herald {
    fn drop(&mut self) {
        if let Some(desk) = self.desk.get() {
            desk.state.lock().closed = true;
            desk.more.notify_one();
        }
    }
}

impl Desk {
    fn work(&self, pool: &Pool<Manager>) {
        while let Some(changed) = self.next() {
            // Whoever waits for these looks for itself after a while.
            if let Err(error) = tell_all(pool, &changed) {
                debug!("what was written could not be told: {error}");
            }
            thread::sleep(GATHER);
        }
    }

    /// What there is to tell; waits for it. `None`: nothing more.
    fn next(&self) -> Option<Vec<(RunId, u64)>> {
        let mut state = self.state.lock();
        while state.changed.is_empty() && !state.closed {
            self.more.wait(&mut state);
        }
        (!state.closed).then(|| state.changed.drain().collect())
    }
}

fn tell_all(pool: &Pool<Manager>, changed: &[(RunId, u64)]) -> Result<(), StorageError> {
    let payloads: Vec<String> = changed.chunks(RUNS_AT_ONCE).map(changes).collect();
    let mut session = pool.get().map_err(pool_error)?;
    session.query(TELL_LIGHTLY, &[&payloads]).map(drop)
}

/// Tells of something that is rare, with the transaction that does it: all hear of it, or it did not happen.
pub(super) fn announce(work: &mut Work<'_>, news: News) -> Result<(), StorageError> {
    let payload = match news {
        News::Changed { run, epoch } => changes(&[(run, epoch)]),
        News::Deleted(run) => format!("deleted {}", run.0.simple()),
        News::Released => "released".to_owned(),
        News::Access => "access".to_owned(),
        // About the hearing itself: there is nobody to tell.
        News::Hearing | News::Deaf => return Ok(()),
    };
    work.query(TELL, &[&[payload].as_slice()]).map(|_| ())
}

fn changes(runs: &[(RunId, u64)]) -> String {
    let mut text = "changed".to_owned();
    for (run, epoch) in runs {
        text.push_str(&format!(" {}.{epoch}", run.0.simple()));
    }
    text
}

/// What a notification says. Words of a later version are passed over.
pub(super) fn read(payload: &str) -> Vec<News> {
    let mut words = payload.split(' ');
    match words.next() {
        Some("changed") => words.filter_map(read_change).collect(),
        Some("deleted") => words.filter_map(read_run).map(News::Deleted).collect(),
        Some("released") => vec![News::Released],
        Some("access") => vec![News::Access],
        _ => Vec::new(),
    }
}

fn read_change(word: &str) -> Option<News> {
    let (run, epoch) = word.split_once('.')?;
    Some(News::Changed { run: read_run(run)?, epoch: epoch.parse().ok()? })
}

fn read_run(word: &str) -> Option<RunId> {
    Uuid::try_parse(word).ok().map(RunId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_read_as_they_were_told() {
        let runs: Vec<(RunId, u64)> =
            (0..RUNS_AT_ONCE as u64).map(|at| (RunId::new(), u64::MAX - at)).collect();
        let payload = changes(&runs);
        assert!(payload.len() < 8000, "{}", payload.len());
        let told: Vec<News> =
            runs.iter().map(|(run, epoch)| News::Changed { run: *run, epoch: *epoch }).collect();
        assert_eq!(read(&payload), told);
    }

    #[test]
    fn what_nobody_here_understands_is_passed_over() {
        for payload in ["", " ", "changed", "changed x.1 .", "deleted zz", "later 1 2 3"] {
            assert_eq!(read(payload), [], "{payload:?}");
        }
    }
}
