//! Receives the notifications of other instances, on a separate connection.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use log::{debug, info, warn};
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;

use super::Server;
use super::error::described;
use crate::base::storage::StorageError;
use crate::model::drive::{Notification, Subscriber};
use crate::store::document::decode;
use crate::store::error::Result;
use crate::store::limits::PING_WAIT;

/// Subscribes to all notifications. Instances that use another schema of the database get them too, and ignore runs that
/// they do not know.
const LISTEN: &str = "LISTEN sightline";

/// The time for which the connection may be silent before the server is checked.
const CHECK_AFTER: Duration = Duration::from_secs(5);
/// The pause before a lost connection is replaced; it doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Server {
    /// Starts the thread that receives notifications.
    pub(in crate::store) fn listen(self: &Arc<Self>, subscriber: Weak<dyn Subscriber>) -> Result<()> {
        let (server, thread) = (Arc::clone(self), thread::Builder::new().name("postgres-listen".to_owned()));
        thread.spawn(move || server.receive(&subscriber)).map(drop).map_err(StorageError::unavailable)
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
            // One of a later version may be unreadable.
            decode(notification.payload()).into_iter().for_each(|one| pass_on(subscriber, one));
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
