//! Values in PostgreSQL's binary form, which another thread can send after the caller has returned.

use std::error::Error;

use bytes::BytesMut;
use postgres::Statement;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::error::PostgresError;
use crate::base::storage::StorageError;

/// The values of a statement, in the order of its parameters.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A value of a statement in PostgreSQL's binary form. `None` is NULL.
#[derive(Debug)]
pub(super) struct Encoded(Option<BytesMut>);

impl Encoded {
    /// Encodes the values of a statement.
    pub(super) fn all(statement: &Statement, values: Values<'_>) -> Result<Vec<Self>, StorageError> {
        let types = statement.params();
        if types.len() != values.len() {
            let text = format!("a statement takes {} values, not {}", types.len(), values.len());
            return Err(StorageError::broken(PostgresError::new(text)));
        }
        // The encoder's message may quote the value: only its position is told.
        let failed =
            |place: usize| PostgresError::new(format!("value {} does not fit its parameter", place + 1));
        let encode = |(place, (value, kind)): (usize, (&&(dyn ToSql + Sync), &Type))| {
            let mut bytes = BytesMut::new();
            match value.to_sql_checked(kind, &mut bytes) {
                Ok(IsNull::Yes) => Ok(Self(None)),
                Ok(IsNull::No) => Ok(Self(Some(bytes))),
                Err(_) => Err(StorageError::broken(failed(place))),
            }
        };
        values.iter().zip(types).enumerate().map(encode).collect()
    }

    /// Returns the values in the form that the driver takes.
    pub(super) fn refs(values: &[Self]) -> Vec<&(dyn ToSql + Sync)> {
        values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
    }
}

impl ToSql for Encoded {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        Ok(match &self.0 {
            None => IsNull::Yes,
            Some(bytes) => {
                out.extend_from_slice(bytes);
                IsNull::No
            }
        })
    }

    /// Returns `true`, because the value was already encoded for its parameter.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
