//! Brings the schema up to date.

use std::thread;

use jiff::Timestamp;
use postgres::{Client, Transaction};

use super::at;
use super::audit::INSERT;
use super::error::storage;
use super::target::PostgresTarget;
use crate::account::audit::Origin;
use crate::base::storage::StorageError;
use crate::store::audit::{Columns, migrated};
use crate::store::error::OpenError;
use crate::store::limits::{LONG_WORK, MIGRATION_LOCK, MIGRATION_PAUSE, MIGRATION_TRIES};
use crate::store::schema::{self, Applied, Dialect, Migration, Step};

const VERSION_TABLE: &str = "CREATE TABLE schema_version (
    version bigint NOT NULL PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL)";

/// Taken until the end of a migration's transaction; one for each schema of a database.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1397507138, hashtext(current_schema()))";

/// Whether there is a table of versions. Not by `to_regclass`: that may answer from a cache of before the
/// lock was waited for.
const NOTED: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = current_schema() AND c.relname = 'schema_version')";

/// An earlier schema has no column for checksums: the row as a document does not mind.
const APPLIED: &str =
    "SELECT version, name, to_jsonb(v) ->> 'checksum' FROM schema_version v ORDER BY version";

/// Runs what is missing; gives it.
pub(super) fn run(
    mut client: Client,
    target: &PostgresTarget,
    by: &Origin,
) -> Result<Vec<&'static Migration>, OpenError> {
    let failed = failed(target);
    let (mut is_locked, mut done, mut tries) = (false, Vec::new(), Tries::default());
    loop {
        let mut transaction = client.transaction().map_err(|error| failed(storage(error)))?;
        if is_locked {
            lock(&mut transaction).map_err(|error| failed(storage(error)))?;
        }
        let applied = applied(&mut transaction).map_err(failed)?;
        let pending = schema::pending(applied.as_deref().unwrap_or_default(), Dialect::Postgres)?;
        let Some(step) = pending.first().copied() else { return Ok(done) };
        if !is_locked {
            // Another starter may be at it: what is missing is known only under the lock.
            is_locked = true;
            continue;
        }
        let outcome = apply(&mut transaction, step, applied.is_none(), by)
            .and_then(|()| transaction.commit().map_err(storage));
        if let Err(cause) = outcome {
            tries.failed(step.1.name, cause)?;
            continue;
        }
        tries = Tries::default();
        log::info!("migrated the database to schema version {} ({})", step.0, step.1.name);
        done.push(step.1);
    }
}

/// How often a migration was tried.
#[derive(Default)]
struct Tries(u32);

impl Tries {
    /// Nothing of it was done. Waits for the next try, where others were in the way and may go out of it.
    fn failed(&mut self, name: &'static str, cause: StorageError) -> Result<(), OpenError> {
        self.0 += 1;
        if !cause.is_contended() {
            return Err(OpenError::Migration { name, cause });
        }
        if self.0 >= MIGRATION_TRIES {
            return Err(OpenError::MigrationBlocked { name, tries: self.0, cause });
        }
        log::warn!("migration {name}: others use its tables, it is tried again: {cause}");
        thread::sleep(MIGRATION_PAUSE);
        Ok(())
    }
}

/// What is missing.
pub(super) fn pending(
    mut client: Client,
    target: &PostgresTarget,
) -> Result<Vec<&'static Migration>, OpenError> {
    let failed = failed(target);
    let mut transaction = client.transaction().map_err(|error| failed(storage(error)))?;
    let applied = applied(&mut transaction).map_err(failed)?.unwrap_or_default();
    let steps = schema::pending(&applied, Dialect::Postgres)?;
    Ok(steps.into_iter().map(|(_, migration)| migration).collect())
}

fn failed(target: &PostgresTarget) -> impl Fn(StorageError) -> OpenError + Copy {
    move |cause| OpenError::Connect { address: target.to_string(), cause }
}

fn lock(transaction: &mut Transaction<'_>) -> Result<(), postgres::Error> {
    transaction.batch_execute(&LONG_WORK.join(";"))?;
    transaction.batch_execute(LOCK)
}

/// What the database has noted, by version; `None`: nothing yet, not even where to note it.
fn applied(transaction: &mut Transaction<'_>) -> Result<Option<Vec<Applied>>, StorageError> {
    let noted =
        transaction.query_one(NOTED, &[]).and_then(|row| row.try_get::<_, bool>(0)).map_err(storage)?;
    if !noted {
        return Ok(None);
    }
    let rows = transaction.query(APPLIED, &[]).map_err(storage)?;
    let read = |row: &postgres::Row| {
        Ok(Applied { version: row.try_get(0)?, name: row.try_get(1)?, checksum: row.try_get(2)? })
    };
    rows.iter().map(read).collect::<Result<_, _>>().map(Some).map_err(storage)
}

fn apply(
    transaction: &mut Transaction<'_>,
    (version, migration): Step,
    is_first: bool,
    by: &Origin,
) -> Result<(), StorageError> {
    let now = at(Timestamp::now());
    transaction.batch_execute(MIGRATION_LOCK).map_err(storage)?;
    if is_first {
        transaction.batch_execute(VERSION_TABLE).map_err(storage)?;
    }
    transaction.batch_execute(migration.sql(Dialect::Postgres)).map_err(storage)?;
    let note = "INSERT INTO schema_version (version, name, applied_at) VALUES ($1, $2, $3)";
    transaction.execute(note, &[&version, &migration.name, &now]).map_err(storage)?;
    if schema::is_audited(version) {
        note_checksums(transaction, version).map_err(storage)?;
        let columns = Columns::of(&migrated(version, migration), by)?;
        let values = columns.values(&now);
        transaction.execute(INSERT, &values).map_err(storage)?;
    }
    Ok(())
}

/// Of all migrations so far: the first ones ran before there was a column for it.
fn note_checksums(transaction: &mut Transaction<'_>, version: i64) -> Result<(), postgres::Error> {
    let note = "UPDATE schema_version SET checksum = $2 WHERE version = $1 AND checksum IS NULL";
    for (version, migration) in schema::up_to(version) {
        transaction.execute(note, &[&version, &migration.checksum(Dialect::Postgres)])?;
    }
    Ok(())
}
