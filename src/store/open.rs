//! Opening a database, its migrations, and copies of it.

use std::path::Path;
use std::sync::Arc;

use super::database::{Backend, Store};
use super::error::{BackupError, OpenError};
use super::limits::Role;
use super::url::DatabaseUrl;
use super::{postgres, sqlite};

/// Opens the database and brings its schema up to date.
///
/// # Errors
/// Returns an [`OpenError`], whose text says what to do and contains no password.
pub fn open(url: &DatabaseUrl, role: Role) -> Result<Arc<Store>, OpenError> {
    Ok(Store::on(match url {
        DatabaseUrl::Sqlite(path) => Backend::Sqlite(Box::new(sqlite::Database::open(path, role)?)),
        DatabaseUrl::Postgres(target) => Backend::Postgres(postgres::Database::open(target, role)?),
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
/// Returns the names of the migrations that the database lacked, oldest first.
///
/// # Errors
/// Returns the same errors as [`open`].
pub fn migrate(url: &DatabaseUrl) -> Result<Vec<&'static str>, OpenError> {
    let pending = pending_migrations(url)?;
    open(url, Role::Command)?;
    Ok(pending)
}

/// Returns the names of the migrations that [`migrate`] would run. Changes and creates nothing.
///
/// # Errors
/// Returns the same errors as [`open`].
pub fn pending_migrations(url: &DatabaseUrl) -> Result<Vec<&'static str>, OpenError> {
    let pending = match url {
        DatabaseUrl::Sqlite(path) => sqlite::pending(path)?,
        DatabaseUrl::Postgres(target) => postgres::Database::pending(target)?,
    };
    Ok(pending.iter().map(|migration| migration.name).collect())
}

/// Copies an SQLite database into a new file and checks the copy, while a server may run. The file appears complete or
/// not at all.
///
/// # Errors
/// Returns a [`BackupError`], whose text says what to do.
pub fn back_up(url: &DatabaseUrl, copy: &Path) -> Result<(), BackupError> {
    match url {
        DatabaseUrl::Sqlite(path) => sqlite::back_up(path, copy),
        DatabaseUrl::Postgres(_) => Err(BackupError::NotHere),
    }
}
