//! Opening a database, its migrations, and copies of it.

use std::path::Path;
use std::sync::Arc;

use super::database::{Backend, Store};
use super::error::{BackupError, OpenError};
use super::limits::Role;
use super::url::{DatabaseUrl, Target};
use super::{postgres, sqlite};

/// Opens the database and brings its schema up to date.
///
/// # Errors
/// Returns an [`OpenError`], whose text says what to do and contains no password.
pub fn open(url: &DatabaseUrl, role: Role) -> Result<Arc<Store>, OpenError> {
    Ok(Store::on(match url.target() {
        Target::Sqlite(path) => Backend::Sqlite(Box::new(sqlite::Database::open(path, role)?)),
        Target::Postgres(target) => Backend::Postgres(postgres::Database::open(target, role)?),
    }))
}

/// Creates a database in memory, of which nothing is left when it is dropped.
///
/// # Errors
/// Fails if there is not enough memory.
pub fn in_memory() -> Result<Arc<Store>, OpenError> {
    Ok(Store::on(Backend::Sqlite(Box::new(sqlite::Database::in_memory()?))))
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
    Ok(done.iter().map(|migration| migration.name).collect())
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
    Ok(pending.iter().map(|migration| migration.name).collect())
}

/// Copies an SQLite database into a new file and checks the copy, while a server may run. The file appears complete or
/// not at all.
///
/// # Errors
/// Returns a [`BackupError`], whose text says what to do.
pub fn back_up(url: &DatabaseUrl, copy: &Path) -> Result<(), BackupError> {
    match url.target() {
        Target::Sqlite(path) => sqlite::back_up(path, copy),
        Target::Postgres(_) => Err(BackupError::NotHere),
    }
}
