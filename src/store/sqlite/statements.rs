//! Statements on SQLite, and the functions of PostgreSQL that they use.

use jiff::Timestamp;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{ToSqlOutput, Value as SqlValue, ValueRef};
use rusqlite::{Connection, Error, Result as SqlResult, ToSql, params_from_iter};

use super::error::storage_error;
use crate::base::encoding::unhex;
use crate::base::storage::StorageError;
use crate::model::drive::Notification;
use crate::store::backend::Statements;
use crate::store::value::{Row, Value};

/// A connection, in a transaction or without one.
pub(super) struct OnConnection<'a>(pub(super) &'a Connection);

impl Statements for OnConnection<'_> {
    fn rows(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, StorageError> {
        let mut statement = self.0.prepare_cached(sql).map_err(storage_error)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(values)).map_err(storage_error)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(storage_error)? {
            let cells = (0..columns).map(|column| row.get_ref(column).map(cell)?.map_err(storage_of_text));
            found.push(Row(cells.collect::<SqlResult<_>>().map_err(storage_error)?));
        }
        Ok(found)
    }

    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, StorageError> {
        let mut statement = self.0.prepare_cached(sql).map_err(storage_error)?;
        statement.execute(params_from_iter(values)).map(|rows| rows as u64).map_err(storage_error)
    }

    fn announce(&mut self, _: Notification) -> Result<(), StorageError> {
        // SQLite has no other instances.
        Ok(())
    }
}

fn storage_of_text(error: std::str::Utf8Error) -> Error {
    Error::Utf8Error(0, error)
}

fn cell(value: ValueRef<'_>) -> Result<Value<'static>, std::str::Utf8Error> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Float(value),
        ValueRef::Text(text) => Value::Text(std::str::from_utf8(text)?.to_owned().into()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_owned().into()),
    })
}

impl ToSql for Value<'_> {
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
pub(super) fn add_functions(connection: &Connection) -> SqlResult<()> {
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
    // Times are whole milliseconds in SQLite.
    connection.create_scalar_function("to_timestamp", 1, pure, |call| {
        let seconds = call.get::<Option<f64>>(0)?;
        Ok(seconds.map(|seconds| (seconds * 1000.0).round() as i64))
    })?;
    connection.create_scalar_function("decode", 2, pure, |call| {
        let failed = |why: &str| Error::UserFunctionError(why.into());
        let text = call.get_raw(0).as_str()?;
        if call.get_raw(1).as_str()? != "hex" {
            return Err(failed("only hexadecimal digits can be decoded"));
        }
        unhex(text).ok_or_else(|| failed("a text does not consist of hexadecimal digits"))
    })?;
    connection.create_scalar_function("date_trunc", 2, pure, |call| match call.get_raw(0).as_str()? {
        "milliseconds" => call.get::<i64>(1),
        _ => Err(Error::UserFunctionError("timestamps must be whole milliseconds".into())),
    })?;
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
