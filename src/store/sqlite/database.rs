use std::path::Path;
use std::time::{Duration, Instant};

use log::warn;
use parking_lot::Mutex;
use r2d2::{NopErrorHandler, Pool, PooledConnection};
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use super::connection::{configure, connect, flags};
use super::error::{pool_error, storage_error};
use super::file::{self, FileLock};
use super::integrity::{self, Integrity};
use super::migrate;
use super::statements::OnConnection;
use super::write_log::{LogState, truncate};
use crate::base::storage::StorageError;
use crate::store::backend::{Backend, Durability, End, Operation, Work};
use crate::store::concurrency::{ConcurrencyLimit, Permit, WaitLimit};
use crate::store::error::OpenError;
use crate::store::limits::{PING_WAIT, POOL_WAIT, SQLITE_BUSY, SQLITE_BUSY_TRY, UNAVAILABLE_WAIT, WIPE_WAIT};
use crate::store::load::StoreLoad;
use crate::store::queries::queue::has_begun;
use crate::store::role::Role;
use crate::store::write_health::WriteHealth;

/// An open SQLite database.
pub(in crate::store) struct Database {
    readers: Pool<SqliteConnectionManager>,
    /// A limit with one permit, whose holder may lock the connection.
    limit: ConcurrencyLimit,
    writer: Mutex<Connection>,
    integrity: Integrity,
    writes: WriteHealth,
    log: LogState,
    lock: Option<FileLock>,
}

impl Database {
    /// Opens or creates the file.
    pub(in crate::store) fn open(path: &Path, role: Role) -> Result<Self, OpenError> {
        let path = file::prepare(path)?;
        let lock = match role {
            Role::Server => Some(FileLock::for_a_server(&path)?),
            Role::Command => None,
        };
        let failed = |cause| OpenError::Connect { address: format!("sqlite:{}", path.display()), cause };
        let mut writer = connect(&path, flags())?;
        let integrity = Integrity::of(&path);
        if lock.is_some() {
            // Nothing else is read from a file of another program.
            migrate::pending_on(&mut writer, &path)?;
            integrity::check_file(&writer, &path)?;
        }
        migrate::run(&mut writer, &path, lock.is_some(), &role.origin())?;
        if lock.is_some() {
            // The file lock proves that no other server drives a run, so no lease has to expire first.
            writer
                .execute(concat!("UPDATE runs SET owner = NULL WHERE ", has_begun!()), [])
                .map_err(storage_error)
                .map_err(failed)?;
        }
        writer.busy_timeout(SQLITE_BUSY_TRY).map_err(storage_error).map_err(failed)?;
        let manager = SqliteConnectionManager::file(&path).with_flags(flags()).with_init(|connection| {
            configure(connection)?;
            connection.pragma_update(None, "query_only", true)
        });
        let readers = Pool::builder()
            .max_size(role.pool_size())
            .min_idle(Some(0))
            .max_lifetime(None)
            .connection_timeout(POOL_WAIT)
            .error_handler(Box::new(NopErrorHandler))
            .build_unchecked(manager);
        Ok(Self {
            readers,
            limit: ConcurrencyLimit::new(1),
            writer: Mutex::new(writer),
            integrity,
            writes: WriteHealth::default(),
            log: LogState::unknown(),
            lock,
        })
    }

    /// Returns a connection for reading.
    fn reader(&self, wait: Duration) -> Result<PooledConnection<SqliteConnectionManager>, StorageError> {
        self.readers.get_timeout(wait).map_err(pool_error)
    }

    /// Runs `work` in a transaction that holds the write lock from its start.
    fn write_in_turn(
        &self,
        wait_limit: WaitLimit,
        durability: Durability,
        work: Work<'_>,
    ) -> Result<(), StorageError> {
        self.integrity.check()?;
        let mut permit = self.limit.acquire(wait_limit)?;
        let done = self.write_inside(&permit, wait_limit, durability, work);
        permit.note(done.as_ref().map_or_else(|error| !error.is_unavailable(), |()| true));
        done
    }

    fn write_inside(
        &self,
        permit: &Permit<'_>,
        wait_limit: WaitLimit,
        durability: Durability,
        work: Work<'_>,
    ) -> Result<(), StorageError> {
        let mut writer = self.writer.lock();
        if !writer.is_autocommit() {
            // A rollback has failed, for example because the disk was full, and its transaction is still open.
            writer.execute_batch("ROLLBACK").map_err(storage_error)?;
        }
        writer
            .execute_batch(match durability {
                Durability::Full => "PRAGMA synchronous = FULL",
                Durability::Process => "PRAGMA synchronous = NORMAL",
            })
            .map_err(storage_error)?;
        let wait = match wait_limit {
            WaitLimit::Within(wait) => wait,
            _ if permit.is_trial() => UNAVAILABLE_WAIT,
            _ => SQLITE_BUSY,
        };
        let transaction = begin(&mut writer, permit, wait)?;
        match work(&mut OnConnection(&transaction))? {
            End::Commit => transaction.commit().map_err(storage_error).map_err(StorageError::unconfirmed),
            End::RollBack => transaction.rollback().map_err(storage_error),
        }
    }

    /// Checks that the file can be read and, as far as is known, written.
    fn check_health(&self, wait: Duration) -> Result<(), StorageError> {
        self.integrity.check()?;
        self.reader(wait)?
            .query_row("SELECT 1 FROM schema_version LIMIT 1", [], |_| Ok(()))
            .map_err(storage_error)?;
        self.writes.check(|| {
            // A health check does not wait for a lock.
            self.write_in_turn(WaitLimit::Within(SQLITE_BUSY_TRY), Durability::Full, &mut |statements| {
                statements.execute("UPDATE schema_version SET name = name WHERE version = 1", &[])?;
                Ok(End::Commit)
            })
        })
    }

    /// Empties the write-ahead log for a command, which has no maintenance thread. Waits as long as a write does.
    fn wipe_now(&self) -> Result<bool, StorageError> {
        let _permit = self.limit.acquire(WaitLimit::Background)?;
        truncate(&self.writer.lock(), SQLITE_BUSY)
    }
}

/// Begins a transaction that may write. Waits for another process's lock for `wait` at most, and reports the lock to
/// the permit after [`SQLITE_BUSY_TRY`].
fn begin<'a>(
    writer: &'a mut Connection,
    permit: &Permit<'_>,
    wait: Duration,
) -> Result<Transaction<'a>, StorageError> {
    let until = Instant::now() + wait;
    loop {
        // Each try waits for SQLITE_BUSY_TRY.
        match Transaction::new_unchecked(writer, TransactionBehavior::Immediate) {
            Ok(transaction) => return Ok(transaction),
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < until =>
            {
                permit.note_blocked();
            }
            Err(error) => return Err(storage_error(error)),
        }
    }
}

impl Backend for Database {
    fn read(&self, _: &Operation, work: Work<'_>) -> Result<(), StorageError> {
        work(&mut OnConnection(&*self.reader(POOL_WAIT)?)).map(drop)
    }

    fn write(&self, operation: &Operation, work: Work<'_>) -> Result<(), StorageError> {
        let done = self.write_in_turn(operation.wait_limit, operation.durability, work);
        if operation.erases {
            // This is also done if the commit failed, because the deleted data may be in the log.
            self.log.note_deletion();
        }
        self.writes.note(done)
    }

    fn ping(&self) -> Result<(), StorageError> {
        self.check_health(PING_WAIT)
    }

    fn load(&self) -> StoreLoad {
        let state = self.readers.state();
        let writes = u32::try_from(self.limit.held()).unwrap_or(u32::MAX);
        StoreLoad {
            used: state.connections.saturating_sub(state.idle_connections) + writes,
            idle: state.idle_connections + 1 - writes,
            max: self.readers.max_size() + 1,
            is_unavailable: self.writes.has_refusal() || self.integrity.is_impaired(),
        }
    }

    fn note_failure(&self, failure: StorageError) -> StorageError {
        self.integrity.note_failure(failure)
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn wipe(&self) -> Result<bool, StorageError> {
        // This is called every second, so a file that was removed is noticed even without requests.
        self.integrity.check()?;
        self.log.wipe(|| match self.limit.acquire(WaitLimit::Within(Duration::ZERO)) {
            Ok(_permit) => truncate(&self.writer.lock(), WIPE_WAIT),
            Err(_) => Ok(false),
        })
    }

    fn account_erased(&self) {
        if self.lock.is_some() {
            // A server's maintenance empties the log within a second.
            return;
        }
        match self.wipe_now() {
            Ok(true) => {}
            Ok(false) => {
                warn!(
                    "the write-ahead log still holds deleted data because another process reads it; it is emptied later"
                );
            }
            Err(error) => warn!("the write-ahead log still holds deleted data: {error}"),
        }
    }
}
