//! The reasons why a database could not be opened.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use crate::base::storage::StorageError;

/// The reason why a database could not be opened. Its text is for an operator and contains no password.
#[derive(Debug)]
pub enum OpenError {
    /// The file or its directory cannot be created or read.
    File {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// Pages of the SQLite file were overwritten, or parts of it are missing.
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The first damage that was found.
        why: String,
    },
    /// Another server uses this SQLite file, or a command is changing its schema.
    InUse {
        /// The path of the file.
        path: PathBuf,
        /// The id of the process that holds it, if it is known.
        process: Option<u32>,
    },
    /// A command would have to change the schema while a server of an older version runs, or another command takes long
    /// to change it.
    ServerRunning {
        /// The path of the file.
        path: PathBuf,
        /// The server's process id, if it is known.
        process: Option<u32>,
    },
    /// A newer version of this program has changed the schema.
    NewerSchema {
        /// The version of the database's schema.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The database holds something else, or its schema was changed by hand.
    Foreign(String),
    /// The database has run another migration under a name that this program knows.
    ChangedMigration {
        /// The migration's name.
        name: &'static str,
    },
    /// A migration failed and was rolled back.
    Migration {
        /// The migration's name.
        name: &'static str,
        /// The database's error.
        cause: StorageError,
    },
    /// Other transactions used a migration's tables in each of its tries. All tries were rolled back.
    MigrationBlocked {
        /// The migration's name.
        name: &'static str,
        /// The number of tries.
        tries: u32,
        /// The database's last error.
        cause: StorageError,
    },
    /// The certificates for TLS cannot be used.
    Tls(String),
    /// The server refuses this program: a wrong password, or a database that does not exist.
    Refused {
        /// The address without its password.
        address: String,
        /// The server's error.
        cause: StorageError,
    },
    /// The database cannot be reached, or cannot take a connection now.
    Connect {
        /// The address without its password.
        address: String,
        /// The cause.
        cause: StorageError,
    },
}

impl OpenError {
    /// Returns whether a later try may succeed without a change here: the server may be starting.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Connect { cause, .. } if cause.is_unavailable())
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = |process: &Option<u32>| process.map_or_else(String::new, |id| format!(" (process {id})"));
        match self {
            Self::File { path, cause } => write!(f, "cannot use \"{}\": {cause}", path.display()),
            Self::Damaged { path, why } => write!(
                f,
                "the database \"{}\" is damaged ({why}); nothing was changed: restore a backup (see `sightline manual \
                 backup-and-restore`), or save what can still be read with `sqlite3 FILE .recover`",
                path.display()
            ),
            Self::InUse { path, process } => write!(
                f,
                "the database \"{}\" is in use by another server{}: an SQLite database serves one at a time; \
                 stop that one, choose another file, or use PostgreSQL for several",
                path.display(),
                by(process)
            ),
            Self::ServerRunning { path, process } => write!(
                f,
                "the schema of \"{}\" must be changed for this version, but a server of an older version is \
                 running{}: stop it, then start the new version",
                path.display(),
                by(process)
            ),
            Self::NewerSchema { found, known } => write!(
                f,
                "the database has schema version {found}, this program knows versions up to {known}: \
                 start the newer version of sightline that made it, or restore a backup"
            ),
            Self::Foreign(why) => write!(f, "not a sightline database: {why}"),
            Self::ChangedMigration { name } => write!(
                f,
                "migration {name} is not the one that made this database: one of the two was changed \
                 afterwards; start the released program that made the database, or restore a backup"
            ),
            Self::Migration { name, cause } => {
                write!(f, "migration {name} failed, nothing was changed: {cause}")
            }
            Self::MigrationBlocked { name, tries, cause } => write!(
                f,
                "migration {name} was blocked by other transactions in each of {tries} tries, nothing was changed; start \
                 again when there is less load, or stop the servers of the older version and end long transactions \
                 first: {cause}"
            ),
            Self::Tls(why) => write!(f, "TLS to the database: {why}"),
            Self::Refused { address, cause } => {
                // The kind of failure is left out, because it concerns callers of an open store.
                let words = cause.source().map_or_else(String::new, ToString::to_string);
                write!(f, "cannot open {address}: {words}")
            }
            Self::Connect { address, cause } => write!(f, "cannot open {address}: {cause}"),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::File { cause, .. } => Some(cause),
            Self::Migration { cause, .. }
            | Self::MigrationBlocked { cause, .. }
            | Self::Refused { cause, .. }
            | Self::Connect { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
