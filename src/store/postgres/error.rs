//! What PostgreSQL's errors mean to the callers.

use std::error::Error;
use std::fmt;
use std::io;

use crate::base::storage::StorageError;

/// The driver's word without the server's DETAIL and CONTEXT: those quote values, which are queries and
/// results.
#[derive(Debug)]
pub(super) struct PostgresError(String);

impl PostgresError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for PostgresError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgreSQL: {}", self.0)
    }
}

impl Error for PostgresError {}

/// A driver's error in words.
pub(super) fn worded(error: &postgres::Error) -> PostgresError {
    if let Some(answer) = error.as_db_error() {
        let constraint = answer.constraint().map_or_else(String::new, |name| format!(" (constraint {name})"));
        return PostgresError(format!(
            "{} {}: {}{constraint}",
            answer.severity(),
            answer.code().code(),
            answer.message()
        ));
    }
    match error.source() {
        Some(cause) => PostgresError(format!("{error}: {cause}")),
        None => PostgresError(error.to_string()),
    }
}

/// A driver's error as ours.
#[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
pub(super) fn storage(error: postgres::Error) -> StorageError {
    if error.code().is_some_and(|code| is_contended(code.code())) {
        return StorageError::contended(worded(&error));
    }
    let passing = match error.code() {
        Some(code) => is_passing(code.code()),
        None => is_transport(&error),
    };
    if passing { StorageError::unavailable(worded(&error)) } else { StorageError::broken(worded(&error)) }
}

/// No connection came free in time, or none could be made.
#[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
pub(super) fn pool_error(error: r2d2::Error) -> StorageError {
    StorageError::unavailable(PostgresError(error.to_string()))
}

/// Whether an SQLSTATE tells that another transaction was in the way: serialization failure, deadlock, lock timeout.
fn is_contended(code: &str) -> bool {
    ["40001", "40P01", "55P03"].contains(&code)
}

/// Whether an SQLSTATE tells of the server's state (full, stopping, locked, read-only, not letting us in)
/// rather than of a defect here.
fn is_passing(code: &str) -> bool {
    const CLASSES: [&str; 5] = ["08", "28", "53", "57", "58"];
    // serialization failure, deadlock, lock timeout, read-only, idle in transaction, no such database, a
    // permission (a file system that went read-only is told so)
    const CODES: [&str; 7] = ["40001", "40P01", "55P03", "25006", "25P03", "3D000", "42501"];
    CLASSES.iter().any(|class| code.starts_with(class)) || CODES.contains(&code)
}

/// Whether the connection failed, not what was sent over it.
fn is_transport(error: &postgres::Error) -> bool {
    if error.is_closed() {
        return true;
    }
    error.source().and_then(|cause| cause.downcast_ref::<io::Error>()).is_some_and(|cause| {
        // These two are the driver's own: a message that cannot be written or read.
        !matches!(cause.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_the_server_pass_and_defects_do_not() {
        for code in ["08006", "53100", "53300", "57014", "57P01", "57P03", "40P01", "55P03", "25006", "28P01"]
        {
            assert!(is_passing(code), "{code}");
        }
        for code in ["42P01", "23505", "22021", "22P02", "XX000"] {
            assert!(!is_passing(code), "{code}");
        }
    }
}
