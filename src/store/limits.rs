//! All timeouts and sizes of the store, with their reasons, and the kinds of processes that use it.

use std::time::Duration;

use crate::model::audit::Origin;

/// The kind of process that opens a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A server. Only one server at a time can use an SQLite file, but any number can use a PostgreSQL database.
    Server,
    /// A short command, which does one thing at a time and may run at the same time as a server.
    Command,
}

impl Role {
    /// Returns the origin that the audit log records for changes of the schema.
    pub(super) fn origin(self) -> Origin {
        match self {
            Self::Server => Origin::SYSTEM,
            Self::Command => Origin::CLI,
        }
    }
}

/// The maximum numbers of connections for reading, for writing, and for health checks, which are opened when they are
/// needed. The 16 request workers and up to 64 drivers of a server hold one for about a
/// millisecond at a time; a PostgreSQL server allows 100 by default, shared by all
/// instances. SQLite has one for writing.
pub(super) const POOL_SIZES: [usize; 3] = [4, 5, 1];
pub(super) const SQLITE_POOL_SIZES: [usize; 3] = [8, 1, 1];

/// The time for which a request waits for a free connection or for a new one. For a longer wait, status 503 with
/// `Retry-After` is better for the client.
pub(super) const REQUEST_WAIT: Duration = Duration::from_secs(3);

/// The number of requests that may wait so long (half of the request workers by default). Further ones wait only as long
/// as the connections are given and returned: a commit on a slow or busy disk takes less.
pub(super) const WAITING_REQUESTS: usize = 8;
pub(super) const CROWDED_WAIT: Duration = Duration::from_millis(500);

/// The time for which a thread that serves no request waits for a free connection. Such a thread delays no response,
/// and tries again later.
pub(super) const BACKGROUND_WAIT: Duration = Duration::from_secs(10);

/// The pause between two tries to reach a server that was lost, and the time for which the caller that tries waits. A
/// connection that takes longer is still made, and the next caller gets it.
pub(super) const LOST_WAIT: Duration = Duration::from_secs(1);

/// The time for which SQLite waits for a lock that another process holds.
pub(super) const SQLITE_BUSY: Duration = Duration::from_secs(3);

/// The time for which SQLite waits for readers before it empties its write-ahead log. All writers wait meanwhile, and
/// the next try comes a second later.
pub(super) const WIPE_WAIT: Duration = Duration::from_millis(50);
/// The time for which a process waits for the lock of an SQLite file, which a server holds until it ends and a command
/// while it changes the schema, and the interval at which it looks.
pub(super) const SQLITE_LOCK_WAIT: Duration = Duration::from_secs(5);
pub(super) const SQLITE_LOCK_LOOK: Duration = Duration::from_millis(10);

/// The time by which the check of an SQLite file may delay the start. The check of a file of 1.3 GB in the page cache
/// takes two to three seconds.
pub(super) const QUICK_CHECK: Duration = Duration::from_secs(5);

/// The time without a failed operation after which the log calls the database available again. It is longer than a
/// driver's longest pause between two tries, and than the pause between two maintenance rounds.
pub(super) const OUTAGE_OVER: Duration = Duration::from_secs(10);

/// The time for which a health check waits for a connection and, again, for an answer. A load balancer checks every
/// few seconds.
pub(super) const PING_WAIT: Duration = Duration::from_secs(2);

/// The time for which the trial write of a health check waits for a lock.
pub(super) const TRIAL_WAIT: Duration = Duration::from_millis(100);

/// The time for which a refused write makes health checks fail. After it a trial write decides. It is longer than a
/// driver's longest pause between two tries, so that the health does not alternate while a run waits for the store.
pub(super) const REFUSED_WRITE_COUNTS: Duration = Duration::from_secs(5);

/// The time for which an answer is waited for. It is longer than `statement_timeout`: a working server has cancelled the
/// statement and reported it by then. A hung server or a network that lost the answer never does.
pub(super) const ANSWER: Duration = Duration::from_secs(12);

/// The same for migrations, whose statements the server allows more time: see `schema`.
pub(super) const MIGRATION: Duration = Duration::from_secs(16 * 60);

/// The time limit for connecting as a whole, including TLS and authentication.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(10);

/// What an address has if it does not say otherwise, in seconds: the time limit for connecting to each address of the
/// host; the time for which a packet may stay unacknowledged before the server's machine counts as gone; the time for
/// which a connection may be silent before it is probed, the interval of the probes, and the number of probes that may
/// fail. A query to a machine that vanished ends after 15 + 3 × 5 seconds.
pub(super) const POSTGRES_LIMITS: &str = "connect_timeout=5&tcp_user_timeout=10&keepalives_idle=15\
     &keepalives_interval=5&keepalives_retries=3&application_name=sightline";

/// The settings of every PostgreSQL session. The `options` in the address override them.
///
/// Every statement of this program uses an index and takes milliseconds, so one that needs ten seconds is stuck. The
/// wait for a lock is shorter, so that the error names the lock. No transaction is left idle on purpose. If a
/// process froze inside one, the server releases its locks.
pub(super) const POSTGRES_SETTINGS: &str =
    "-c statement_timeout=10s -c lock_timeout=3s -c idle_in_transaction_session_timeout=30s -c timezone=UTC";

/// The time that the statements of a request's transaction may take before no further statement is begun. With the
/// `lock_timeout` of the last statement, the transaction takes at most twice as long.
pub(super) const TRANSACTION: Duration = Duration::from_secs(3);

/// The maximum nesting of arrays and objects in a result's metadata. See `document`.
pub(super) const METADATA_DEPTH: usize = 64;

/// The time for which an update of a session of the web app may wait, because the page waits for it.
pub(super) const TOUCH_WAIT: Duration = Duration::from_millis(100);

/// The maximum number of sessions of the web app for each account. The least recently used one ends when one more
/// begins.
pub(super) const SESSIONS_KEPT: i64 = 50;
