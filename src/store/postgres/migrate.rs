//! The schema of a PostgreSQL database.

use std::sync::Arc;

use super::Database;
use super::session::Session;
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::store::error::{OpenError, Result};
use crate::store::limits::Role;
use crate::store::schema::{self, Migration};
use crate::store::tx::Tx;
use crate::store::url::PostgresTarget;

/// Locks the migrations of a schema until the end of the transaction, which may take long: it may rewrite a table and
/// waits for other instances that are starting.
const LOCK: &str = "SET LOCAL statement_timeout = '15min'; SET LOCAL lock_timeout = '15min'; \
     SET LOCAL idle_in_transaction_session_timeout = '15min'; \
     SELECT pg_advisory_xact_lock(1397507138, hashtext(current_schema()))";
/// The time for which a migration waits for a table. Later statements wait behind it and fail after their own
/// `lock_timeout`. It is longer than the second after which the server detects a deadlock.
const LOCK_TABLES: &str = "SET LOCAL lock_timeout = '2s'";

/// Queries whether the table of versions exists. `to_regclass` cannot be used, because it may answer from a cache
/// that is older than the lock.
const HAS_VERSION: &str = "SELECT 1 FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = current_schema() AND c.relname = 'schema_version'";
const VERSION: &str = "SELECT max(version) FROM schema_version";

impl Database {
    /// Returns the migrations that opening the database would run.
    pub(in crate::store) fn pending(target: &PostgresTarget) -> Result<&'static [Migration], OpenError> {
        let (_, mut session) = Self::connect(target)?;
        schema::pending(version(&mut session).map_err(failed(target))?)
    }

    /// Connects to the server and brings the schema up to date.
    pub(in crate::store) fn open(target: &PostgresTarget, role: Role) -> Result<Arc<Self>, OpenError> {
        let (database, session) = Self::connect(target)?;
        run(session, target, &role.origin())?;
        Ok(Arc::new(database))
    }
}

/// Runs the missing migrations on a connection. If it fails, the transaction ends with the connection.
fn run(mut session: Session, target: &PostgresTarget, by: &Origin) -> Result<(), OpenError> {
    while !schema::pending(version(&mut session).map_err(failed(target))?)?.is_empty() {
        session.batch("BEGIN").and_then(|()| session.batch(LOCK)).map_err(failed(target))?;
        // Another instance may have run migrations, so the missing ones are known only under the lock.
        let found = version(&mut session).map_err(failed(target))?;
        if let Some(migration) = schema::pending(found)?.first() {
            session.batch(LOCK_TABLES).map_err(failed(target))?;
            migration.run(&mut Tx::Postgres(&mut session), by)?;
        }
        session.batch("COMMIT").map_err(failed(target))?;
    }
    Ok(())
}

fn failed(target: &PostgresTarget) -> impl Fn(StorageError) -> OpenError {
    move |cause| OpenError::Connect { address: target.to_string(), cause }
}

/// Returns the version of the schema, or `None` if the database is new.
fn version(session: &mut Session) -> Result<Option<i64>> {
    let mut tx = Tx::Postgres(session);
    if !tx.has(HAS_VERSION, Vec::new())? {
        return Ok(None);
    }
    Ok(tx.first(VERSION, Vec::new())?.flatten())
}
