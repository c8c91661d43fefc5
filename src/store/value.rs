//! Parameters of statements and columns of rows, in types that both databases share.
//!
//! | here | SQLite | PostgreSQL |
//! |---|---|---|
//! | number | INTEGER | bigint, double precision |
//! | text | TEXT | text, json |
//! | bytes | BLOB | bytea |
//! | id | BLOB | uuid |
//! | moment | INTEGER, milliseconds since 1970 | timestamptz, whole milliseconds |

use std::borrow::Cow;

use jiff::Timestamp;
use uuid::Uuid;

use crate::base::ids::{
    AccountId, BatchId, DeliveryId, KeyId, RunId, SessionId, WatchChangeId, WatchId, WebhookId,
};
use crate::base::storage::StorageError;

/// A parameter of a statement, or the value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    Id(Uuid),
    Moment(Timestamp),
}

impl Value<'_> {
    /// Copies the value for another thread.
    pub(super) fn to_static(&self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Float(value) => Value::Float(*value),
            Self::Text(text) => Value::Text(Cow::Owned(text.to_string())),
            Self::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.to_vec())),
            Self::Id(id) => Value::Id(*id),
            Self::Moment(moment) => Value::Moment(*moment),
        }
    }
}

/// A row that a statement has returned.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row(pub(super) Vec<Value<'static>>);

/// The parameters of a statement, in the order `?1`, `?2`, ….
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        &[$($crate::store::value::Value::from($value)),*]
    };
}
pub(super) use values;

impl Row {
    /// Reads a column, counted from 0.
    ///
    /// # Errors
    /// Returns an error if the column does not exist or has another type.
    pub(super) fn get<T: FromCell>(&self, column: usize) -> Result<T, StorageError> {
        let cell = self.0.get(column).ok_or_else(|| wrong(column, "does not exist"))?;
        T::from_cell(cell).ok_or_else(|| wrong(column, "holds another type"))
    }

    /// Reads a column of text, counted from 0.
    ///
    /// # Errors
    /// Returns an error if the column does not exist, is NULL or has another type.
    pub(super) fn text(&self, column: usize) -> Result<&str, StorageError> {
        self.optional_text(column)?.ok_or_else(|| wrong(column, "is NULL"))
    }

    /// Reads a column of text that may be NULL, counted from 0.
    ///
    /// # Errors
    /// Returns an error if the column does not exist or has another type.
    pub(super) fn optional_text(&self, column: usize) -> Result<Option<&str>, StorageError> {
        match self.0.get(column) {
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(Value::Null) => Ok(None),
            Some(_) => Err(wrong(column, "holds another type")),
            None => Err(wrong(column, "does not exist")),
        }
    }
}

/// Creates the error for a column. It shows nothing of the column's value, which may be a query or a result.
fn wrong(column: usize, why: &str) -> StorageError {
    StorageError::broken(format!("column {column} of a row {why}"))
}

/// A type as which a column can be read.
pub(super) trait FromCell: Sized {
    /// Converts a value. Returns `None` if it has another type.
    fn from_cell(cell: &Value<'_>) -> Option<Self>;
}

impl<T: FromCell> FromCell for Option<T> {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        if *cell == Value::Null { Some(None) } else { T::from_cell(cell).map(Some) }
    }
}

impl FromCell for bool {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        match cell {
            Value::Bool(value) => Some(*value),
            Value::Int(value) => Some(*value != 0),
            _ => None,
        }
    }
}

impl FromCell for i64 {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        if let Value::Int(value) = cell { Some(*value) } else { None }
    }
}

impl FromCell for f64 {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        match cell {
            Value::Float(value) => Some(*value),
            // SQLite returns some whole numbers of a REAL column as integers.
            Value::Int(value) => Some(*value as f64),
            _ => None,
        }
    }
}

impl FromCell for String {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        if let Value::Text(value) = cell { Some(value.clone().into_owned()) } else { None }
    }
}

impl FromCell for Vec<u8> {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        if let Value::Bytes(value) = cell { Some(value.clone().into_owned()) } else { None }
    }
}

impl<const N: usize> FromCell for [u8; N] {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        if let Value::Bytes(value) = cell { value.as_ref().try_into().ok() } else { None }
    }
}

impl FromCell for Uuid {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        match cell {
            Value::Id(value) => Some(*value),
            Value::Bytes(value) => Self::from_slice(value).ok(),
            _ => None,
        }
    }
}

impl FromCell for Timestamp {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        match cell {
            Value::Moment(value) => Some(*value),
            Value::Int(millis) => Self::from_millisecond(*millis).ok(),
            _ => None,
        }
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! from {
    ($($kind:ty => $variant:expr;)*) => {
        $(impl<'a> From<$kind> for Value<'a> {
            fn from(value: $kind) -> Self {
                $variant(value)
            }
        })*
    };
}

from! {
    bool => Value::Bool;
    i64 => Value::Int;
    u32 => |value| Value::Int(i64::from(value));
    f64 => Value::Float;
    String => |value| Value::Text(Cow::Owned(value));
    Cow<'a, str> => Value::Text;
    Uuid => Value::Id;
    Timestamp => Value::Moment;
    &'a str => |value| Value::Text(Cow::Borrowed(value));
    &'a String => |value: &'a String| Value::Text(Cow::Borrowed(value));
    &'a [u8] => |value| Value::Bytes(Cow::Borrowed(value));
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(value: &'a [u8; N]) -> Self {
        Self::Bytes(Cow::Borrowed(value))
    }
}

macro_rules! ids {
    ($($kind:ident),*) => {
        $(
            impl From<$kind> for Value<'_> {
                fn from(value: $kind) -> Self {
                    Self::Id(value.0)
                }
            }

            impl FromCell for $kind {
                fn from_cell(cell: &Value<'_>) -> Option<Self> {
                    Uuid::from_cell(cell).map(Self)
                }
            }
        )*
    };
}

ids!(AccountId, BatchId, KeyId, RunId, SessionId, WebhookId, DeliveryId, WatchId, WatchChangeId);
