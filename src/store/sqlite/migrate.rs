//! Migrations of an SQLite database.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};

use super::connection::{connect, flags};
use super::error::storage_error;
use super::file::{self, FileLock};
use super::statements::OnConnection;
use crate::account::audit::Origin;
use crate::base::storage::StorageError;
use crate::store::error::OpenError;
use crate::store::queries::audit::{migrated, note};
use crate::store::schema::{self, Applied, Dialect, Migration, Step};

/// The application id of this program's files ("SLDB"). It distinguishes them from databases of other programs.
const APPLICATION_ID: i32 = 0x534C_4442;

const VERSION_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_version (
    version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT";

/// Brings the schema of the file up to date. Returns the migrations that were run.
pub(in crate::store) fn migrate(path: &Path, by: &Origin) -> Result<Vec<&'static Migration>, OpenError> {
    let path = file::prepare(path)?;
    run(&mut connect(&path, flags())?, &path, false, by)
}

/// Returns the migrations that [`migrate`] would run.
pub(in crate::store) fn pending(path: &Path) -> Result<Vec<&'static Migration>, OpenError> {
    match path.try_exists() {
        Ok(true) => pending_on(&mut connect(path, flags() - OpenFlags::SQLITE_OPEN_CREATE)?, path),
        Ok(false) => Ok(schema::MIGRATIONS.iter().collect()),
        Err(cause) => Err(OpenError::File { path: path.to_owned(), cause }),
    }
}

/// Runs the missing migrations on a connection, and returns them. `locked` tells whether this process holds the
/// file's lock.
pub(super) fn run(
    connection: &mut Connection,
    path: &Path,
    locked: bool,
    by: &Origin,
) -> Result<Vec<&'static Migration>, OpenError> {
    let opened = |error| failed(path, storage_error(error));
    let mut done = Vec::new();
    if is_ready(connection, path)? {
        return Ok(done);
    }
    // From this point on, only one process at a time continues. Otherwise SQLite would refuse the second one at once
    // when both switch to WAL, because it never waits for a read lock to become a write lock.
    let _lock = match locked {
        true => None,
        false => match FileLock::for_a_change(path, || is_ready(connection, path))? {
            Some(lock) => Some(lock),
            None => return Ok(done),
        },
    };
    connection.pragma_update(None, "journal_mode", "WAL").map_err(opened)?;
    loop {
        // Another process may have run migrations, so the missing ones are known only under the lock.
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(opened)?;
        let Some(step) = pending_steps(&transaction, path)?.first().copied() else { return Ok(done) };
        let (version, migration) = step;
        apply(&transaction, step, by)
            .and_then(|()| transaction.commit().map_err(storage_error))
            .map_err(|cause| OpenError::Migration { name: migration.name, cause })?;
        log::info!("migrated the database to schema version {version} ({})", migration.name);
        done.push(migration);
    }
}

/// Returns the missing migrations.
pub(super) fn pending_on(
    connection: &mut Connection,
    path: &Path,
) -> Result<Vec<&'static Migration>, OpenError> {
    let transaction = connection.transaction().map_err(|error| failed(path, storage_error(error)))?;
    let steps = pending_steps(&transaction, path)?;
    Ok(steps.into_iter().map(|(_, migration)| migration).collect())
}

/// Returns whether the schema is up to date.
fn is_ready(connection: &mut Connection, path: &Path) -> Result<bool, OpenError> {
    // The application id is checked first, because nothing else is read from another program's file.
    let is_current = pending_on(connection, path)?.is_empty();
    let mode: String = connection
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .map_err(|error| failed(path, storage_error(error)))?;
    Ok(is_current && mode.eq_ignore_ascii_case("wal"))
}

fn apply(transaction: &Transaction<'_>, (version, migration): Step, by: &Origin) -> Result<(), StorageError> {
    let now = Timestamp::now();
    transaction.execute_batch(VERSION_TABLE).map_err(storage_error)?;
    transaction.execute_batch(migration.sql(Dialect::Sqlite)).map_err(storage_error)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(storage_error)?;
    let noted = "INSERT INTO schema_version (version, name, applied_at) VALUES (?1, ?2, ?3)";
    transaction
        .execute(noted, params![version, migration.name, now.as_millisecond()])
        .map_err(storage_error)?;
    if schema::is_audited(version) {
        note_checksums(transaction, version).map_err(storage_error)?;
        note(&mut OnConnection(transaction), &migrated(version, migration), now, by)?;
    }
    Ok(())
}

/// Adds the checksums of all earlier migrations. The first ones ran before there was a column for them.
fn note_checksums(transaction: &Transaction<'_>, version: i64) -> rusqlite::Result<()> {
    let mut note = transaction
        .prepare("UPDATE schema_version SET checksum = ?2 WHERE version = ?1 AND checksum IS NULL")?;
    for (version, migration) in schema::up_to(version) {
        note.execute(params![version, migration.checksum(Dialect::Sqlite)])?;
    }
    Ok(())
}

/// Returns the missing migrations of an empty database or one of this program.
fn pending_steps(connection: &Connection, path: &Path) -> Result<Vec<Step>, OpenError> {
    match look(connection) {
        Ok(Some(applied)) => schema::pending(&applied, Dialect::Sqlite),
        Ok(None) => Err(foreign(path, "contains the tables of another program")),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => Err(foreign(
            path,
            "is not an SQLite file, is encrypted or is damaged; if it was one, restore a backup",
        )),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            Err(OpenError::Damaged { path: path.to_owned(), why: error.to_string() })
        }
        Err(error) => Err(failed(path, storage_error(error))),
    }
}

/// Returns the rows of `schema_version`, or `None` if the file belongs to another program.
fn look(connection: &Connection) -> rusqlite::Result<Option<Vec<Applied>>> {
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let has = |condition: &str| {
        connection
            .query_row(&format!("SELECT 1 FROM sqlite_schema {condition} LIMIT 1"), [], |_| Ok(()))
            .optional()
            .map(|found| found.is_some())
    };
    let has_versions = has("WHERE type = 'table' AND name = 'schema_version'")?;
    // A database that was restored from a dump has lost its application id.
    let is_ours = id == APPLICATION_ID || (id == 0 && (has_versions || !has("")?));
    if !is_ours {
        return Ok(None);
    }
    if has_versions { applied(connection).map(Some) } else { Ok(Some(Vec::new())) }
}

fn applied(connection: &Connection) -> rusqlite::Result<Vec<Applied>> {
    let has_checksums = connection
        .prepare("SELECT 1 FROM pragma_table_info('schema_version') WHERE name = 'checksum'")?
        .exists([])?;
    let checksum = if has_checksums { "checksum" } else { "NULL" };
    connection
        .prepare(&format!("SELECT version, name, {checksum} FROM schema_version ORDER BY version"))?
        .query_map([], |row| Ok(Applied { version: row.get(0)?, name: row.get(1)?, checksum: row.get(2)? }))?
        .collect()
}

fn foreign(path: &Path, why: &str) -> OpenError {
    OpenError::Foreign(format!("\"{}\" {why}", path.display()))
}

fn failed(path: &Path, cause: StorageError) -> OpenError {
    OpenError::Connect { address: format!("sqlite:{}", path.display()), cause }
}
