//! Brings the schema up to date.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};

use super::At;
use super::error::storage;
use super::file::ServerLock;
use crate::base::storage::StorageError;
use crate::store::error::OpenError;
use crate::store::schema::{self, Step};

/// Marks the file as ours ("SLDB"), so that no other program's database is taken for one.
const APPLICATION_ID: i32 = 0x534C_4442;

const VERSION_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_version (
    version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT";

/// Runs what is missing. `locked`: this process holds the server's lock.
pub(super) fn run(connection: &mut Connection, path: &Path, locked: bool) -> Result<(), OpenError> {
    let opened = |error| failed(path, storage(error));
    let first_look = connection.transaction().map_err(opened)?;
    let is_current = next(&first_look, path)?.is_none();
    drop(first_look);
    connection.pragma_update(None, "journal_mode", "WAL").map_err(opened)?;
    if is_current {
        return Ok(());
    }
    let _lock = if locked { None } else { Some(ServerLock::share(path)?) };
    loop {
        // Another starter may be at it: what is missing is known only under the lock.
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(opened)?;
        let Some((version, migration)) = next(&transaction, path)? else { return Ok(()) };
        apply(&transaction, (version, migration))
            .and_then(|()| transaction.commit())
            .map_err(|error| OpenError::Migration { name: migration.name, cause: storage(error) })?;
        log::info!("migrated the database to schema version {version} ({})", migration.name);
    }
}

fn apply(transaction: &Transaction<'_>, (version, migration): Step) -> rusqlite::Result<()> {
    transaction.execute_batch(VERSION_TABLE)?;
    transaction.execute_batch(migration.sqlite)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.execute(
        "INSERT INTO schema_version (version, name, applied_at) VALUES (?1, ?2, ?3)",
        params![version, migration.name, At(Timestamp::now())],
    )?;
    Ok(())
}

/// The next migration, of a database that is ours or empty.
fn next(connection: &Connection, path: &Path) -> Result<Option<Step>, OpenError> {
    match look(connection) {
        Ok(Some(applied)) => schema::next_step(&applied),
        Ok(None) => Err(foreign(path, "holds the tables of another program")),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            Err(foreign(path, "is no SQLite file, or is encrypted"))
        }
        Err(error) => Err(failed(path, storage(error))),
    }
}

/// What the database has noted, by version; `None`: this is somebody else's.
fn look(connection: &Connection) -> rusqlite::Result<Option<Vec<(i64, String)>>> {
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let has = |condition: &str| {
        connection
            .query_row(&format!("SELECT 1 FROM sqlite_schema {condition} LIMIT 1"), [], |_| Ok(()))
            .optional()
            .map(|found| found.is_some())
    };
    let has_versions = has("WHERE type = 'table' AND name = 'schema_version'")?;
    // A database that was restored from a dump has lost its mark.
    let is_ours = id == APPLICATION_ID || (id == 0 && (has_versions || !has("")?));
    if !is_ours {
        return Ok(None);
    }
    if has_versions { applied(connection).map(Some) } else { Ok(Some(Vec::new())) }
}

fn applied(connection: &Connection) -> rusqlite::Result<Vec<(i64, String)>> {
    connection
        .prepare("SELECT version, name FROM schema_version ORDER BY version")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn foreign(path: &Path, why: &str) -> OpenError {
    OpenError::Foreign(format!("\"{}\" {why}", path.display()))
}

fn failed(path: &Path, cause: StorageError) -> OpenError {
    OpenError::Connect { address: format!("sqlite:{}", path.display()), cause }
}
