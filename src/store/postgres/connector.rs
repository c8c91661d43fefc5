//! Connects to the server, and remembers whether it can be reached.

use std::sync::Arc;
use std::sync::mpsc::{self, SendError};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use postgres::{Client, Config};

use super::error::{PostgresError, described};
use super::session::Session;
use super::target::PostgresTarget;
use super::tls;
use super::tls_stream::TlsConnector;
use crate::base::storage::StorageError;
use crate::store::error::OpenError;
use crate::store::limits::{HANDSHAKE, LOST_WAIT, PING_WAIT, REQUEST_WAIT};
use crate::store::pool::Pool;

/// A factory of connections to one server.
///
/// While the server cannot be reached, one caller at a time tries whether it is available again. All others fail at
/// once, so that the request workers stay free.
pub(super) struct Connector {
    config: Config,
    tls: TlsConnector,
    lost: Arc<Mutex<Option<Lost>>>,
}

/// A server that cannot be reached.
struct Lost {
    since: Instant,
    cause: String,
    next_try: Instant,
}

impl Connector {
    pub(super) fn new(target: &PostgresTarget) -> Result<Self, OpenError> {
        Ok(Self { config: target.config(), tls: tls::connector(target)?, lost: Arc::default() })
    }

    /// Makes the first connection. The error distinguishes a refusal from a server that cannot be reached.
    pub(super) fn first_client(&self, target: &PostgresTarget) -> Result<Client, OpenError> {
        self.client(HANDSHAKE, |_| Ok(()), |_, ()| ()).map(|(client, ())| client).map_err(|cause| {
            let address = target.to_string();
            match cause.is_refusal() {
                true => OpenError::Refused { address, cause: StorageError::broken(cause) },
                false => OpenError::Connect { address, cause: StorageError::unavailable(cause) },
            }
        })
    }

    /// Makes a connection and runs a first step on it, on a separate thread: the driver bounds the TCP connect but not
    /// the time that the server then takes to answer. The thread ends when the server answers or closes the connection,
    /// and gives a connection that is `late` to that function.
    pub(super) fn client<T: Send + 'static>(
        &self,
        wait: Duration,
        first: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send + 'static,
        late: impl FnOnce(Client, T) + Send + 'static,
    ) -> Result<(Client, T), PostgresError> {
        let (config, tls, lost) = (self.config.clone(), self.tls.clone(), Arc::clone(&self.lost));
        let (sender, receiver) = mpsc::channel();
        let connect = move || {
            let made = config.connect(tls).and_then(|mut client| {
                let done = first(&mut client)?;
                Ok((client, done))
            });
            let made = made.map_err(|error| described(&error));
            note(&lost, LOST_WAIT, made.as_ref().err());
            if let Err(SendError(Ok((client, done)))) = sender.send(made) {
                late(client, done);
            }
        };
        thread::Builder::new()
            .name("postgres-connect".into())
            .spawn(connect)
            .map_err(|error| PostgresError::new(format!("cannot start a thread for connecting: {error}")))?;
        receiver.recv_timeout(wait).unwrap_or_else(|_| {
            let error = PostgresError::new(format!("no answer within {} s", wait.as_secs()));
            note(&self.lost, HANDSHAKE, Some(&error));
            Err(error)
        })
    }

    /// Makes a connection for a pool, which gets it later if the server takes long.
    pub(super) fn session(&self, pool: &Arc<Pool<Session>>) -> Result<Session, StorageError> {
        let (wait, pool) = (self.admit()?, Arc::clone(pool));
        let late = move |client, timeout| {
            // Without a thread there is one connection less.
            let _ = Session::start(client, timeout).map(|session| pool.add(session));
        };
        let made = self.client(wait, Session::read_timeout, late);
        made.and_then(|(client, timeout)| Session::start(client, timeout)).map_err(StorageError::unavailable)
    }

    /// Checks a connection from the pool, and replaces it if it was closed, for example because the server was
    /// restarted.
    pub(super) fn refresh(
        &self,
        session: &mut Session,
        pool: &Arc<Pool<Session>>,
    ) -> Result<(), StorageError> {
        match session.check(self.admit()?.min(PING_WAIT)) {
            Ok(()) => note(&self.lost, LOST_WAIT, None::<&StorageError>),
            Err(error) if session.is_abandoned() => {
                // The other connections of a server that does not answer would be silent, too.
                note(&self.lost, LOST_WAIT, Some(&error));
                return Err(error);
            }
            Err(_) => *session = self.session(pool)?,
        }
        Ok(())
    }

    /// Returns the time for which a caller may wait for the server.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached and another caller tries it.
    fn admit(&self) -> Result<Duration, StorageError> {
        self.check_reach()?;
        match &mut *self.lost.lock() {
            None => Ok(REQUEST_WAIT),
            Some(lost) => {
                lost.next_try = Instant::now() + HANDSHAKE;
                Ok(LOST_WAIT)
            }
        }
    }

    /// Returns an error if the server cannot be reached and another caller tries it.
    pub(super) fn check_reach(&self) -> Result<(), StorageError> {
        match &*self.lost.lock() {
            Some(lost) if lost.next_try > Instant::now() => {
                let millis = lost.since.elapsed().as_millis();
                let text = format!("the server has been unreachable for {millis} ms: {}", lost.cause);
                Err(StorageError::unavailable(PostgresError::new(text)))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.lock().is_some()
    }
}

/// Records whether the server answered, and when the next caller may try if not.
fn note(lost: &Mutex<Option<Lost>>, pause: Duration, failure: Option<&impl ToString>) {
    let (mut lost, now) = (lost.lock(), Instant::now());
    *lost = failure.map(|cause| Lost {
        since: lost.as_ref().map_or(now, |lost| lost.since),
        cause: cause.to_string(),
        next_try: now + pause,
    });
}
