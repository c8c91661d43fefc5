//! Why a database could not be opened.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use crate::base::storage::StorageError;

/// Why a database could not be opened. The text is for an operator and holds no password.
#[derive(Debug)]
pub enum OpenError {
    /// The file or its folder cannot be created or read.
    File {
        /// Which.
        path: PathBuf,
        /// The system's word.
        cause: std::io::Error,
    },
    /// Another server works on this SQLite file, or a command is just changing its schema.
    InUse {
        /// The database.
        path: PathBuf,
        /// Number of the process that holds it, where it is known.
        process: Option<u32>,
    },
    /// A command would have to change the schema under a running server of an older version, or another one
    /// is changing it and takes long.
    ServerRunning {
        /// The database.
        path: PathBuf,
        /// Number of the server's process, where it is known.
        process: Option<u32>,
    },
    /// A newer version of this program has changed the schema.
    NewerSchema {
        /// Version of the database.
        found: i64,
        /// The newest one that this program knows.
        known: i64,
    },
    /// There is something else in this database, or its schema was changed by hand.
    Foreign(String),
    /// A migration that this database has run is not the one that this program knows under its name.
    ChangedMigration {
        /// File name.
        name: &'static str,
    },
    /// A migration failed; nothing of it was kept.
    Migration {
        /// File name.
        name: &'static str,
        /// What the database said.
        cause: StorageError,
    },
    /// Others used the tables of a migration each time that it was tried; nothing of it was kept.
    MigrationBlocked {
        /// File name.
        name: &'static str,
        /// How often it was tried.
        tries: u32,
        /// What the database said last.
        cause: StorageError,
    },
    /// The certificates for TLS cannot be used.
    Tls(String),
    /// The database cannot be reached, or it refuses the connection.
    Connect {
        /// Where, without the password.
        address: String,
        /// What went wrong.
        cause: StorageError,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = |process: &Option<u32>| process.map_or_else(String::new, |id| format!(" (process {id})"));
        match self {
            Self::File { path, cause } => write!(f, "cannot use \"{}\": {cause}", path.display()),
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
            Self::Foreign(why) => write!(f, "this is no database that sightline can use: {why}"),
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
                "migration {name} did not get its tables in {tries} tries, nothing was changed: others use them; start \
                 again when there is less to do, or stop the servers of the older version and end long transactions \
                 first: {cause}"
            ),
            Self::Tls(why) => write!(f, "TLS to the database: {why}"),
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
            | Self::Connect { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
