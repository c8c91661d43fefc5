//! The load of a database.

/// The load of a database at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLoad {
    /// The number of connections in use, including SQLite's connection for writing.
    pub used: u32,
    /// The number of connections that are open and idle.
    pub idle: u32,
    /// The maximum number of connections.
    pub max: u32,
    /// Whether the server is unreachable as far as is known, or a write was refused lately.
    pub is_unavailable: bool,
}
