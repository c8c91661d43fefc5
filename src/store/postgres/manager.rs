//! Makes sessions, and checks one before each use: whoever gets one gets a live one, also after the server was
//! restarted.

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
use crate::store::limits::{HANDSHAKE, MAX_CONNECTING, PING_WAIT};
use crate::store::writes::Writes;

/// Makes sessions.
pub(super) struct Manager {
    inner: Arc<PostgresConnectionManager<MakeRustlsConnect>>,
    /// Each thread that is connecting holds one more.
    connecting: Arc<()>,
    last_silence: Mutex<Option<Instant>>,
    writes: Arc<Writes>,
}

impl Manager {
    pub(super) fn new(config: Config, tls: MakeRustlsConnect, writes: Arc<Writes>) -> Self {
        Self {
            inner: Arc::new(PostgresConnectionManager::new(config, tls)),
            connecting: Arc::new(()),
            last_silence: Mutex::new(None),
            writes,
        }
    }

    /// The driver's own connection. It is made on a thread of its own: the driver bounds the TCP connect, not what
    /// the server then takes to answer.
    pub(super) fn client(&self) -> Result<Client, PostgresError> {
        let no_answer = || PostgresError::new(format!("no answer within {} s", HANDSHAKE.as_secs()));
        if Arc::strong_count(&self.connecting) > MAX_CONNECTING {
            return Err(no_answer());
        }
        let (inner, guard) = (Arc::clone(&self.inner), Arc::clone(&self.connecting));
        let (sender, receiver) = mpsc::channel();
        let connect = move || {
            // Nobody listens where the wait is over; the connection is dropped then.
            let _ = sender.send(inner.connect());
            drop(guard);
        };
        thread::Builder::new()
            .name("postgres-connect".into())
            .spawn(connect)
            .map_err(|error| PostgresError::new(format!("no thread to connect with: {error}")))?;
        let client = receiver.recv_timeout(HANDSHAKE).map_err(|_| no_answer())?;
        client.map_err(|error| worded(&error))
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
