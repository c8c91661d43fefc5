//! Receives the notifications of other instances on a connection of its own.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use log::{debug, info, warn};
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;

use super::error::{PostgresError, described};
use super::publisher::{self, CHANNEL};
use super::sessions::Sessions;
use crate::base::storage::StorageError;
use crate::model::drive::{Notification, Subscriber};
use crate::store::limits::{HANDSHAKE, PING_WAIT};

/// The time for which the connection may be silent before the server is checked.
const CHECK_AFTER: Duration = Duration::from_secs(5);
/// The pause before a lost connection is replaced; it doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Starts the thread that receives notifications. It ends when the subscriber is dropped.
pub(super) fn start(sessions: Arc<Sessions>, subscriber: Weak<dyn Subscriber>) -> Result<(), StorageError> {
    let listener = Listener { sessions, subscriber };
    thread::Builder::new()
        .name("postgres-listen".into())
        .spawn(move || listener.run())
        .map(drop)
        .map_err(StorageError::unavailable)
}

struct Listener {
    sessions: Arc<Sessions>,
    subscriber: Weak<dyn Subscriber>,
}

impl Listener {
    fn run(&self) {
        let mut failures = 0;
        while self.subscriber.strong_count() > 0 {
            match self.client().and_then(|client| self.listen_on(client, &mut failures)) {
                Ok(()) => return,
                Err(error) if failures > 0 => debug!("still no notifications of other instances: {error}"),
                Err(error) => warn!("lost the notifications of other instances, connecting again: {error}"),
            }
            self.pass_on(Notification::Disconnected);
            thread::sleep((FIRST_PAUSE * 2u32.pow(failures.min(8))).min(LONGEST_PAUSE));
            failures += 1;
        }
    }

    /// Returns a connection that receives all notifications from now on.
    fn client(&self) -> Result<Client, PostgresError> {
        let listen = |client: &mut Client| client.batch_execute(&format!("LISTEN {CHANNEL}"));
        self.sessions.connector.client(HANDSHAKE, listen, |_, ()| ()).map(|(client, ())| client)
    }

    /// Receives notifications until the connection breaks. Returns `Ok` once the subscriber is dropped.
    fn listen_on(&self, mut client: Client, failures: &mut u32) -> Result<(), PostgresError> {
        let received = self.listen(&mut client, failures);
        drop_in_background(client);
        received
    }

    fn listen(&self, client: &mut Client, failures: &mut u32) -> Result<(), PostgresError> {
        if std::mem::take(failures) > 0 {
            info!("notifications of other instances are received again");
        }
        self.pass_on(Notification::Connected);
        loop {
            self.receive(client)?;
            if self.subscriber.strong_count() == 0 {
                return Ok(());
            }
            client.is_valid(PING_WAIT).map_err(|error| described(&error))?;
        }
    }

    /// Receives notifications until there are none for a while.
    fn receive(&self, client: &mut Client) -> Result<(), PostgresError> {
        let mut notifications = client.notifications();
        let mut received = notifications.timeout_iter(CHECK_AFTER);
        while let Some(notification) = received.next().map_err(|error| described(&error))? {
            publisher::read(notification.payload())
                .into_iter()
                .for_each(|notification| self.pass_on(notification));
        }
        Ok(())
    }

    fn pass_on(&self, notification: Notification) {
        if let Some(subscriber) = self.subscriber.upgrade() {
            subscriber.notify(notification);
        }
    }
}

/// Drops a connection on a separate thread, because the driver waits for outstanding answers on drop, possibly
/// without end.
fn drop_in_background(client: Client) {
    let dropped = thread::Builder::new().name("postgres-drop".into()).spawn(move || drop(client));
    if let Err(error) = dropped {
        warn!("cannot start a thread to close a database connection: {error}");
    }
}
