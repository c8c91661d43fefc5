//! Notifications between instances: those that this one sends, and those that it receives on a separate connection.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use log::{debug, info, warn};
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;

use super::Database;
use super::error::described;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::drive::{Notification, Subscriber};
use crate::store::document::{decode, encode};
use crate::store::error::Result;
use crate::store::limits::{BACKGROUND_WAIT, HANDSHAKE, PING_WAIT};
use crate::store::value::values;

/// Subscribes to all notifications. Instances that use another schema of the database get them too, and ignore runs that
/// they do not know.
const LISTEN: &str = "LISTEN sightline";
/// Sends notifications. The commit does not wait for the disk, because no data is lost with a notification.
const NOTIFY: &str = "SELECT pg_notify('sightline', value) \
     FROM (SELECT set_config('synchronous_commit', 'off', true)) AS lightly, json_array_elements_text(?1)";

/// The pause after each notification, in which further changes are collected. It bounds the cost for the server.
const GATHER: Duration = Duration::from_millis(10);
/// The maximum number of runs in one notification. PostgreSQL accepts up to 8,000 bytes, and each run needs at most 88.
const RUNS_AT_ONCE: usize = 80;
/// The time for which the connection may be silent before the server is checked.
const CHECK_AFTER: Duration = Duration::from_secs(5);
/// The pause before a lost connection is replaced; it doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Parses the text of a notification. One of a later version may be unreadable.
fn read(text: &str) -> Vec<Notification> {
    decode(text).unwrap_or_default()
}

impl Database {
    /// Starts the threads that send and receive notifications.
    pub(in crate::store) fn listen(self: &Arc<Self>, subscriber: Weak<dyn Subscriber>) -> Result<()> {
        let listener = Listener { database: Arc::clone(self), subscriber };
        start("postgres-listen", move || listener.run())?;
        let (sender, receiver) = mpsc::channel();
        if self.changes.set(sender).is_ok() {
            // It must not keep this from being dropped, and ends with its sender.
            let database = Arc::downgrade(self);
            start("postgres-publish", move || publish(&database, &receiver))?;
        }
        Ok(())
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new().name(name.into()).spawn(work).map(drop).map_err(StorageError::unavailable)
}

/// Sends notifications of changed runs until the sender is dropped. Several changes of a run within a short time become
/// one.
fn publish(database: &Weak<Database>, changes: &Receiver<(RunId, u64)>) {
    while let (Ok(first), Some(database)) = (changes.recv(), database.upgrade()) {
        let mut newest = HashMap::from([first]);
        for (run, epoch) in changes.try_iter() {
            newest.entry(run).and_modify(|known: &mut u64| *known = epoch.max(*known)).or_insert(epoch);
        }
        // Subscribers that wait for a lost notification read the tables after a while.
        if let Err(error) = send(&database, &newest) {
            debug!("changes of runs could not be published: {error}");
        }
        thread::sleep(GATHER);
    }
}

fn send(database: &Database, newest: &HashMap<RunId, u64>) -> Result<()> {
    let changes: Vec<_> = newest.iter().map(|(&run, &epoch)| Notification::Changed { run, epoch }).collect();
    let texts = changes.chunks(RUNS_AT_ONCE).map(encode).collect::<Result<Vec<_>>>()?;
    let texts = encode(&texts)?;
    database
        .with(&database.writing, BACKGROUND_WAIT, |session| session.execute(NOTIFY, values![texts]).map(drop))
}

/// Passes notifications on to a subscriber until it is dropped.
struct Listener {
    database: Arc<Database>,
    subscriber: Weak<dyn Subscriber>,
}

impl Listener {
    fn run(&self) {
        let mut failures = 0;
        while self.subscriber.strong_count() > 0 {
            let error = match self.listen(failures > 0) {
                Ok(Ok(())) => return,
                Ok(Err(error)) => {
                    failures = 0;
                    StorageError::unavailable(described(&error))
                }
                Err(error) => error,
            };
            match failures {
                0 => warn!("lost the notifications of other instances, connecting again: {error}"),
                _ => debug!("still no notifications of other instances: {error}"),
            }
            self.pass_on(Notification::Disconnected);
            thread::sleep((FIRST_PAUSE * 2u32.pow(failures.min(8))).min(LONGEST_PAUSE));
            failures += 1;
        }
    }

    /// Receives notifications on a new connection until it breaks with the inner error. Returns once the
    /// subscriber is dropped.
    fn listen(&self, was_lost: bool) -> Result<Result<(), postgres::Error>> {
        let mut session = self.database.session()?;
        session.check(HANDSHAKE)?;
        let listener =
            Self { database: Arc::clone(&self.database), subscriber: Weak::clone(&self.subscriber) };
        session.run_within(None, move |client| {
            client.batch_execute(LISTEN)?;
            if was_lost {
                info!("notifications of other instances are received again");
            }
            listener.pass_on(Notification::Connected);
            Ok(listener.receive(client))
        })
    }

    fn receive(&self, client: &mut Client) -> Result<(), postgres::Error> {
        while self.subscriber.strong_count() > 0 {
            client.notifications().timeout_iter(CHECK_AFTER).for_each(|notification| {
                read(notification.payload()).into_iter().for_each(|notification| self.pass_on(notification));
                Ok(())
            })?;
            client.is_valid(PING_WAIT)?;
        }
        Ok(())
    }

    fn pass_on(&self, notification: Notification) {
        if let Some(subscriber) = self.subscriber.upgrade() {
            subscriber.notify(notification);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_is_read_as_it_was_written() {
        let run = RunId::new();
        let mut all = vec![Notification::Changed { run, epoch: u64::MAX }; RUNS_AT_ONCE];
        let text = encode(&all).unwrap();
        assert!(text.len() < 8000, "{}", text.len());
        assert_eq!(read(&text), all);
        all = vec![Notification::Deleted(run)];
        assert_eq!(read(&encode(&[all[0]]).unwrap()), all);
    }
}
