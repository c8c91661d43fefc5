//! The schema of a PostgreSQL database.

use jiff::Timestamp;
use postgres::{Client, Transaction};

use super::connector::Connector;
use super::error::storage_error;
use super::target::PostgresTarget;
use crate::base::clock::truncate_to_millis;
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::store::error::OpenError;
use crate::store::limits::{LONG_WORK, MIGRATION_LOCK};
use crate::store::queries::audit::{migrated, note};
use crate::store::schema::{self, Migration};

/// Locks the migrations of a schema until the end of the transaction.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1397507138, hashtext(current_schema()))";

/// Queries whether the table of versions exists. `to_regclass` cannot be used, because it may answer from a cache
/// that is older than the lock.
const HAS_VERSION: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = current_schema() AND c.relname = 'schema_version')";
const VERSION: &str = "SELECT max(version) FROM schema_version";
const NOTE: &str = "INSERT INTO schema_version (version, name, applied_at) VALUES ($1, $2, $3)";

/// Brings the schema up to date. Returns the migrations that were run.
pub(in crate::store) fn migrate(
    target: &PostgresTarget,
    by: &Origin,
) -> Result<Vec<&'static Migration>, OpenError> {
    run(Connector::new(target)?.first_client(target)?, target, by)
}

/// Returns the migrations that [`migrate`] would run.
pub(in crate::store) fn pending(target: &PostgresTarget) -> Result<&'static [Migration], OpenError> {
    let (mut client, failed) = (Connector::new(target)?.first_client(target)?, failed(target));
    let mut transaction = client.transaction().map_err(storage_error).map_err(failed)?;
    schema::pending(version(&mut transaction).map_err(storage_error).map_err(failed)?)
}

/// Runs the missing migrations on a connection, and returns them.
pub(super) fn run(
    mut client: Client,
    target: &PostgresTarget,
    by: &Origin,
) -> Result<Vec<&'static Migration>, OpenError> {
    let (failed, mut done, mut is_locked) = (failed(target), Vec::new(), false);
    loop {
        let mut transaction = client.transaction().map_err(storage_error).map_err(failed)?;
        if is_locked {
            let lock = format!("{};{LOCK}", LONG_WORK.join(";"));
            transaction.batch_execute(&lock).map_err(storage_error).map_err(failed)?;
        }
        let found = version(&mut transaction).map_err(storage_error).map_err(failed)?;
        let Some(migration) = schema::pending(found)?.first() else { return Ok(done) };
        // Another instance may be running migrations, so the missing ones are known only under the lock.
        if is_locked {
            apply(transaction, migration, by)
                .map_err(|cause| OpenError::Migration { name: migration.name, cause })?;
            log::info!("the database has schema version {} ({}) now", migration.version, migration.name);
            done.push(migration);
        }
        is_locked = true;
    }
}

fn failed(target: &PostgresTarget) -> impl Fn(StorageError) -> OpenError + Copy {
    move |cause| OpenError::Connect { address: target.to_string(), cause }
}

/// Returns the version of the schema, or `None` if the database is new.
fn version(transaction: &mut Transaction<'_>) -> Result<Option<i64>, postgres::Error> {
    if !transaction.query_one(HAS_VERSION, &[])?.try_get(0)? {
        return Ok(None);
    }
    transaction.query_one(VERSION, &[])?.try_get(0)
}

fn apply(mut transaction: Transaction<'_>, migration: &Migration, by: &Origin) -> Result<(), StorageError> {
    let now = truncate_to_millis(Timestamp::now());
    transaction.batch_execute(MIGRATION_LOCK).map_err(storage_error)?;
    transaction.batch_execute(migration.postgres).map_err(storage_error)?;
    transaction.execute(NOTE, &[&migration.version, &migration.name, &now]).map_err(storage_error)?;
    note(&mut transaction, &migrated(migration), now, by)?;
    transaction.commit().map_err(storage_error)
}
