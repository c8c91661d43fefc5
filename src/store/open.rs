//! Opening a database, its migrations, and copies of it.

use std::path::Path;
use std::sync::Arc;

use super::database::{Backend, Store};
use super::error::{BackupError, OpenError};
use super::limits::{POOL_SIZES, Role, SQLITE_POOL_SIZES};
use super::url::DatabaseUrl;
use super::{postgres, schema, sqlite};

/// Opens the database and brings its schema up to date.
///
/// # Errors
/// Returns an [`OpenError`], whose text says what to do and contains no password.
pub fn open(url: &DatabaseUrl, role: Role) -> Result<Arc<Store>, OpenError> {
    match url {
        DatabaseUrl::Sqlite(path) => {
            let (file, writer) = sqlite::DatabaseFile::open(path, role)?;
            let store = Store::on(Backend::Sqlite(Box::new(file)), SQLITE_POOL_SIZES);
            store.writing.add(writer);
            Ok(store)
        }
        DatabaseUrl::Postgres(target) => {
            let server = postgres::Server::open(target, role)?;
            Ok(Store::on(Backend::Postgres(Arc::new(server)), POOL_SIZES))
        }
    }
}

/// Creates a database in memory, of which nothing is left when it is dropped.
///
/// # Errors
/// Fails if there is not enough memory.
pub fn in_memory() -> Result<Arc<Store>, OpenError> {
    let create = || {
        let mut only = sqlite::in_memory()?;
        schema::create(&mut only)?;
        let store = Store::on(Backend::Memory, [0, 1, 0]);
        store.writing.add(only);
        Ok(store)
    };
    create().map_err(|cause| OpenError::Connect { address: "sqlite::memory:".into(), cause })
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
    let missing = match url {
        DatabaseUrl::Sqlite(path) => sqlite::pending(path)?,
        DatabaseUrl::Postgres(target) => postgres::Server::pending(target)?,
    };
    Ok(missing.iter().map(|migration| migration.name).collect())
}

/// Copies an SQLite database into a new file and checks the copy, while a server may run. The file has its whole content, or
/// is empty for a moment.
///
/// # Errors
/// Returns a [`BackupError`], whose text says what to do.
pub fn back_up(url: &DatabaseUrl, copy: &Path) -> Result<(), BackupError> {
    match url {
        DatabaseUrl::Sqlite(path) => sqlite::back_up(path, copy),
        DatabaseUrl::Postgres(_) => Err(BackupError::NotHere),
    }
}
