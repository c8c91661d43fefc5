//! Hears what other instances tell, on a connection of its own.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use log::{debug, info, warn};
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;

use super::Database;
use super::error::{PostgresError, worded};
use super::herald::{self, CHANNEL};
use super::manager::Manager;
use crate::base::storage::StorageError;
use crate::runs::news::{Ear, News};
use crate::store::limits::PING_WAIT;

/// After how much silence the server is asked for a sign of life.
const CHECK_AFTER: Duration = Duration::from_secs(5);
/// The pause before a lost connection is made anew; doubled with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Database {
    /// Starts the thread; it ends when nobody wants to hear any more.
    pub(super) fn start_listening(&self, ear: Weak<dyn Ear>) -> Result<(), StorageError> {
        let listener = Listener { manager: Arc::clone(&self.manager), ear };
        thread::Builder::new()
            .name("postgres-listen".into())
            .spawn(move || listener.run())
            .map(drop)
            .map_err(StorageError::unavailable)
    }
}

struct Listener {
    manager: Arc<Manager>,
    ear: Weak<dyn Ear>,
}

impl Listener {
    fn run(&self) {
        let mut failures = 0;
        while self.ear.strong_count() > 0 {
            match self.client().and_then(|client| self.attend(client, &mut failures)) {
                Ok(()) => return,
                Err(error) if failures > 0 => debug!("still no news of other instances: {error}"),
                Err(error) => warn!("no news of other instances, the connection is made anew: {error}"),
            }
            self.tell(News::Deaf);
            thread::sleep((FIRST_PAUSE * 2u32.pow(failures.min(8))).min(LONGEST_PAUSE));
            failures += 1;
        }
    }

    /// A connection that is told of everything from now on.
    fn client(&self) -> Result<Client, PostgresError> {
        self.manager.client_after(|client| client.batch_execute(&format!("LISTEN {CHANNEL}")))
    }

    /// Hears until the connection breaks; `Ok` when nobody wants to hear any more.
    fn attend(&self, mut client: Client, failures: &mut u32) -> Result<(), PostgresError> {
        let heard = self.listen(&mut client, failures);
        leave(client);
        heard
    }

    fn listen(&self, client: &mut Client, failures: &mut u32) -> Result<(), PostgresError> {
        if std::mem::take(failures) > 0 {
            info!("news of other instances are heard again");
        }
        self.tell(News::Hearing);
        loop {
            self.hear(client)?;
            if self.ear.strong_count() == 0 {
                return Ok(());
            }
            client.is_valid(PING_WAIT).map_err(|error| worded(&error))?;
        }
    }

    /// Hears until it is silent.
    fn hear(&self, client: &mut Client) -> Result<(), PostgresError> {
        let mut notifications = client.notifications();
        let mut heard = notifications.timeout_iter(CHECK_AFTER);
        while let Some(notification) = heard.next().map_err(|error| worded(&error))? {
            herald::read(notification.payload()).into_iter().for_each(|news| self.tell(news));
        }
        Ok(())
    }

    fn tell(&self, news: News) {
        if let Some(ear) = self.ear.upgrade() {
            ear.hear(news);
        }
    }
}

/// The driver waits for what the server owes when a connection is dropped, for ever if need be: that is left to
/// a thread of its own.
fn leave(client: Client) {
    let dropped = thread::Builder::new().name("postgres-drop".into()).spawn(move || drop(client));
    if let Err(error) = dropped {
        warn!("no thread to close a database connection with: {error}");
    }
}
