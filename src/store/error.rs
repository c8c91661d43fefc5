//! The errors of the store: of its operations, of opening a database and of copying one.

use std::error::Error as _;
use std::path::PathBuf;

use crate::base::storage::StorageError;

/// The result of an operation.
pub type Result<T, E = StorageError> = std::result::Result<T, E>;

/// A driver's message without values, which may be queries and results.
#[derive(Debug, thiserror::Error)]
#[error("{driver}: {text}")]
pub(super) struct DriverError {
    pub(super) driver: &'static str,
    pub(super) text: String,
    pub(super) meaning: Option<Meaning>,
}

/// What an error means to the operator, besides that the database fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The server refused this program's login or database.
    Refusal,
    /// The file has lost data that was written to it.
    Damage,
    /// The file is no database at all, or encrypted.
    Foreign,
}

/// Returns the message of the driver's error that a failure of the store comes from.
pub(super) fn cause_of(failure: &StorageError) -> String {
    failure.source().map(ToString::to_string).unwrap_or_default()
}

impl Meaning {
    /// Returns the meaning of the driver's error that a failure of the store comes from.
    pub(super) fn of(failure: &StorageError) -> Option<Self> {
        failure.source()?.downcast_ref::<DriverError>()?.meaning
    }
}

/// The reason why a database could not be opened. Its text is for an operator and contains no password.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file or its directory cannot be created or read.
    #[error("cannot use \"{}\": {cause}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        #[source]
        cause: std::io::Error,
    },
    /// Pages of the SQLite file were overwritten, or parts of it are missing.
    #[error(
        "the database \"{}\" is damaged ({why}); nothing was changed: restore a backup (see `sightline manual \
         backup-and-restore`), or save what can still be read with `sqlite3 FILE .recover`",
        path.display()
    )]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The first damage that was found.
        why: String,
    },
    /// Another server uses this SQLite file, or a command takes long to change its schema.
    #[error(
        "the database \"{}\" is in use by another server{}: an SQLite database serves one at a time, and its schema is \
         changed only while none runs; stop that one, choose another file, or use PostgreSQL for several",
        path.display(),
        process.map_or_else(String::new, |id| format!(" (process {id})"))
    )]
    InUse {
        /// The path of the file.
        path: PathBuf,
        /// The id of the process that holds it, if it is known.
        process: Option<u32>,
    },
    /// A newer version of this program has changed the schema.
    #[error(
        "the database has schema version {found}, this program knows versions up to {known}: start the newer version of \
         sightline that made it, or restore a backup"
    )]
    NewerSchema {
        /// The version of the database's schema.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The schema is older than those that this program can bring up to date.
    #[error(
        "the database has schema version {found}, this program opens versions from {oldest} on: make a backup, and \
         let the last version of sightline with schema {oldest} bring it there first (its `sightline migrate`)"
    )]
    OlderSchema {
        /// The version of the database's schema.
        found: i64,
        /// The oldest version that this program can open.
        oldest: i64,
    },
    /// The database holds something else.
    #[error("not a sightline database: {0}")]
    Foreign(String),
    /// A migration failed and was rolled back.
    #[error("migration {name} failed, nothing was changed: {cause}")]
    Migration {
        /// The migration's name.
        name: &'static str,
        /// The database's error.
        #[source]
        cause: StorageError,
    },
    /// The certificates for TLS cannot be used.
    #[error("TLS to the database: {0}")]
    Tls(String),
    /// The database cannot be reached, cannot take a connection now, or refuses this program: a wrong password, or a database
    /// that does not exist.
    // The kind of the cause is left out, because it concerns callers of an open store.
    #[error("cannot open {address}: {}", cause_of(cause))]
    Connect {
        /// The address without its password.
        address: String,
        /// The cause.
        #[source]
        cause: StorageError,
    },
}

impl OpenError {
    /// Returns whether a later try may succeed without a change here: the server may be starting, or other
    /// transactions hold the tables that a migration changes.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connect { cause, .. } => {
                cause.is_unavailable() && Meaning::of(cause) != Some(Meaning::Refusal)
            }
            Self::Migration { cause, .. } => cause.is_contended(),
            _ => false,
        }
    }
}

/// The reason why a database was not backed up. No partial copy is left behind.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database is on PostgreSQL, which has its own backup tools.
    #[error(
        "PostgreSQL makes its own backups: `pg_dump --format=custom --file=FILE` with the database's address, and \
         `pg_restore` for the way back (see `sightline manual backup-and-restore`)"
    )]
    NotHere,
    /// A file of that name exists.
    #[error("\"{}\" exists: a backup never overwrites a file", .0.display())]
    Exists(PathBuf),
    /// The database cannot be opened.
    #[error(transparent)]
    Open(OpenError),
    /// The database cannot be read, or the copy cannot be written.
    #[error("the backup failed: {0}")]
    Failed(#[source] StorageError),
    /// The copy failed its check and was removed.
    #[error("the backup failed its check and was removed: {0}")]
    Unsound(String),
}
