//! Makes sessions, and checks one before each use: whoever gets one gets a live one, also after the server was
//! restarted.

use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use parking_lot::Mutex;
use postgres::{Client, Config};
use r2d2::ManageConnection;
use r2d2_postgres::PostgresConnectionManager;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::{PostgresError, worded};
use super::session::Session;
use crate::base::storage::StorageError;
use crate::store::limits::{CONNECTING_COUNTS, HANDSHAKE, MAX_CONNECTING, PING_WAIT};
use crate::store::writes::Writes;

/// Makes sessions.
pub(super) struct Manager {
    inner: Arc<PostgresConnectionManager<MakeRustlsConnect>>,
    places: Arc<Places>,
    last_silence: Mutex<Option<Instant>>,
    writes: Arc<Writes>,
}

impl Manager {
    pub(super) fn new(config: Config, tls: MakeRustlsConnect, writes: Arc<Writes>) -> Self {
        Self {
            inner: Arc::new(PostgresConnectionManager::new(config, tls)),
            places: Arc::default(),
            last_silence: Mutex::new(None),
            writes,
        }
    }

    /// The driver's own connection. It is made on a thread of its own: the driver bounds the TCP connect, not what
    /// the server then takes to answer.
    pub(super) fn client(&self) -> Result<Client, PostgresError> {
        self.client_after(|_| Ok(()))
    }

    /// The same with a first step, which has to be done in the same time.
    pub(super) fn client_after(
        &self,
        first: impl FnOnce(&mut Client) -> Result<(), postgres::Error> + Send + 'static,
    ) -> Result<Client, PostgresError> {
        let no_answer = || PostgresError::new(format!("no answer within {} s", HANDSHAKE.as_secs()));
        let place = self.places.take(Instant::now()).ok_or_else(no_answer)?;
        let inner = Arc::clone(&self.inner);
        let (sender, receiver) = mpsc::channel();
        let connect = move || {
            // Nobody listens where the wait is over; the connection is dropped then.
            let client = inner.connect().and_then(|mut client| first(&mut client).map(|()| client));
            let _ = sender.send(client);
            drop(place);
        };
        thread::Builder::new()
            .name("postgres-connect".into())
            .spawn(connect)
            .map_err(|error| PostgresError::new(format!("no thread to connect with: {error}")))?;
        let client = receiver.recv_timeout(HANDSHAKE).map_err(|_| no_answer())?;
        client.map_err(|error| worded(&error))
    }
}

/// Places of connection attempts.
#[derive(Default)]
struct Places(Mutex<Attempts>);

#[derive(Default)]
struct Attempts {
    last: u64,
    since: HashMap<u64, Instant>,
}

/// One of them; free again when this is dropped, or after [`CONNECTING_COUNTS`].
struct Place {
    places: Arc<Places>,
    number: u64,
}

impl Places {
    fn take(self: &Arc<Self>, now: Instant) -> Option<Place> {
        let mut attempts = self.0.lock();
        attempts.since.retain(|_, since| now.duration_since(*since) < CONNECTING_COUNTS);
        if attempts.since.len() >= MAX_CONNECTING {
            return None;
        }
        attempts.last += 1;
        let number = attempts.last;
        attempts.since.insert(number, now);
        Some(Place { places: Arc::clone(self), number })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.0.lock().since.remove(&self.number);
    }
}

impl ManageConnection for Manager {
    type Connection = Session;
    type Error = StorageError;

    fn connect(&self) -> Result<Session, StorageError> {
        let client = self.client().map_err(StorageError::unavailable)?;
        let mut session =
            Session::start(client, Arc::clone(&self.writes)).map_err(StorageError::unavailable)?;
        session.learn_patience(HANDSHAKE)?;
        Ok(session)
    }

    fn is_valid(&self, session: &mut Session) -> Result<(), StorageError> {
        // Where one connection was silent just now the others will be too; waiting for each in turn would
        // take the pool's wait times their number. A good one that is thrown away is only made again.
        if self.last_silence.lock().is_some_and(|at| at.elapsed() < PING_WAIT) {
            return Err(StorageError::unavailable(PostgresError::new("the server does not answer")));
        }
        let start = Instant::now();
        session.check(PING_WAIT).inspect_err(|_| {
            if start.elapsed() >= PING_WAIT {
                *self.last_silence.lock() = Some(Instant::now());
                session.give_up();
            }
        })
    }

    fn has_broken(&self, session: &mut Session) -> bool {
        session.is_broken()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_that_never_end_do_not_keep_others_away_for_ever() {
        let places = Arc::<Places>::default();
        let start = Instant::now();
        let mut hanging: Vec<Place> =
            (0..MAX_CONNECTING).map(|_| places.take(start).expect("there are so many")).collect();
        assert!(places.take(start).is_none());
        // One ends.
        hanging.pop();
        let other = places.take(start).expect("its place is free");
        assert!(places.take(start + CONNECTING_COUNTS / 2).is_none());
        let later: Vec<_> = (0..MAX_CONNECTING)
            .map(|_| places.take(start + CONNECTING_COUNTS).expect("they count no more"))
            .collect();
        // What ends after its time frees the place of nobody else.
        drop((hanging, other));
        assert!(places.take(start + CONNECTING_COUNTS).is_none());
        drop(later);
        assert!(places.take(start + CONNECTING_COUNTS).is_some());
    }
}
