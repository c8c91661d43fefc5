//! The kinds of processes that open a database.

use super::limits::SERVER_POOL_SIZES;
use crate::model::audit::Origin;

/// The kind of process that opens a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A server. Only one server at a time can use an SQLite file, but any number can use a PostgreSQL database.
    Server,
    /// A short command, which does one thing at a time and may run at the same time as a server.
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

    /// Returns the maximum numbers of connections for reading, for writing, and for health checks. They are opened when
    /// they are needed. SQLite has one for writing.
    pub(super) fn pool_sizes(self) -> [usize; 3] {
        match self {
            Self::Server => SERVER_POOL_SIZES,
            Self::Command => [1, 1, 1],
        }
    }
}
