//! Brings the schema up to date.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

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
    check_is_ours(connection, path)?;
    if next(connection, path)?.is_none() {
        return Ok(());
    }
    let _lock = if locked { None } else { Some(ServerLock::share(path)?) };
    connection.pragma_update(None, "journal_mode", "WAL").map_err(opened)?;
    loop {
        // Another starter may be at it: what is missing is known only under the lock.
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(opened)?;
        check_is_ours(&transaction, path)?;
        transaction.execute_batch(VERSION_TABLE).map_err(opened)?;
        let Some((version, migration)) = next(&transaction, path)? else { return Ok(()) };
        apply(&transaction, (version, migration))
            .and_then(|()| transaction.commit())
            .map_err(|error| OpenError::Migration { name: migration.name, cause: storage(error) })?;
        log::info!("migrated the database to schema version {version} ({})", migration.name);
    }
}

fn apply(transaction: &Transaction<'_>, (version, migration): Step) -> rusqlite::Result<()> {
    transaction.execute_batch(migration.sqlite)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.execute(
        "INSERT INTO schema_version (version, name, applied_at) VALUES (?1, ?2, ?3)",
        params![version, migration.name, At(Timestamp::now())],
    )?;
    Ok(())
}

fn check_is_ours(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(
        |error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => {
                OpenError::Foreign(format!("\"{}\" is no SQLite file, or is encrypted", path.display()))
            }
            _ => failed(path, storage(error)),
        },
    )?;
    let is_empty = || {
        connection
            .query_row("SELECT 1 FROM sqlite_schema LIMIT 1", [], |_| Ok(()))
            .optional()
            .map(|found| found.is_none())
            .map_err(|error| failed(path, storage(error)))
    };
    if id == APPLICATION_ID || (id == 0 && is_empty()?) {
        return Ok(());
    }
    Err(OpenError::Foreign(format!("\"{}\" holds the tables of another program", path.display())))
}

fn next(connection: &Connection, path: &Path) -> Result<Option<Step>, OpenError> {
    let applied = applied(connection).map_err(|error| failed(path, storage(error)))?;
    schema::next_step(&applied)
}

fn applied(connection: &Connection) -> rusqlite::Result<Vec<(i64, String)>> {
    let noted = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_version'";
    if connection.query_row(noted, [], |_| Ok(())).optional()?.is_none() {
        return Ok(Vec::new());
    }
    connection
        .prepare("SELECT version, name FROM schema_version ORDER BY version")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn failed(path: &Path, cause: StorageError) -> OpenError {
    OpenError::Connect { address: format!("sqlite:{}", path.display()), cause }
}
