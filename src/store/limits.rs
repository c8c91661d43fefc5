//! Every timeout and size of the store, with its reason.

use std::time::Duration;

/// Connections of a server: 16 request workers and up to 64 drivers hold one for a millisecond or so at a
/// time; a PostgreSQL server allows 100 in all by default, shared by all instances.
pub const DEFAULT_POOL_SIZE: u32 = 10;

/// How long a call waits for a free connection. A client that waits longer than this is better served by
/// a 503 and a `Retry-After`.
pub(super) const POOL_WAIT: Duration = Duration::from_secs(5);

/// The same while the server is known to be away. A connection that takes longer than this to be made is made all
/// the same, and found by whoever comes next.
pub(super) const AWAY_WAIT: Duration = Duration::from_secs(1);

/// How long a write to SQLite waits for its turn; there is one writer. More than [`POOL_WAIT`]: a driver's
/// write that gives up fails a run.
pub(super) const WRITER_WAIT: Duration = Duration::from_secs(10);

/// How long SQLite waits for a lock that another process (a command) holds.
pub(super) const SQLITE_BUSY: Duration = Duration::from_secs(5);

/// How long emptying the log of an SQLite file waits for those who read it; all writers wait with it, and it is tried
/// again a second later.
pub(super) const WIPE_WAIT: Duration = Duration::from_millis(50);
/// How long whoever has to change an SQLite file waits for others that do, looking so often.
pub(super) const SQLITE_CHANGE_WAIT: Duration = Duration::from_secs(10);
pub(super) const SQLITE_LOCK_LOOK: Duration = Duration::from_millis(10);

/// How long a server is seen to have the file before another one gives up: longer than it takes to empty the
/// lock of what a dead server left.
pub(super) const SQLITE_SERVER_SEEN: Duration = Duration::from_millis(250);

/// The same for a command, which takes the server for one of an older version then: longer than a new
/// server needs to change the schema itself.
pub(super) const SQLITE_OLD_SERVER_SEEN: Duration = Duration::from_secs(2);

/// How long a health check waits for a connection and, again, for an answer: a load balancer asks every
/// few seconds.
pub(super) const PING_WAIT: Duration = Duration::from_secs(2);

/// How long a refused write makes a health check fail; after that a trial write decides. Longer than a driver's
/// longest pause between two tries: while any run waits for the store, health does not flicker.
pub(super) const WRITES_DOUBTED: Duration = Duration::from_secs(5);

/// How much longer than the server's own `statement_timeout` an answer is waited for. A server that works has
/// given up by then and said so; one that stands still, or a network that lost the answer, never does.
pub(super) const ANSWER_MARGIN: Duration = Duration::from_secs(2);

/// How long connecting to PostgreSQL may take, for each address of the host.
pub(super) const CONNECT: Duration = Duration::from_secs(5);

/// How long connecting may take in all, TLS and authentication included.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(10);

/// How many connection attempts may wait for their server at once. Each is a thread that ends when the
/// server answers or goes away.
pub(super) const MAX_CONNECTING: usize = 32;

/// How long an attempt keeps its place. What stands between may hold a connection open for a server that is long gone:
/// such attempts never end, and must not keep others from one that is back. It bounds how many threads they may cost.
pub(super) const CONNECTING_COUNTS: Duration = Duration::from_secs(5 * 60);

/// After how long without an acknowledgement a sent packet means that the server's machine is gone.
pub(super) const TCP_USER: Duration = Duration::from_secs(10);

/// After how long a silent connection is probed, and how often until it is given up: a waiting query on a
/// machine that vanished ends after 15 + 3 × 5 seconds.
pub(super) const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
pub(super) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
pub(super) const KEEPALIVE_RETRIES: u32 = 3;

/// Settings of every PostgreSQL session; what the address says in `options` wins.
///
/// Every statement here is bound to an index and takes milliseconds: one that needs ten seconds is stuck.
/// A lock is waited for half as long, so that the error names the lock. A transaction is never left idle;
/// where a process froze inside one, its locks are freed.
pub(super) const POSTGRES_SETTINGS: &str =
    "-c statement_timeout=10s -c lock_timeout=5s -c idle_in_transaction_session_timeout=30s -c timezone=UTC";

/// The same for a transaction that may take long: a migration, which may rewrite a table and waits for other
/// starters.
pub(super) const LONG_WORK: [&str; 3] = [
    "SET LOCAL statement_timeout = '15min'",
    "SET LOCAL lock_timeout = '15min'",
    "SET LOCAL idle_in_transaction_session_timeout = '15min'",
];

/// How long a migration waits for a table: whoever comes after it waits behind it, and fails after his own
/// `lock_timeout`. More than the second after which the server notices a deadlock.
pub(super) const MIGRATION_LOCK: &str = "SET LOCAL lock_timeout = '2s'";

/// How often a migration that did not get its tables in that time, or met a deadlock, is tried before the start is given
/// up, and the pause before the next try: servers of the version before work meanwhile.
pub(super) const MIGRATION_TRIES: u32 = 15;
pub(super) const MIGRATION_PAUSE: Duration = Duration::from_secs(1);

/// How deep arrays and objects of a result's metadata may nest; see `document`.
pub(super) const METADATA_DEPTH: usize = 64;

/// Sessions of the web app that an account has at most; the one not used for longest ends where one more begins.
pub(super) const SESSIONS_KEPT: i64 = 50;
