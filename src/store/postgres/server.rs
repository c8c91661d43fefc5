//! [`Server`]: the connections to a server, and whether it can be reached.

use std::error::Error as _;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use postgres::Config;

use super::error::{PostgresError, unavailable};
use super::session::Session;
use super::tls::{TlsConnector, connector};
use crate::base::storage::StorageError;
use crate::store::error::{OpenError, Result};
use crate::store::limits::{HANDSHAKE, LOST_WAIT, PING_WAIT, POOL_SIZES, REQUEST_WAIT};
use crate::store::pool::{Connection as _, Pool};
use crate::store::url::PostgresTarget;

/// The connections to one server.
///
/// While the server cannot be reached, one caller at a time tries whether it is available again. All others fail at
/// once, so that the request workers stay free.
pub(super) struct Server {
    config: Config,
    tls: TlsConnector,
    reach: Mutex<Reach>,
    pub(super) reading: Pool<Session>,
    pub(super) writing: Pool<Session>,
    /// For health checks, which wait for nobody.
    pub(super) health: Pool<Session>,
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
    /// Returns the server, and a first connection. Its answers take as long as the server allows. The error distinguishes a
    /// refusal from a server that cannot be reached.
    pub(super) fn connect(target: &PostgresTarget) -> Result<(Self, Session), OpenError> {
        let [reading, writing, health] = POOL_SIZES.map(Pool::new);
        let (config, tls, reach) = (target.config.clone(), connector(target)?, Mutex::default());
        let server = Self { config, tls, reach, reading, writing, health };
        let session = server.session().and_then(|mut session| session.check(HANDSHAKE).map(|()| session));
        let mut session = session.map_err(|cause| {
            let address = target.to_string();
            let is_refused = cause.source().and_then(|cause| cause.downcast_ref::<PostgresError>());
            match is_refused.is_some_and(PostgresError::is_refusal) {
                true => OpenError::Refused { address, cause },
                false => OpenError::Connect { address, cause },
            }
        })?;
        session.is_patient = true;
        Ok((server, session))
    }

    /// Runs `work` on a connection whose server answers.
    pub(super) fn with<T>(
        &self,
        pool: &Pool<Session>,
        wait: Duration,
        work: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        self.reach.lock().check()?;
        pool.with(
            wait,
            || self.session(),
            |session| {
                self.refresh(session)?;
                work(session)
            },
        )
    }

    /// Starts to make a connection.
    pub(super) fn session(&self) -> Result<Session> {
        Session::start(&self.config, &self.tls)
    }

    /// Waits until a connection is made, or checks one that was made, and replaces it if it was closed, for example
    /// because the server was restarted. One that takes longer to be made is left to the next caller.
    fn refresh(&self, session: &mut Session) -> Result<()> {
        let wait = self.reach.lock().admit()?;
        if session.is_broken() {
            *session = self.session()?;
        }
        let was_made = session.is_made();
        let mut checked = session.check(if was_made { wait.min(PING_WAIT) } else { wait });
        if was_made && checked.is_err() && !session.is_abandoned() {
            *session = self.session()?;
            checked = session.check(wait);
        }
        match &checked {
            Ok(()) => self.reach.lock().note_answer(),
            // The other connections of a server that does not answer would be silent, too.
            Err(error) => self.reach.lock().note_failure(error),
        }
        checked
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
        Err(unavailable(format!("the server has been unreachable for {millis} ms: {}", lost.cause)))
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

    /// Records that the server did not answer, and when the next caller tries. A server that answers others is not lost:
    /// it may allow no further connection.
    fn note_failure(&mut self, cause: &StorageError) {
        let now = Instant::now();
        if self.answered_at.is_some_and(|at| now.duration_since(at) < LOST_WAIT) {
            return;
        }
        let since = self.lost.as_ref().map_or(now, |lost| lost.since);
        let cause = cause.source().map(ToString::to_string).unwrap_or_default();
        self.lost = Some(Lost { since, cause, next_try: now + LOST_WAIT });
    }
}
