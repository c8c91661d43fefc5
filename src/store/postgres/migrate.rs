//! Migrations of a PostgreSQL database.

use std::thread;

use jiff::Timestamp;
use postgres::{Client, Transaction};

use super::connecting::connect;
use super::error::storage_error;
use super::target::PostgresTarget;
use crate::account::audit::Origin;
use crate::base::clock::truncate_to_millis;
use crate::base::storage::StorageError;
use crate::store::error::OpenError;
use crate::store::limits::{LONG_WORK, MIGRATION_LOCK, MIGRATION_PAUSE, MIGRATION_TRIES};
use crate::store::queries::audit::{migrated, note};
use crate::store::schema::{self, Applied, Dialect, Migration, Step};

const VERSION_TABLE: &str = "CREATE TABLE schema_version (
    version bigint NOT NULL PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL)";

/// Locks the migrations of a schema until the end of the transaction.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1397507138, hashtext(current_schema()))";

/// Queries whether the table of versions exists. `to_regclass` cannot be used, because it may answer from a cache
/// that is older than the lock.
const NOTED: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = current_schema() AND c.relname = 'schema_version')";

/// Queries the applied migrations. The checksum is read from the row as a document, because an earlier schema has no
/// column for it.
const APPLIED: &str =
    "SELECT version, name, to_jsonb(v) ->> 'checksum' FROM schema_version v ORDER BY version";

/// Brings the schema up to date. Returns the migrations that were run.
pub(in crate::store) fn migrate(
    target: &PostgresTarget,
    by: &Origin,
) -> Result<Vec<&'static Migration>, OpenError> {
    run(connect(target)?, target, by)
}

/// Returns the migrations that [`migrate`] would run.
pub(in crate::store) fn pending(target: &PostgresTarget) -> Result<Vec<&'static Migration>, OpenError> {
    let (mut client, failed) = (connect(target)?, failed(target));
    let mut transaction = client.transaction().map_err(|error| failed(storage_error(error)))?;
    let applied = applied(&mut transaction).map_err(failed)?.unwrap_or_default();
    let steps = schema::pending(&applied, Dialect::Postgres)?;
    Ok(steps.into_iter().map(|(_, migration)| migration).collect())
}

/// Runs the missing migrations on a connection. Returns them.
pub(super) fn run(
    mut client: Client,
    target: &PostgresTarget,
    by: &Origin,
) -> Result<Vec<&'static Migration>, OpenError> {
    let failed = failed(target);
    let (mut is_locked, mut done, mut attempts) = (false, Vec::new(), Attempts::default());
    loop {
        let mut transaction = client.transaction().map_err(|error| failed(storage_error(error)))?;
        if is_locked {
            lock(&mut transaction).map_err(|error| failed(storage_error(error)))?;
        }
        let applied = applied(&mut transaction).map_err(failed)?;
        let pending = schema::pending(applied.as_deref().unwrap_or_default(), Dialect::Postgres)?;
        let Some(step) = pending.first().copied() else { return Ok(done) };
        if !is_locked {
            // Another instance may be running migrations, so the missing ones are known only under the lock.
            is_locked = true;
            continue;
        }
        let outcome = apply(&mut transaction, step, applied.is_none(), by)
            .and_then(|()| transaction.commit().map_err(storage_error));
        if let Err(cause) = outcome {
            attempts.failed(step.1.name, cause)?;
            continue;
        }
        attempts = Attempts::default();
        log::info!("migrated the database to schema version {} ({})", step.0, step.1.name);
        done.push(step.1);
    }
}

/// The attempts of one migration.
#[derive(Default)]
struct Attempts(u32);

impl Attempts {
    /// Records that a try failed and left no change. Waits before the next try if another transaction was in the way.
    fn failed(&mut self, name: &'static str, cause: StorageError) -> Result<(), OpenError> {
        self.0 += 1;
        if !cause.is_contended() {
            return Err(OpenError::Migration { name, cause });
        }
        if self.0 >= MIGRATION_TRIES {
            return Err(OpenError::MigrationBlocked { name, tries: self.0, cause });
        }
        log::warn!("migration {name} is blocked by other transactions and is tried again: {cause}");
        thread::sleep(MIGRATION_PAUSE);
        Ok(())
    }
}

fn failed(target: &PostgresTarget) -> impl Fn(StorageError) -> OpenError + Copy {
    move |cause| OpenError::Connect { address: target.to_string(), cause }
}

fn lock(transaction: &mut Transaction<'_>) -> Result<(), postgres::Error> {
    transaction.batch_execute(&LONG_WORK.join(";"))?;
    transaction.batch_execute(LOCK)
}

/// Returns the rows of `schema_version`, or `None` if there is no such table.
fn applied(transaction: &mut Transaction<'_>) -> Result<Option<Vec<Applied>>, StorageError> {
    let noted =
        transaction.query_one(NOTED, &[]).and_then(|row| row.try_get::<_, bool>(0)).map_err(storage_error)?;
    if !noted {
        return Ok(None);
    }
    let rows = transaction.query(APPLIED, &[]).map_err(storage_error)?;
    let read = |row: &postgres::Row| {
        Ok(Applied { version: row.try_get(0)?, name: row.try_get(1)?, checksum: row.try_get(2)? })
    };
    rows.iter().map(read).collect::<Result<_, _>>().map(Some).map_err(storage_error)
}

fn apply(
    transaction: &mut Transaction<'_>,
    (version, migration): Step,
    is_first: bool,
    by: &Origin,
) -> Result<(), StorageError> {
    let now = truncate_to_millis(Timestamp::now());
    transaction.batch_execute(MIGRATION_LOCK).map_err(storage_error)?;
    if is_first {
        transaction.batch_execute(VERSION_TABLE).map_err(storage_error)?;
    }
    transaction.batch_execute(migration.sql(Dialect::Postgres)).map_err(storage_error)?;
    let noted = "INSERT INTO schema_version (version, name, applied_at) VALUES ($1, $2, $3)";
    transaction.execute(noted, &[&version, &migration.name, &now]).map_err(storage_error)?;
    if schema::is_audited(version) {
        note_checksums(transaction, version).map_err(storage_error)?;
        note(transaction, &migrated(version, migration), now, by)?;
    }
    Ok(())
}

/// Adds the checksums of all earlier migrations. The first ones ran before there was a column for them.
fn note_checksums(transaction: &mut Transaction<'_>, version: i64) -> Result<(), postgres::Error> {
    let note = "UPDATE schema_version SET checksum = $2 WHERE version = $1 AND checksum IS NULL";
    for (version, migration) in schema::up_to(version) {
        transaction.execute(note, &[&version, &migration.checksum(Dialect::Postgres)])?;
    }
    Ok(())
}
