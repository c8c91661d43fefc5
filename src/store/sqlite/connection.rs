//! Connections: opening and setting them up, and the functions of PostgreSQL that statements use.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, Error, OpenFlags, Result as SqlResult};
use uuid::Uuid;

use crate::store::error::Result;
use crate::store::limits::SQLITE_BUSY;
use crate::store::tx::Tx;

/// Opens a file that exists.
pub(in crate::store) fn connect(path: &Path) -> Result<Tx> {
    // SQLITE_OPEN_URI is not set, so that a path is never parsed as a URI.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Tx::Sqlite(configured(Connection::open_with_flags(path, flags)?)?))
}

/// Creates an empty database of which nothing is left when it is dropped.
pub(in crate::store) fn in_memory() -> Result<Tx> {
    Ok(Tx::Sqlite(configured(Connection::open_in_memory()?)?))
}

fn configured(connection: Connection) -> SqlResult<Connection> {
    connection.busy_timeout(SQLITE_BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    // secure_delete overwrites deleted data, which would otherwise stay in free pages. SQLite does not overwrite the
    // copies that it leaves in unused bytes of a page when it moves cells (`rebuildPage`, 3.53).
    connection.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;
         PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY;",
    )?;
    add_functions(&connection)?;
    Ok(connection)
}

/// Adds functions that PostgreSQL has and SQLite lacks. All times are whole milliseconds.
fn add_functions(connection: &Connection) -> SqlResult<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    // SQLite's own `lower` converts ASCII letters only.
    connection.create_scalar_function("lower", 1, pure, |call| Ok(lower_case(call.get_raw(0).as_str()?)))?;
    connection.create_scalar_function("strpos", 2, pure, |call| {
        let (text, part) = (call.get_raw(0).as_str()?, call.get_raw(1).as_str()?);
        Ok(text.find(part).map_or(0i64, |at| text[..at].chars().count() as i64 + 1))
    })?;
    // NULL is ignored, as the least of all numbers.
    connection.create_scalar_function("greatest", 2, pure, |call| {
        Ok(call.get::<Option<i64>>(0)?.max(call.get(1)?))
    })?;
    connection.create_scalar_function("least", 2, pure, |call| Ok(call.get::<i64>(0)?.min(call.get(1)?)))?;
    connection.create_scalar_function("uuid", 1, pure, |call| {
        let id = call.get::<Option<String>>(0)?.map(|text| Uuid::try_parse(&text)).transpose();
        id.map_err(|error| Error::UserFunctionError(error.into()))
    })?;
    connection.create_scalar_function("ms", 1, pure, |call| call.get::<i64>(0))?;
    for name in ["now", "clock_timestamp"] {
        let changing = FunctionFlags::SQLITE_UTF8;
        connection.create_scalar_function(name, 0, changing, |_| Ok(Timestamp::now().as_millisecond()))?;
    }
    Ok(())
}

/// Converts to lower case character by character, so that a part of a text becomes a part of the result. A final sigma
/// becomes an ordinary one.
fn lower_case(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c }).collect()
}
