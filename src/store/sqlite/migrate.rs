//! Brings the schema up to date.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};

use super::At;
use super::audit::note;
use super::error::storage;
use super::file::FileLock;
use crate::account::audit::Origin;
use crate::base::storage::StorageError;
use crate::store::audit::migrated;
use crate::store::error::OpenError;
use crate::store::schema::{self, Applied, Dialect, Migration, Step};

/// Marks the file as ours ("SLDB"), so that no other program's database is taken for one.
const APPLICATION_ID: i32 = 0x534C_4442;

const VERSION_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_version (
    version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT";

/// Runs what is missing; gives it. `locked`: this process holds the file's lock.
pub(super) fn run(
    connection: &mut Connection,
    path: &Path,
    locked: bool,
    by: &Origin,
) -> Result<Vec<&'static Migration>, OpenError> {
    let opened = |error| failed(path, storage(error));
    let mut done = Vec::new();
    if is_ready(connection, path)? {
        return Ok(done);
    }
    // Only one at a time from here on. SQLite itself would refuse whoever comes second with the switch to
    // WAL at once: that goes from a lock for reading to one for writing, which is never waited for.
    let _lock = match locked {
        true => None,
        false => match FileLock::for_a_change(path, || is_ready(connection, path))? {
            Some(lock) => Some(lock),
            None => return Ok(done),
        },
    };
    connection.pragma_update(None, "journal_mode", "WAL").map_err(opened)?;
    loop {
        // Another starter may have been at it: what is missing is known only under the lock.
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(opened)?;
        let Some(step) = pending_steps(&transaction, path)?.first().copied() else { return Ok(done) };
        let (version, migration) = step;
        apply(&transaction, step, by)
            .and_then(|()| transaction.commit().map_err(storage))
            .map_err(|cause| OpenError::Migration { name: migration.name, cause })?;
        log::info!("migrated the database to schema version {version} ({})", migration.name);
        done.push(migration);
    }
}

/// What is missing.
pub(super) fn pending(
    connection: &mut Connection,
    path: &Path,
) -> Result<Vec<&'static Migration>, OpenError> {
    let transaction = connection.transaction().map_err(|error| failed(path, storage(error)))?;
    let steps = pending_steps(&transaction, path)?;
    Ok(steps.into_iter().map(|(_, migration)| migration).collect())
}

/// Whether nothing has to be changed.
fn is_ready(connection: &mut Connection, path: &Path) -> Result<bool, OpenError> {
    // First of all whether the file is ours: nothing is asked of another one.
    let is_current = pending(connection, path)?.is_empty();
    let mode: String = connection
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .map_err(|error| failed(path, storage(error)))?;
    Ok(is_current && mode.eq_ignore_ascii_case("wal"))
}

fn apply(transaction: &Transaction<'_>, (version, migration): Step, by: &Origin) -> Result<(), StorageError> {
    let now = At(Timestamp::now());
    transaction.execute_batch(VERSION_TABLE).map_err(storage)?;
    transaction.execute_batch(migration.sql(Dialect::Sqlite)).map_err(storage)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(storage)?;
    let noted = "INSERT INTO schema_version (version, name, applied_at) VALUES (?1, ?2, ?3)";
    transaction.execute(noted, params![version, migration.name, now]).map_err(storage)?;
    if schema::is_audited(version) {
        note_checksums(transaction, version).map_err(storage)?;
        note(transaction, &migrated(version, migration), now.0, by)?;
    }
    Ok(())
}

/// Of all migrations so far: the first ones ran before there was a column for it.
fn note_checksums(transaction: &Transaction<'_>, version: i64) -> rusqlite::Result<()> {
    let mut note = transaction
        .prepare("UPDATE schema_version SET checksum = ?2 WHERE version = ?1 AND checksum IS NULL")?;
    for (version, migration) in schema::up_to(version) {
        note.execute(params![version, migration.checksum(Dialect::Sqlite)])?;
    }
    Ok(())
}

/// The next migrations, of a database that is ours or empty.
fn pending_steps(connection: &Connection, path: &Path) -> Result<Vec<Step>, OpenError> {
    match look(connection) {
        Ok(Some(applied)) => schema::pending(&applied, Dialect::Sqlite),
        Ok(None) => Err(foreign(path, "holds the tables of another program")),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            Err(foreign(path, "is no SQLite file, or is encrypted"))
        }
        Err(error) => Err(failed(path, storage(error))),
    }
}

/// What the database has noted, by version; `None`: this is somebody else's.
fn look(connection: &Connection) -> rusqlite::Result<Option<Vec<Applied>>> {
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
