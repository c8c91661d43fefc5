//! Opening and setting up connections.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::error::storage_error;
use super::statements;
use crate::base::storage::StorageError;
use crate::store::error::OpenError;
use crate::store::limits::SQLITE_BUSY;

/// Opens the file and sets up the connection.
pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, OpenError> {
    open(path, flags)
        .map_err(|cause| OpenError::Connect { address: format!("sqlite:{}", path.display()), cause })
}

/// Opens a file that was opened before.
pub(super) fn open(path: &Path, flags: OpenFlags) -> Result<Connection, StorageError> {
    let connection = Connection::open_with_flags(path, flags).map_err(storage_error)?;
    configure(&connection).map_err(storage_error)?;
    Ok(connection)
}

/// Returns the flags for opening a file, which is created if it is missing.
pub(super) fn flags() -> OpenFlags {
    // SQLITE_OPEN_URI is not set, so that a path is never parsed as a URI.
    OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

/// Sets up a connection.
pub(super) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(SQLITE_BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    // secure_delete overwrites deleted data, which would otherwise stay in free pages. SQLite does not overwrite the
    // copies that it leaves in unused bytes of a page when it moves cells (`rebuildPage`, 3.53).
    connection.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;
         PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY;",
    )?;
    statements::add_functions(connection)
}
