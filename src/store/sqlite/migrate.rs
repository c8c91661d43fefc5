//! Migrations of an SQLite database.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::connection::{EXISTING, connect};
use super::error::storage_error;
use super::file;
use crate::model::audit::Origin;
use crate::store::error::{OpenError, Result};
use crate::store::schema::{self, MIGRATIONS, Migration};
use crate::store::tx::Tx;

/// The application id of this program's files ("SLDB"). It distinguishes them from databases of other programs.
const APPLICATION_ID: i32 = 0x534C_4442;

/// Makes the tables of an empty database.
pub(super) fn create(connection: &Connection) -> Result<()> {
    MIGRATIONS
        .iter()
        .try_for_each(|migration| Tx::Sqlite(connection).batch(migration.sqlite, migration.postgres))
}

/// Returns the migrations that opening the file would run.
pub(in crate::store) fn pending(path: &Path) -> Result<&'static [Migration], OpenError> {
    match path.try_exists() {
        Ok(true) => pending_on(&mut connect(path, EXISTING)?, path),
        Ok(false) => Ok(MIGRATIONS),
        Err(cause) => Err(OpenError::File { path: path.to_owned(), cause }),
    }
}

/// Runs the missing migrations on a connection. `locked` says whether this process holds the file's lock.
pub(super) fn run(
    connection: &mut Connection,
    path: &Path,
    locked: bool,
    by: &Origin,
) -> Result<(), OpenError> {
    let opened = |error| failed(path, error);
    if is_ready(connection, path)? {
        return Ok(());
    }
    // From this point on, only one process at a time continues. Otherwise SQLite would refuse the second one at once
    // when both switch to WAL, because it never waits for a read lock to become a write lock.
    let lock = if locked { None } else { file::lock(path, || is_ready(connection, path))? };
    if !locked && lock.is_none() {
        return Ok(());
    }
    connection.pragma_update(None, "journal_mode", "WAL").map_err(opened)?;
    loop {
        // Another process may have run migrations, so the missing ones are known only under the lock.
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(opened)?;
        let Some(migration) = pending_in(&transaction, path)?.first() else { return Ok(()) };
        migration.run(&mut Tx::Sqlite(&transaction), by)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(opened)?;
        transaction.commit().map_err(opened)?;
    }
}

/// Returns the missing migrations.
pub(super) fn pending_on(
    connection: &mut Connection,
    path: &Path,
) -> Result<&'static [Migration], OpenError> {
    let transaction = connection.transaction().map_err(|error| failed(path, error))?;
    pending_in(&transaction, path)
}

/// Returns whether the schema is up to date.
fn is_ready(connection: &mut Connection, path: &Path) -> Result<bool, OpenError> {
    // The application id is checked first, because nothing else is read from another program's file.
    let is_current = pending_on(connection, path)?.is_empty();
    let mode: String = connection
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .map_err(|error| failed(path, error))?;
    Ok(is_current && mode.eq_ignore_ascii_case("wal"))
}

/// Returns the missing migrations of an empty database or one of this program.
fn pending_in(connection: &Connection, path: &Path) -> Result<&'static [Migration], OpenError> {
    match look(connection) {
        Ok(Some(version)) => schema::pending(version),
        Ok(None) => Err(foreign(path, "contains the tables of another program")),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => Err(foreign(
            path,
            "is not an SQLite file, is encrypted or is damaged; if it was one, restore a backup",
        )),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            Err(OpenError::Damaged { path: path.to_owned(), why: error.to_string() })
        }
        Err(error) => Err(failed(path, error)),
    }
}

/// Returns the version of the schema, which a new file does not have, or `None` if the file belongs to another program.
fn look(connection: &Connection) -> rusqlite::Result<Option<Option<i64>>> {
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let has = |condition: &str| {
        connection.prepare(&format!("SELECT 1 FROM sqlite_schema {condition} LIMIT 1"))?.exists([])
    };
    let has_version = has("WHERE type = 'table' AND name = 'schema_version'")?;
    // A database that was restored from a dump has lost its application id.
    let is_ours = id == APPLICATION_ID || (id == 0 && (has_version || !has("")?));
    if !is_ours || !has_version {
        return Ok(is_ours.then_some(None));
    }
    connection.query_row("SELECT max(version) FROM schema_version", [], |row| row.get(0)).map(Some)
}

fn foreign(path: &Path, why: &str) -> OpenError {
    OpenError::Foreign(format!("\"{}\" {why}", path.display()))
}

fn failed(path: &Path, error: rusqlite::Error) -> OpenError {
    OpenError::of_file(path, storage_error(error))
}
