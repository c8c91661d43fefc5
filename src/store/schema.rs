//! The versions of the schema.
//!
//! A new database begins with `schema.sql`, which is version 23. Each later version is a numbered file in both folders
//! of `sql/`, with a line here. A file that was released never changes. Each runs once, in its own transaction, which
//! also adds its version to the table `schema_version`.

use super::error::{OpenError, Result};
use super::tx::{Tx, background};
use super::value::values;
use crate::base::storage::StorageError;
use crate::model::audit::{Action, AuditEvent, Origin};

/// Begins the step to a version. On PostgreSQL, this locks the schema until the end of the transaction, which may take long:
/// it may rewrite a table and waits for other instances that are starting. An SQLite file is marked as one of this program,
/// of which a copy of its tables has lost the mark.
const BEGIN: [&str; 2] = [
    "PRAGMA application_id = 1397507138",
    "SET LOCAL statement_timeout = '15min'; SET LOCAL lock_timeout = '15min'; \
     SET LOCAL idle_in_transaction_session_timeout = '15min'; \
     SELECT pg_advisory_xact_lock(1397507138, hashtext(current_schema()))",
];
/// The time for which a step waits for a table. Later statements wait behind it and fail after their own
/// `lock_timeout`. It is longer than the second after which the server detects a deadlock.
const LOCK_TABLES: &str = "SET LOCAL lock_timeout = '2s'";

const HAS_VERSION: &str = "SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'";
/// `to_regclass` cannot be used, because it may answer from a cache that is older than the lock.
const HAS_VERSION_POSTGRES: &str = "SELECT 1 FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = current_schema() AND c.relname = 'schema_version'";

/// A step to a version of the schema.
#[derive(Debug)]
pub(super) struct Migration {
    version: i64,
    pub(super) name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

impl Migration {
    /// Runs the step in a transaction, and records it.
    fn run(&self, tx: &mut Tx, by: &Origin) -> Result<(), OpenError> {
        let mut run = || -> Result<()> {
            tx.batch("", LOCK_TABLES)?;
            tx.batch(self.sqlite, self.postgres)?;
            let noted = "INSERT INTO schema_version (version, name, applied_at) VALUES (?1, ?2, {now})";
            tx.execute(noted, values![self.version, self.name])?;
            let event = AuditEvent::of_service(Action::Migrated).with("version", self.version);
            tx.note(&AuditEvent { object: Some(self.name.to_owned()), ..event }, by)
        };
        run().map_err(|cause| OpenError::Migration { name: self.name, cause })?;
        log::info!("the database has schema version {} ({}) now", self.version, self.name);
        Ok(())
    }
}

macro_rules! migration {
    ($version:literal, $name:literal) => {
        Migration {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../../sql/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../../sql/postgres/", $name, ".sql")),
        }
    };
}

/// All steps, oldest first. The first one makes a new database.
pub(super) const MIGRATIONS: &[Migration] = &[
    migration!(23, "schema"),
    migration!(24, "0024_unconfirmed"),
    migration!(25, "0025_rate_limits"),
    migration!(26, "0026_searches"),
    migration!(27, "0027_running"),
    migration!(28, "0028_learnt"),
    migration!(29, "0029_reports"),
    migration!(30, "0030_links"),
    migration!(31, "0031_free"),
    migration!(32, "0032_verdicts"),
    migration!(33, "0033_evidence"),
];

/// Makes the tables of a database in memory.
pub(super) fn create(tx: &mut Tx) -> Result<()> {
    MIGRATIONS.iter().try_for_each(|migration| tx.batch(migration.sqlite, migration.postgres))
}

/// Runs the steps that a database lacks, each in its own transaction.
///
/// # Errors
/// Returns an error if the database is older or newer than this program supports, or if a step fails. `opened` gives the
/// error of another failure.
pub(super) fn migrate(
    tx: &mut Tx,
    by: &Origin,
    opened: impl Fn(StorageError) -> OpenError,
) -> Result<(), OpenError> {
    while !missing(tx, &opened)?.is_empty() {
        let step = |tx: &mut Tx| {
            tx.batch(BEGIN[0], BEGIN[1])?;
            // Another process may have run steps, so the missing ones are known only under the lock.
            let missing = missing(tx, &opened);
            Ok(missing.and_then(|steps| steps.first().map_or(Ok(()), |step| step.run(tx, by))))
        };
        tx.transaction(background("migrate"), Result::is_ok, step).map_err(&opened)??;
    }
    Ok(())
}

/// Returns the steps that a database lacks, oldest first. A new database has no version.
///
/// # Errors
/// Returns the same errors as [`migrate`].
pub(super) fn missing(
    tx: &mut Tx,
    opened: impl Fn(StorageError) -> OpenError,
) -> Result<&'static [Migration], OpenError> {
    let has_version = match tx {
        Tx::Sqlite(_) => HAS_VERSION,
        Tx::Postgres(_) => HAS_VERSION_POSTGRES,
    };
    if !tx.has(has_version, values![]).map_err(&opened)? {
        return Ok(MIGRATIONS);
    }
    let found = tx.first::<Option<i64>>("SELECT max(version) FROM schema_version", values![]);
    let Some(found) = found.map_err(opened)?.flatten() else { return Ok(MIGRATIONS) };
    let (oldest, newest) = (MIGRATIONS[0].version, MIGRATIONS[MIGRATIONS.len() - 1].version);
    if found < oldest {
        return Err(OpenError::OlderSchema { found, oldest });
    }
    match MIGRATIONS.iter().position(|migration| migration.version == found) {
        Some(at) => Ok(&MIGRATIONS[at + 1..]),
        None => Err(OpenError::NewerSchema { found, known: newest }),
    }
}
