//! Connects to the server for the pool, and checks each session before its use: the pool never returns a dead session,
//! not even after a restart of the server.

use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use parking_lot::Mutex;
use postgres::{Client, Config};
use r2d2::ManageConnection;
use r2d2_postgres::PostgresConnectionManager;

use super::error::{PostgresError, described};
use super::session::Session;
use super::tls_stream::TlsConnector;
use crate::base::storage::StorageError;
use crate::store::limits::{CONNECTING_COUNTS, HANDSHAKE, MAX_CONNECTING, PING_WAIT};
use crate::store::write_health::WriteHealth;

/// A factory of connections and sessions.
pub(super) struct Connector {
    inner: Arc<PostgresConnectionManager<TlsConnector>>,
    limit: Arc<AttemptLimit>,
    last_silence: Mutex<Option<Instant>>,
    writes: Arc<WriteHealth>,
}

impl Connector {
    pub(super) fn new(config: Config, tls: TlsConnector, writes: Arc<WriteHealth>) -> Self {
        Self {
            inner: Arc::new(PostgresConnectionManager::new(config, tls)),
            limit: Arc::default(),
            last_silence: Mutex::new(None),
            writes,
        }
    }

    /// Makes a connection of the driver on a separate thread, because the driver bounds the TCP connect but not the
    /// time that the server then takes to answer.
    pub(super) fn client(&self) -> Result<Client, PostgresError> {
        self.client_after(|_| Ok(()))
    }

    /// Makes a connection and runs a first step on it, within the same time.
    pub(super) fn client_after(
        &self,
        first: impl FnOnce(&mut Client) -> Result<(), postgres::Error> + Send + 'static,
    ) -> Result<Client, PostgresError> {
        let no_answer = || PostgresError::new(format!("no answer within {} s", HANDSHAKE.as_secs()));
        let attempt = self.limit.take(Instant::now()).ok_or_else(no_answer)?;
        let inner = Arc::clone(&self.inner);
        let (sender, receiver) = mpsc::channel();
        let connect = move || {
            // The receiver is gone if its wait was over; then the connection is dropped.
            let client = inner.connect().and_then(|mut client| first(&mut client).map(|()| client));
            let _ = sender.send(client);
            drop(attempt);
        };
        thread::Builder::new()
            .name("postgres-connect".into())
            .spawn(connect)
            .map_err(|error| PostgresError::new(format!("cannot start a thread for connecting: {error}")))?;
        let client = receiver.recv_timeout(HANDSHAKE).map_err(|_| no_answer())?;
        client.map_err(|error| described(&error))
    }
}

/// A limit on concurrent connection attempts.
#[derive(Default)]
struct AttemptLimit(Mutex<AttemptTable>);

#[derive(Default)]
struct AttemptTable {
    last: u64,
    since: HashMap<u64, Instant>,
}

/// A connection attempt. It counts until it is dropped, or for [`CONNECTING_COUNTS`].
struct Attempt {
    limit: Arc<AttemptLimit>,
    number: u64,
}

impl AttemptLimit {
    fn take(self: &Arc<Self>, now: Instant) -> Option<Attempt> {
        let mut attempts = self.0.lock();
        attempts.since.retain(|_, since| now.duration_since(*since) < CONNECTING_COUNTS);
        if attempts.since.len() >= MAX_CONNECTING {
            return None;
        }
        attempts.last += 1;
        let number = attempts.last;
        attempts.since.insert(number, now);
        Some(Attempt { limit: Arc::clone(self), number })
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.limit.0.lock().since.remove(&self.number);
    }
}

impl ManageConnection for Connector {
    type Connection = Session;
    type Error = StorageError;

    fn connect(&self) -> Result<Session, StorageError> {
        let client = self.client().map_err(StorageError::unavailable)?;
        let mut session =
            Session::start(client, Arc::clone(&self.writes)).map_err(StorageError::unavailable)?;
        session.read_answer_timeout(HANDSHAKE)?;
        Ok(session)
    }

    fn is_valid(&self, session: &mut Session) -> Result<(), StorageError> {
        // If one connection was silent just now, the others will be, too: waiting for each of them would take the
        // pool's wait times their number. A good connection that is dropped here is only made again.
        if self.last_silence.lock().is_some_and(|at| at.elapsed() < PING_WAIT) {
            return Err(StorageError::unavailable(PostgresError::new("the server does not answer")));
        }
        let start = Instant::now();
        session.check(PING_WAIT).inspect_err(|_| {
            if start.elapsed() >= PING_WAIT {
                *self.last_silence.lock() = Some(Instant::now());
                session.abandon();
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
    fn an_endless_attempt_does_not_block_others_forever() {
        let limit = Arc::<AttemptLimit>::default();
        let start = Instant::now();
        let mut hanging: Vec<Attempt> =
            (0..MAX_CONNECTING).map(|_| limit.take(start).expect("there are so many")).collect();
        assert!(limit.take(start).is_none());
        // One attempt ends.
        hanging.pop();
        let other = limit.take(start).expect("its attempt is free");
        assert!(limit.take(start + CONNECTING_COUNTS / 2).is_none());
        let later: Vec<_> = (0..MAX_CONNECTING)
            .map(|_| limit.take(start + CONNECTING_COUNTS).expect("they count no more"))
            .collect();
        // An attempt that ends after its time frees no other attempt's place.
        drop((hanging, other));
        assert!(limit.take(start + CONNECTING_COUNTS).is_none());
        drop(later);
        assert!(limit.take(start + CONNECTING_COUNTS).is_some());
    }
}
