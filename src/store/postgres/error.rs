//! The classification of PostgreSQL's errors.

use std::error::Error as _;
use std::io;

use postgres::error::SqlState;

use crate::base::storage::StorageError;

/// The driver's message without the server's DETAIL and CONTEXT, which quote values: queries and results.
#[derive(Debug, thiserror::Error)]
#[error("PostgreSQL: {text}")]
pub(super) struct PostgresError {
    text: String,
    code: Option<String>,
}

impl PostgresError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: None }
    }

    /// Returns whether the server refused this program's login or database: a wrong user or password, or a database
    /// that does not exist or may not be used.
    pub(super) fn is_refusal(&self) -> bool {
        self.code.as_ref().is_some_and(|code| code.starts_with("28") || code == "3D000" || code == "42501")
    }
}

/// Returns the error for a server that does not answer.
pub(super) fn unavailable(text: impl Into<String>) -> StorageError {
    StorageError::unavailable(PostgresError::new(text))
}

/// Converts a driver's error into a message.
pub(super) fn described(error: &postgres::Error) -> PostgresError {
    if let Some(answer) = error.as_db_error() {
        let constraint = answer.constraint().map_or_else(String::new, |name| format!(" (constraint {name})"));
        let (severity, code) = (answer.severity(), answer.code().code());
        let text = format!("{severity} {code}: {}{constraint}", answer.message());
        return PostgresError { text, code: Some(code.to_owned()) };
    }
    match error.source() {
        Some(cause) => PostgresError::new(format!("{error}: {cause}")),
        None => PostgresError::new(error.to_string()),
    }
}

impl From<postgres::Error> for StorageError {
    fn from(error: postgres::Error) -> Self {
        let cause = described(&error);
        match error.code().map(SqlState::code) {
            Some(code) if is_contended(code) => Self::contended(cause),
            Some(code) if is_transient(code) => Self::unavailable(cause),
            None if is_transport(&error) => Self::unavailable(cause),
            _ => Self::broken(cause),
        }
    }
}

/// Returns whether an SQLSTATE means that another transaction was in the way: serialization failure, deadlock, lock
/// timeout.
fn is_contended(code: &str) -> bool {
    ["40001", "40P01", "55P03"].contains(&code)
}

/// Returns whether an SQLSTATE describes the state of the server (full, stopping, locked, read-only, refusing logins)
/// rather than a defect of this program.
fn is_transient(code: &str) -> bool {
    const CLASSES: [&str; 5] = ["08", "28", "53", "57", "58"];
    // Read-only transaction, idle-in-transaction timeout, unknown database, missing permission (a file system that went
    // read-only is reported like that).
    const CODES: [&str; 4] = ["25006", "25P03", "3D000", "42501"];
    CLASSES.iter().any(|class| code.starts_with(class)) || CODES.contains(&code)
}

/// Returns whether the connection failed, and not the statement.
fn is_transport(error: &postgres::Error) -> bool {
    if error.is_closed() {
        return true;
    }
    error.source().and_then(|cause| cause.downcast_ref::<io::Error>()).is_some_and(|cause| {
        // The driver itself uses these two for messages that it cannot write or read.
        !matches!(cause.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
    })
}
