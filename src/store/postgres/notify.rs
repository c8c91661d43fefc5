//! Notifications between instances: those that this one sends, and those that it receives on a separate connection.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use log::{debug, info, warn};
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;

use super::Server;
use super::error::described;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::drive::{Notification, Subscriber};
use crate::store::document::{decode, encode};
use crate::store::error::Result;
use crate::store::limits::PING_WAIT;

/// Subscribes to all notifications. Instances that use another schema of the database get them too, and ignore runs that
/// they do not know.
const LISTEN: &str = "LISTEN sightline";

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

impl Server {
    /// Starts the threads that receive and send notifications. `send` sends the texts of some, an array in JSON. It
    /// returns `None` if the store was dropped.
    pub(in crate::store) fn listen(
        self: &Arc<Self>,
        subscriber: Weak<dyn Subscriber>,
        send: impl Fn(String) -> Option<Result<()>> + Send + 'static,
    ) -> Result<()> {
        let server = Arc::clone(self);
        start("postgres-listen", move || server.receive(&subscriber))?;
        let (sender, changes) = mpsc::channel();
        if self.changes.set(sender).is_ok() {
            start("postgres-publish", move || publish(&changes, send))?;
        }
        Ok(())
    }

    /// Passes notifications on to a subscriber until it is dropped.
    fn receive(&self, subscriber: &Weak<dyn Subscriber>) {
        let mut failures = 0;
        while subscriber.strong_count() > 0 {
            let mut client = self.config.connect(self.tls.clone());
            let error = match client.as_mut().map(|client| listen(client, subscriber, &mut failures)) {
                Ok(Ok(())) => return,
                Ok(Err(error)) => described(&error),
                Err(error) => described(error),
            };
            match failures {
                0 => warn!("lost the notifications of other instances, connecting again: {error}"),
                _ => debug!("still no notifications of other instances: {error}"),
            }
            pass_on(subscriber, Notification::Disconnected);
            thread::sleep((FIRST_PAUSE * 2u32.pow(failures.min(8))).min(LONGEST_PAUSE));
            failures += 1;
            // While the server hangs, this waits for it. The subscriber knows by then.
            drop(client);
        }
    }
}

/// Receives notifications on a new connection until it breaks, or until the subscriber is dropped. `failures` counts those
/// before it was made.
fn listen(
    client: &mut Client,
    subscriber: &Weak<dyn Subscriber>,
    failures: &mut u32,
) -> Result<(), postgres::Error> {
    client.batch_execute(LISTEN)?;
    if *failures > 0 {
        info!("notifications of other instances are received again");
    }
    *failures = 0;
    pass_on(subscriber, Notification::Connected);
    while subscriber.strong_count() > 0 {
        client.notifications().timeout_iter(CHECK_AFTER).for_each(|notification| {
            read(notification.payload()).into_iter().for_each(|one| pass_on(subscriber, one));
            Ok(())
        })?;
        client.is_valid(PING_WAIT)?;
    }
    Ok(())
}

fn pass_on(subscriber: &Weak<dyn Subscriber>, notification: Notification) {
    if let Some(subscriber) = subscriber.upgrade() {
        subscriber.notify(notification);
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new().name(name.into()).spawn(work).map(drop).map_err(StorageError::unavailable)
}

/// Sends notifications of changed runs until the store is dropped. Several changes of a run within a short time become
/// one.
fn publish(changes: &Receiver<(RunId, u64)>, send: impl Fn(String) -> Option<Result<()>>) {
    while let Ok(first) = changes.recv() {
        let mut newest = HashMap::from([first]);
        for (run, epoch) in changes.try_iter() {
            newest.entry(run).and_modify(|known: &mut u64| *known = epoch.max(*known)).or_insert(epoch);
        }
        match texts(&newest).map(&send) {
            Ok(None) => return,
            // Subscribers that wait for a lost notification read the tables after a while.
            Ok(Some(Err(error))) | Err(error) => debug!("changes of runs could not be published: {error}"),
            Ok(Some(Ok(()))) => {}
        }
        thread::sleep(GATHER);
    }
}

fn texts(newest: &HashMap<RunId, u64>) -> Result<String> {
    let changes: Vec<_> = newest.iter().map(|(&run, &epoch)| Notification::Changed { run, epoch }).collect();
    encode(&changes.chunks(RUNS_AT_ONCE).map(encode).collect::<Result<Vec<_>>>()?)
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
