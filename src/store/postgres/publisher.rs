//! Publishes what this instance has written to the other instances, as notifications.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use log::debug;
use parking_lot::{Condvar, Mutex};
use uuid::Uuid;

use super::session::{Session, Transaction};
use super::sessions::Sessions;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::drive::Notification;
use crate::store::document::encode;
use crate::store::limits::BACKGROUND_WAIT;
use crate::store::value::values;

/// The channel of all notifications. Instances that use another schema of the database get them too, and ignore runs
/// that they do not know.
pub(super) const CHANNEL: &str = "sightline";
/// The pause after each notification, in which further changes are collected. It bounds the cost for the server.
const GATHER: Duration = Duration::from_millis(10);
/// The maximum number of runs in one notification. PostgreSQL accepts up to 8,000 bytes, and each run needs at most
/// 55.
const RUNS_AT_ONCE: usize = 128;

/// Publishes a notification. The commit does not wait for the disk, because no data is lost with a notification.
const NOTIFY_LIGHTLY: &str = "SELECT pg_notify('sightline', value) \
     FROM (SELECT set_config('synchronous_commit', 'off', true)) AS lightly, json_array_elements_text(?1)";
const NOTIFY: &str = "SELECT pg_notify('sightline', value) FROM json_array_elements_text(?1)";

/// A thread that publishes changes of runs. Several writes to a run within a short time become one notification.
#[derive(Default)]
pub(super) struct Publisher {
    queue: OnceLock<Arc<Queue>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    changes: HashMap<RunId, u64>,
    is_closed: bool,
}

impl Publisher {
    /// Starts the thread. Changes from before this call are not published.
    pub(super) fn start(&self, sessions: Arc<Sessions>) -> Result<(), StorageError> {
        let mut is_new = false;
        let queue = Arc::clone(self.queue.get_or_init(|| {
            is_new = true;
            Arc::default()
        }));
        if is_new {
            thread::Builder::new()
                .name("postgres-publish".into())
                .spawn(move || queue.publish(&sessions))
                .map_err(StorageError::unavailable)?;
        }
        Ok(())
    }

    /// Publishes, after a short time, that data of a run was stored.
    pub(super) fn publish(&self, run: RunId, epoch: u64) {
        if let Some(queue) = self.queue.get() {
            let mut state = queue.state.lock();
            let newest = state.changes.entry(run).or_default();
            *newest = epoch.max(*newest);
            queue.changed.notify_one();
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.get() {
            queue.state.lock().is_closed = true;
            queue.changed.notify_one();
        }
    }
}

impl Queue {
    fn publish(&self, sessions: &Sessions) {
        while let Some(changed) = self.next() {
            // Subscribers that wait for a lost notification read the tables after a while.
            if let Err(error) = notify(sessions, &changed) {
                debug!("changes of runs could not be published: {error}");
            }
            thread::sleep(GATHER);
        }
    }

    /// Waits for changes, and takes them. Returns `None` once the publisher is dropped.
    fn next(&self) -> Option<Vec<(RunId, u64)>> {
        let mut state = self.state.lock();
        while state.changes.is_empty() && !state.is_closed {
            self.changed.wait(&mut state);
        }
        (!state.is_closed).then(|| state.changes.drain().collect())
    }
}

fn notify(sessions: &Sessions, changed: &[(RunId, u64)]) -> Result<(), StorageError> {
    let payloads: Vec<String> = changed.chunks(RUNS_AT_ONCE).map(changes).collect();
    let payloads = encode(&payloads)?;
    let notify = |session: &mut Session| session.query(NOTIFY_LIGHTLY, values![payloads]).map(drop);
    sessions.with(&sessions.writing, BACKGROUND_WAIT, notify)
}

/// Notifies all instances when the transaction commits. Used for rare changes that must not be missed.
pub(super) fn announce(
    transaction: &mut Transaction<'_>,
    notification: Notification,
) -> Result<(), StorageError> {
    let payload = match notification {
        Notification::Changed { run, epoch } => changes(&[(run, epoch)]),
        Notification::Deleted(run) => format!("deleted {}", run.0.simple()),
        Notification::Annotated(run) => format!("annotated {}", run.0.simple()),
        Notification::Stopped(run) => format!("stopped {}", run.0.simple()),
        Notification::Released => "released".to_owned(),
        Notification::Access => "access".to_owned(),
        // These two are about the subscription itself.
        Notification::Connected | Notification::Disconnected => return Ok(()),
    };
    transaction.query(NOTIFY, values![encode(&[payload])?]).map(drop)
}

fn changes(runs: &[(RunId, u64)]) -> String {
    let mut text = "changed".to_owned();
    for (run, epoch) in runs {
        text.push_str(&format!(" {}.{epoch}", run.0.simple()));
    }
    text
}

/// Parses a notification. Words of a later version are ignored.
pub(super) fn read(payload: &str) -> Vec<Notification> {
    let mut words = payload.split(' ');
    match words.next() {
        Some("changed") => words.filter_map(read_change).collect(),
        Some("deleted") => words.filter_map(read_run).map(Notification::Deleted).collect(),
        Some("annotated") => words.filter_map(read_run).map(Notification::Annotated).collect(),
        Some("stopped") => words.filter_map(read_run).map(Notification::Stopped).collect(),
        Some("released") => vec![Notification::Released],
        Some("access") => vec![Notification::Access],
        _ => Vec::new(),
    }
}

fn read_change(word: &str) -> Option<Notification> {
    let (run, epoch) = word.split_once('.')?;
    Some(Notification::Changed { run: read_run(run)?, epoch: epoch.parse().ok()? })
}

fn read_run(word: &str) -> Option<RunId> {
    Uuid::try_parse(word).ok().map(RunId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_is_read_as_it_was_written() {
        let runs: Vec<(RunId, u64)> =
            (0..RUNS_AT_ONCE as u64).map(|at| (RunId::new(), u64::MAX - at)).collect();
        let payload = changes(&runs);
        assert!(payload.len() < 8000, "{}", payload.len());
        let written: Vec<Notification> =
            runs.iter().map(|(run, epoch)| Notification::Changed { run: *run, epoch: *epoch }).collect();
        assert_eq!(read(&payload), written);
    }

    #[test]
    fn unknown_words_are_ignored() {
        for payload in ["", " ", "changed", "changed x.1 .", "deleted zz", "later 1 2 3"] {
            assert_eq!(read(payload), [], "{payload:?}");
        }
    }
}
