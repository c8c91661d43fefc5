//! PostgreSQL: any number of instances share one database.
//!
//! Transactions run at `READ COMMITTED`: each statement sees what was committed before it, and a row that is updated is
//! locked and read again. Every guarantee rests on a row lock or a unique index, so no write is retried
//! here; drivers retry their own. Rows are locked in one order (account, run, idempotency key, credits; several rows of
//! one table by id), so that no two transactions wait for each other. Migrations, which lock whole tables, give way to
//! other transactions and try again.
//!
//! A single statement is sent as such: it commits by itself, in one round trip. A connection is checked before it is used,
//! by `BEGIN` if a transaction follows.
//!
//! # Timeouts
//! Waiting for a connection, connecting, and the wait for each answer are bounded here (see `limits` and [`session`]).
//! The server bounds statements, waits for locks and idle transactions (`statement_timeout`, `lock_timeout`,
//! `idle_in_transaction_session_timeout`). TCP bounds how long a vanished machine or network is waited for
//! (`tcp_user_timeout`, keep-alive). While the server is unreachable, only one caller at a time waits for it
//! ([`Server`]). Callers that wait for a lock keep their connection; reading, writing and health checks each have
//! separate connections. Migrations may take a quarter of an hour: they run before any request is
//! served. Large deletions (an account's runs, old runs) are split into short transactions.
//!
//! # Notifications
//! `LISTEN` and `NOTIFY` wake readers that wait for changes of another instance; the data are read from the tables.
//! Rare changes that must not be missed (a deletion, a revoked key, released runs) are announced by their own
//! transaction, or, for an account's deletion, by the transaction that begins it. A driver's writes are not announced: a
//! transaction that notifies holds a lock of the whole server until its commit is on the disk, and would make all others
//! wait. Readers of a run look for them.
//!
//! A pooler in front of the server must pool sessions (`pool_mode = session`): settings and prepared statements belong
//! to a session.

mod error;
mod notify;
mod session;
mod tls;

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use postgres::Config;

pub(super) use session::Session;

use self::error::unavailable;
use self::tls::{TlsConnector, connector};
use super::error::{OpenError, Result, cause_of};
use super::limits::{HANDSHAKE, LOST_WAIT, MIGRATION, PING_WAIT, REQUEST_WAIT, Role};
use super::schema::{self, Migration};
use super::tx::Tx;
use super::url::PostgresTarget;
use crate::base::storage::StorageError;

/// A PostgreSQL server: how it is reached, and whether.
///
/// While it cannot be reached, one caller at a time tries whether it is available again. All others fail at
/// once, so that the request workers stay free.
pub(super) struct Server {
    config: Config,
    tls: TlsConnector,
    reach: Mutex<Reach>,
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
    /// Brings the schema of a database up to date.
    pub(super) fn open(target: &PostgresTarget, role: Role) -> Result<Self, OpenError> {
        let (server, mut tx) = Self::connect(target)?;
        schema::migrate(&mut tx, &role.origin(), opened(target))?;
        Ok(server)
    }

    /// Returns the migrations that opening the database would run.
    pub(super) fn pending(target: &PostgresTarget) -> Result<&'static [Migration], OpenError> {
        schema::missing(&mut Self::connect(target)?.1, opened(target))
    }

    /// Returns the server, and a first connection, for migrations.
    fn connect(target: &PostgresTarget) -> Result<(Self, Tx), OpenError> {
        let (config, tls, reach) = (target.config.clone(), connector(target)?, Mutex::default());
        let server = Self { config, tls, reach };
        let session = server.session().and_then(|mut session| session.check("", HANDSHAKE).map(|()| session));
        let mut session = session.map_err(opened(target))?;
        session.patience = MIGRATION;
        Ok((server, Tx::Postgres(session)))
    }

    /// Starts to make a connection.
    pub(super) fn session(&self) -> Result<Session> {
        Session::start(&self.config, &self.tls)
    }

    /// Returns an error if the server cannot be reached and another caller tries it.
    pub(super) fn check(&self) -> Result<()> {
        self.reach.lock().check()
    }

    /// Waits until a connection is made, or checks one that was made, and replaces it if it was closed, for example
    /// because the server was restarted. One that takes longer to be made is left to the next caller. `sql` is `BEGIN` or
    /// empty.
    pub(super) fn refresh(&self, session: &mut Session, sql: &'static str) -> Result<()> {
        let wait = self.reach.lock().admit()?;
        if session.is_broken() {
            *session = self.session()?;
        }
        let was_made = session.is_made();
        let mut checked = session.check(sql, if was_made { wait.min(PING_WAIT) } else { wait });
        if was_made && checked.is_err() && !session.is_abandoned() {
            *session = self.session()?;
            checked = session.check(sql, wait);
        }
        match &checked {
            Ok(()) => *self.reach.lock() = Reach { answered_at: Some(Instant::now()), lost: None },
            // The other connections of a server that does not answer would be silent, too.
            Err(error) => self.reach.lock().note_failure(error),
        }
        checked
    }

    /// Returns whether the server is known to be unreachable.
    pub(super) fn is_lost(&self) -> bool {
        self.reach.lock().lost.is_some()
    }
}

/// Returns the error for an operator of a database that cannot be opened or used.
fn opened(target: &PostgresTarget) -> impl Fn(StorageError) -> OpenError {
    |cause| OpenError::Connect { address: target.to_string(), cause }
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

    /// Records that the server did not answer, and when the next caller tries. A server that answers others is not lost:
    /// it may allow no further connection.
    fn note_failure(&mut self, cause: &StorageError) {
        let now = Instant::now();
        if self.answered_at.is_some_and(|at| now.duration_since(at) < LOST_WAIT) {
            return;
        }
        let since = self.lost.as_ref().map_or(now, |lost| lost.since);
        self.lost = Some(Lost { since, cause: cause_of(cause), next_try: now + LOST_WAIT });
    }
}
