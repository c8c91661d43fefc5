//! [`Server`]: the connections to a server, and whether it can be reached.

use std::sync::Arc;
use std::sync::mpsc::{self, SendError};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use postgres::{Client, Config};

use super::error::{PostgresError, described};
use super::session::Session;
use super::target::PostgresTarget;
use super::tls::{TlsConnector, connector};
use crate::base::storage::StorageError;
use crate::store::error::{OpenError, Result};
use crate::store::limits::{HANDSHAKE, LOST_WAIT, PING_WAIT, REQUEST_WAIT};
use crate::store::pool::Pool;

/// The connections to one server.
///
/// While the server cannot be reached, one caller at a time tries whether it is available again. All others fail at
/// once, so that the request workers stay free.
pub(super) struct Server {
    config: Config,
    tls: TlsConnector,
    reach: Arc<Mutex<Reach>>,
    pub(super) reading: Arc<Pool<Session>>,
    pub(super) writing: Arc<Pool<Session>>,
    /// For health checks, which wait for nobody.
    pub(super) health: Arc<Pool<Session>>,
}

#[derive(Default)]
struct Reach {
    answered_at: Option<Instant>,
    lost: Option<Lost>,
}

/// A server that cannot be reached.
struct Lost {
    since: Instant,
    cause: String,
    next_try: Instant,
}

impl Server {
    /// Returns the server with pools of these sizes, and a first connection. Its answers take as long as the server
    /// allows. The error distinguishes a refusal from a server that cannot be reached.
    pub(super) fn connect(
        target: &PostgresTarget,
        pool_sizes: [usize; 3],
    ) -> Result<(Self, Session), OpenError> {
        let [reading, writing, health] = pool_sizes.map(|max| Arc::new(Pool::new(max)));
        let (config, tls, reach) = (target.config.clone(), connector(target)?, Arc::default());
        let server = Self { config, tls, reach, reading, writing, health };
        let client = server.client(HANDSHAKE, |_| Ok(()), |_, ()| ());
        let session = client.and_then(|(client, ())| Session::start(client, None)).map_err(|cause| {
            let address = target.to_string();
            match cause.is_refusal() {
                true => OpenError::Refused { address, cause: StorageError::broken(cause) },
                false => OpenError::Connect { address, cause: StorageError::unavailable(cause) },
            }
        })?;
        Ok((server, session))
    }

    /// Runs `work` on a connection whose server answers.
    pub(super) fn with<T>(
        &self,
        pool: &Arc<Pool<Session>>,
        wait: Duration,
        work: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        self.reach.lock().check()?;
        let make = || {
            let wait = self.reach.lock().admit()?;
            self.session(pool, wait)
        };
        pool.with(wait, make, |session| {
            self.refresh(session, pool)?;
            work(session)
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
        let (config, tls, reach) = (self.config.clone(), self.tls.clone(), Arc::clone(&self.reach));
        let (sender, receiver) = mpsc::channel();
        let connect = move || {
            let made = config.connect(tls).and_then(|mut client| {
                let done = first(&mut client)?;
                Ok((client, done))
            });
            if let Err(SendError(Ok((client, done)))) = sender.send(made) {
                reach.lock().note_answer();
                late(client, done);
            }
        };
        thread::Builder::new()
            .name("postgres-connect".into())
            .spawn(connect)
            .map_err(|error| PostgresError::new(format!("cannot start a thread for connecting: {error}")))?;
        let (made, pause) = match receiver.recv_timeout(wait) {
            Ok(made) => (made.map_err(|error| described(&error)), LOST_WAIT),
            // The attempt goes on.
            Err(_) => (Err(PostgresError::new(format!("no answer within {} s", wait.as_secs()))), HANDSHAKE),
        };
        match &made {
            Ok(_) => self.reach.lock().note_answer(),
            Err(error) => self.reach.lock().note_failure(error, pause),
        }
        made
    }

    /// Makes a connection for a pool, which gets it later if the server takes long.
    fn session(&self, pool: &Arc<Pool<Session>>, wait: Duration) -> Result<Session> {
        let pool = Arc::clone(pool);
        let late = move |client, timeout| {
            // Without a thread there is one connection less.
            let _ = Session::start(client, timeout).map(|session| pool.add(session));
        };
        let made = self.client(wait, Session::read_timeout, late);
        made.and_then(|(client, timeout)| Session::start(client, timeout)).map_err(StorageError::unavailable)
    }

    /// Checks a connection from the pool, and replaces it if it was closed, for example because the server was
    /// restarted.
    fn refresh(&self, session: &mut Session, pool: &Arc<Pool<Session>>) -> Result<()> {
        let wait = self.reach.lock().admit()?;
        match session.check(wait.min(PING_WAIT)) {
            Ok(()) => self.reach.lock().note_answer(),
            Err(error) if session.is_abandoned() => {
                // The other connections of a server that does not answer would be silent, too.
                self.reach.lock().note_failure(&error, LOST_WAIT);
                return Err(error);
            }
            Err(_) => *session = self.session(pool, wait)?,
        }
        Ok(())
    }

    pub(super) fn is_lost(&self) -> bool {
        self.reach.lock().lost.is_some()
    }
}

impl Reach {
    /// Returns an error if the server cannot be reached and another caller tries it.
    fn check(&self) -> Result<()> {
        let Some(lost) = self.lost.as_ref().filter(|lost| lost.next_try > Instant::now()) else {
            return Ok(());
        };
        let millis = lost.since.elapsed().as_millis();
        let text = format!("the server has been unreachable for {millis} ms: {}", lost.cause);
        Err(StorageError::unavailable(PostgresError::new(text)))
    }

    /// Returns the time for which a caller may wait for the server.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached and another caller tries it.
    fn admit(&mut self) -> Result<Duration> {
        self.check()?;
        let Some(lost) = &mut self.lost else { return Ok(REQUEST_WAIT) };
        lost.next_try = Instant::now() + HANDSHAKE;
        Ok(LOST_WAIT)
    }

    fn note_answer(&mut self) {
        *self = Self { answered_at: Some(Instant::now()), lost: None };
    }

    /// Records that the server did not answer, and after which pause the next caller tries. A server that answers others
    /// is not lost: it may allow no further connection.
    fn note_failure(&mut self, cause: &impl ToString, pause: Duration) {
        let now = Instant::now();
        if self.answered_at.is_some_and(|at| now.duration_since(at) < LOST_WAIT) {
            return;
        }
        let since = self.lost.as_ref().map_or(now, |lost| lost.since);
        self.lost = Some(Lost { since, cause: cause.to_string(), next_try: now + pause });
    }
}
