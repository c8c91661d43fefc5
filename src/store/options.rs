//! Options for opening a database.

use super::limits::DEFAULT_POOL_SIZE;
use crate::account::audit::Origin;

/// The kind of process that opens a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A server. Only one server at a time can use an SQLite file, but any number can use a PostgreSQL database.
    Server,
    /// A short command, which may run at the same time as a server.
    Command,
}

impl Role {
    /// Returns the origin that the audit log records for changes of the schema.
    pub(super) fn origin(self) -> Origin {
        match self {
            Self::Server => Origin::SYSTEM,
            Self::Command => Origin::CLI,
        }
    }
}

/// Options for opening a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The kind of process that opens the database.
    pub role: Role,
    /// The maximum number of connections, at least 1. They are opened when they are needed. SQLite uses them for
    /// reading, and one more for writing.
    pub pool_size: u32,
}

impl Options {
    /// Returns the options of a server.
    pub fn server() -> Self {
        Self { role: Role::Server, pool_size: DEFAULT_POOL_SIZE }
    }

    /// Returns the options of a command, which does one thing at a time.
    pub fn command() -> Self {
        Self { role: Role::Command, pool_size: 1 }
    }
}
