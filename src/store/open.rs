//! Opening a database, and its migrations.

use std::sync::Arc;

use super::error::OpenError;
use super::role::Role;
use super::sql::Sql;
use super::storage::Storage;
use super::url::{DatabaseUrl, Target};
use super::{postgres, sqlite};

/// An open database. `Arc<Store>` coerces to `Arc<dyn Ledger>` or `Arc<dyn Journal>`.
pub type Store = dyn Storage;

/// Opens the database and brings its schema up to date.
///
/// # Errors
/// Returns an [`OpenError`], whose text says what to do and contains no password.
pub fn open(url: &DatabaseUrl, role: Role) -> Result<Arc<Store>, OpenError> {
    Ok(match url.target() {
        Target::Sqlite(path) => Arc::new(Sql::on(sqlite::Database::open(path, role)?)),
        Target::Postgres(target) => Arc::new(Sql::on(postgres::Database::open(target, role)?)),
    })
}

/// Brings the schema of a database up to date, as [`open`] does, and creates an SQLite file that does not exist.
/// Returns the names of the migrations that were run, oldest first.
///
/// # Errors
/// Returns the same errors as [`open`].
pub fn migrate(url: &DatabaseUrl) -> Result<Vec<&'static str>, OpenError> {
    let by = Role::Command.origin();
    let done = match url.target() {
        Target::Sqlite(path) => sqlite::migrate(path, &by)?,
        Target::Postgres(target) => postgres::migrate(target, &by)?,
    };
    Ok(done.into_iter().map(|migration| migration.name).collect())
}

/// Returns the names of the migrations that [`migrate`] would run. Changes and creates nothing.
///
/// # Errors
/// Returns the same errors as [`open`].
pub fn pending_migrations(url: &DatabaseUrl) -> Result<Vec<&'static str>, OpenError> {
    let pending = match url.target() {
        Target::Sqlite(path) => sqlite::pending(path)?,
        Target::Postgres(target) => postgres::pending(target)?,
    };
    Ok(pending.into_iter().map(|migration| migration.name).collect())
}
