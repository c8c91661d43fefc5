//! Values in the driver's types.

use std::error::Error;

use bytes::BytesMut;
use jiff::Timestamp;
use postgres::types::{FromSql, IsNull, Json, ToSql, Type, to_sql_checked};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::error::{PostgresError, storage_error};
use crate::base::clock::truncate_to_millis;
use crate::base::storage::StorageError;
use crate::store::error::Result;
use crate::store::value::{Row, Value};

/// Converts a row that the driver has returned.
pub(super) fn row(row: &postgres::Row) -> Result<Row> {
    (0..row.len()).map(|column| cell(row, column)).collect::<Result<_>>().map(Row)
}

fn cell(row: &postgres::Row, column: usize) -> Result<Value> {
    fn get<'a, T: FromSql<'a>>(
        row: &'a postgres::Row,
        column: usize,
        cell: impl FnOnce(T) -> Value,
    ) -> Result<Value> {
        Ok(row.try_get::<_, Option<T>>(column).map_err(storage_error)?.map_or(Value::Null, cell))
    }
    match *row.columns()[column].type_() {
        Type::BOOL => get(row, column, Value::Bool),
        Type::INT8 => get(row, column, Value::Int),
        Type::INT4 => get(row, column, |value: i32| Value::Int(value.into())),
        Type::FLOAT8 => get(row, column, Value::Float),
        Type::TEXT | Type::VARCHAR => get(row, column, Value::Text),
        Type::JSON => get(row, column, |Json(text): Json<Box<RawValue>>| Value::Text(text.get().to_owned())),
        Type::BYTEA => get(row, column, Value::Bytes),
        Type::UUID => get(row, column, Value::Id),
        Type::TIMESTAMPTZ => get(row, column, Value::Moment),
        ref other => Err(StorageError::broken(PostgresError::new(format!("a column of type {other}")))),
    }
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self, kind) {
            (Self::Null, _) => Ok(IsNull::Yes),
            (Self::Bool(value), &Type::BOOL) => value.to_sql(kind, out),
            (Self::Int(value), &Type::INT8) => value.to_sql(kind, out),
            (Self::Int(value), &Type::INT4) => i32::try_from(*value)?.to_sql(kind, out),
            (Self::Int(value), &Type::FLOAT8) => (*value as f64).to_sql(kind, out),
            (Self::Float(value), &Type::FLOAT8) => value.to_sql(kind, out),
            // PostgreSQL sends and receives JSON as text.
            (Self::Text(text), &(Type::TEXT | Type::VARCHAR | Type::JSON)) => {
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
            (Self::Bytes(bytes), &Type::BYTEA) => bytes.to_sql(kind, out),
            (Self::Id(id), &Type::UUID) => <Uuid as ToSql>::to_sql(id, kind, out),
            (Self::Moment(moment), &Type::TIMESTAMPTZ) => {
                <Timestamp as ToSql>::to_sql(&truncate_to_millis(*moment), kind, out)
            }
            _ => Err(format!("this value does not fit a parameter of type {kind}").into()),
        }
    }

    /// Returns `true` for all types. A value that does not fit is refused by `to_sql` with its type.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
