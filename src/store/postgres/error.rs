//! The classification of PostgreSQL's errors.

use std::error::Error as _;
use std::io;

use postgres::error::SqlState;

use crate::base::storage::StorageError;
use crate::store::error::{DriverError, Meaning};

/// Returns the error for a server that does not answer.
pub(super) fn unavailable(text: impl Into<String>) -> StorageError {
    StorageError::unavailable(DriverError { driver: "PostgreSQL", text: text.into(), meaning: None })
}

/// Converts a driver's error into a message without the server's DETAIL and CONTEXT, which quote values.
pub(super) fn described(error: &postgres::Error) -> DriverError {
    let text = match (error.as_db_error(), error.source()) {
        (Some(answer), _) => {
            let constraint =
                answer.constraint().map_or_else(String::new, |name| format!(" (constraint {name})"));
            let (severity, code) = (answer.severity(), answer.code().code());
            format!("{severity} {code}: {}{constraint}", answer.message())
        }
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    };
    let meaning = error.code().filter(|code| is_refusal(code.code())).map(|_| Meaning::Refusal);
    DriverError { driver: "PostgreSQL", text, meaning }
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

/// Returns whether an SQLSTATE means that the server refused this program's login or database: a wrong user or password,
/// or a database that does not exist or may not be used. A file system that went read-only is reported like that, too.
fn is_refusal(code: &str) -> bool {
    code.starts_with("28") || code == "3D000" || code == "42501"
}

/// Returns whether an SQLSTATE means that another transaction was in the way: serialization failure, deadlock, lock
/// timeout.
fn is_contended(code: &str) -> bool {
    ["40001", "40P01", "55P03"].contains(&code)
}

/// Returns whether an SQLSTATE describes the state of the server (full, stopping, locked, read-only, refusing logins)
/// rather than a defect of this program.
fn is_transient(code: &str) -> bool {
    // The whole codes: a read-only transaction, and the timeout of an idle one.
    ["08", "53", "57", "58", "25006", "25P03"].iter().any(|class| code.starts_with(class)) || is_refusal(code)
}

/// Returns whether the connection failed, and not the statement.
fn is_transport(error: &postgres::Error) -> bool {
    // The driver itself uses these two for messages that it cannot write or read.
    let is_of_message = |kind| matches!(kind, io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData);
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    error.is_closed() || cause.is_some_and(|cause| !is_of_message(cause.kind()))
}
