//! Connections: opening and setting them up, their statements, and the functions of PostgreSQL that these use.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{ToSqlOutput, Value as SqlValue, ValueRef};
use rusqlite::{Connection, Error, OpenFlags, Result as SqlResult, ToSql, params_from_iter};

use super::error::storage_error;
use crate::base::encoding::unhex;
use crate::store::error::{OpenError, Result};
use crate::store::limits::SQLITE_BUSY;
use crate::store::value::{Row, Value};

/// Opens the file and sets up the connection.
pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, OpenError> {
    open(path, flags).map_err(|cause| OpenError::of_file(path, cause))
}

/// Opens a file that was opened before.
pub(super) fn open(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, flags).map_err(storage_error)?;
    configure(&connection).map_err(storage_error)?;
    Ok(connection)
}

/// Flags for opening a file that exists.
// SQLITE_OPEN_URI is not set, so that a path is never parsed as a URI.
pub(super) const EXISTING: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
/// Flags for opening a file, which is created if it is missing.
pub(super) const NEW: OpenFlags = EXISTING.union(OpenFlags::SQLITE_OPEN_CREATE);

/// Sets up a connection.
pub(super) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(SQLITE_BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    // secure_delete overwrites deleted data, which would otherwise stay in free pages. SQLite does not overwrite the
    // copies that it leaves in unused bytes of a page when it moves cells (`rebuildPage`, 3.53).
    connection.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;
         PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY;",
    )?;
    add_functions(connection)
}

/// Runs a statement and returns its rows.
pub(in crate::store) fn rows(
    connection: &Connection,
    sql: &'static str,
    values: Vec<Value>,
) -> Result<Vec<Row>> {
    let read = || {
        let mut statement = connection.prepare_cached(sql)?;
        let columns = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            (0..columns).map(|column| cell(row.get_ref(column)?)).collect::<SqlResult<_>>().map(Row)
        };
        statement.query_map(params_from_iter(values), row)?.collect::<SqlResult<_>>()
    };
    read().map_err(storage_error)
}

/// Runs a statement and returns the number of rows that it changed.
pub(in crate::store) fn execute(
    connection: &Connection,
    sql: &'static str,
    values: Vec<Value>,
) -> Result<u64> {
    let mut statement = connection.prepare_cached(sql).map_err(storage_error)?;
    statement.execute(params_from_iter(values)).map(|rows| rows as u64).map_err(storage_error)
}

/// Runs statements without parameters.
pub(in crate::store) fn batch(connection: &Connection, sql: &str) -> Result<()> {
    connection.execute_batch(sql).map_err(storage_error)
}

fn cell(value: ValueRef<'_>) -> SqlResult<Value> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Float(value),
        ValueRef::Text(text) => {
            Value::Text(std::str::from_utf8(text).map_err(|error| Error::Utf8Error(0, error))?.to_owned())
        }
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_owned()),
    })
}

impl ToSql for Value {
    fn to_sql(&self) -> SqlResult<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Bool(value) => ValueRef::Integer(i64::from(*value)),
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Float(value) => ValueRef::Real(*value),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
            Self::Id(id) => ValueRef::Blob(id.as_bytes()),
            Self::Moment(moment) => ValueRef::Integer(moment.as_millisecond()),
        }))
    }
}

/// Adds functions that PostgreSQL has and SQLite lacks.
fn add_functions(connection: &Connection) -> SqlResult<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    // SQLite's own `lower` converts ASCII letters only.
    connection.create_scalar_function("lower", 1, pure, |call| Ok(lower_case(call.get_raw(0).as_str()?)))?;
    connection.create_scalar_function("strpos", 2, pure, |call| {
        let (text, part) = (call.get_raw(0).as_str()?, call.get_raw(1).as_str()?);
        Ok(text.find(part).map_or(0i64, |at| text[..at].chars().count() as i64 + 1))
    })?;
    connection.create_scalar_function("greatest", 2, pure, |call| choose(call, |a, b| a > b))?;
    connection.create_scalar_function("least", 2, pure, |call| choose(call, |a, b| a < b))?;
    connection.create_scalar_function("uuid", 1, pure, |call| {
        let text = call.get::<Option<String>>(0)?;
        let id = text.map(|text| uuid::Uuid::try_parse(&text)).transpose();
        let id = id.map_err(|error| Error::UserFunctionError(error.into()))?;
        Ok(id.map(|id| id.as_bytes().to_vec()))
    })?;
    // All texts are hexadecimal digits, and all times are whole milliseconds.
    connection.create_scalar_function("decode", 2, pure, |call| {
        let bytes = unhex(call.get_raw(0).as_str()?);
        bytes.ok_or_else(|| {
            Error::UserFunctionError("a text has other characters than hexadecimal digits".into())
        })
    })?;
    connection.create_scalar_function("date_trunc", 2, pure, |call| call.get::<i64>(1))?;
    connection.create_scalar_function("ms", 1, pure, |call| call.get::<i64>(0))?;
    let changing = FunctionFlags::SQLITE_UTF8;
    for name in ["now", "clock_timestamp"] {
        connection.create_scalar_function(name, 0, changing, |_| Ok(Timestamp::now().as_millisecond()))?;
    }
    Ok(())
}

/// Returns the first number if `is_first` holds for both, and the second one otherwise. NULL is ignored.
fn choose(call: &Context<'_>, is_first: impl FnOnce(i64, i64) -> bool) -> SqlResult<SqlValue> {
    let (first, second) = (call.get::<Option<i64>>(0)?, call.get::<Option<i64>>(1)?);
    let chosen = match (first, second) {
        (Some(first), Some(second)) => Some(if is_first(first, second) { first } else { second }),
        (first, second) => first.or(second),
    };
    Ok(chosen.map_or(SqlValue::Null, SqlValue::Integer))
}

/// Converts to lower case character by character, so that a part of a text becomes a part of the result. A final sigma
/// becomes an ordinary one.
fn lower_case(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c }).collect()
}
