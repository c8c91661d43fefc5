//! Brings the schema up to date.

use jiff::Timestamp;
use postgres::{Client, Transaction};

use super::at;
use super::error::storage;
use super::target::PostgresTarget;
use crate::base::storage::StorageError;
use crate::store::error::OpenError;
use crate::store::limits::MIGRATION_SETTINGS;
use crate::store::schema::{self, Step};

const VERSION_TABLE: &str = "CREATE TABLE schema_version (
    version bigint NOT NULL PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL)";

/// Taken until the end of a migration's transaction; one for each schema of a database.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1397507138, hashtext(current_schema()))";

/// Whether there is a table of versions. Not by `to_regclass`: that may answer from a cache of before the
/// lock was waited for.
const NOTED: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = current_schema() AND c.relname = 'schema_version')";

/// Runs what is missing.
pub(super) fn run(mut client: Client, target: &PostgresTarget) -> Result<(), OpenError> {
    let failed = |cause| OpenError::Connect { address: target.to_string(), cause };
    let mut is_locked = false;
    loop {
        let mut transaction = client.transaction().map_err(|error| failed(storage(error)))?;
        if is_locked {
            lock(&mut transaction).map_err(|error| failed(storage(error)))?;
        }
        let applied = applied(&mut transaction).map_err(failed)?;
        let Some(step) = schema::next_step(applied.as_deref().unwrap_or_default())? else { return Ok(()) };
        if !is_locked {
            // Another starter may be at it: what is missing is known only under the lock.
            is_locked = true;
            continue;
        }
        apply(&mut transaction, step, applied.is_none())
            .and_then(|()| transaction.commit())
            .map_err(|error| OpenError::Migration { name: step.1.name, cause: storage(error) })?;
        log::info!("migrated the database to schema version {} ({})", step.0, step.1.name);
    }
}

fn lock(transaction: &mut Transaction<'_>) -> Result<(), postgres::Error> {
    transaction.batch_execute(MIGRATION_SETTINGS)?;
    transaction.batch_execute(LOCK)
}

/// What the database has noted, by version; `None`: nothing yet, not even where to note it.
fn applied(transaction: &mut Transaction<'_>) -> Result<Option<Vec<(i64, String)>>, StorageError> {
    let noted =
        transaction.query_one(NOTED, &[]).and_then(|row| row.try_get::<_, bool>(0)).map_err(storage)?;
    if !noted {
        return Ok(None);
    }
    let rows = transaction
        .query("SELECT version, name FROM schema_version ORDER BY version", &[])
        .map_err(storage)?;
    let read = |row: &postgres::Row| Ok((row.try_get(0)?, row.try_get(1)?));
    rows.iter().map(read).collect::<Result<_, _>>().map(Some).map_err(storage)
}

fn apply(
    transaction: &mut Transaction<'_>,
    (version, migration): Step,
    is_first: bool,
) -> Result<(), postgres::Error> {
    if is_first {
        transaction.batch_execute(VERSION_TABLE)?;
    }
    transaction.batch_execute(migration.postgres)?;
    transaction
        .execute(
            "INSERT INTO schema_version (version, name, applied_at) VALUES ($1, $2, $3)",
            &[&version, &migration.name, &at(Timestamp::now())],
        )
        .map(|_| ())
}
