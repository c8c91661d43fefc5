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
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::document::{Json, decode, decode_reports};
use crate::base::ids::{
    AccountId, BatchId, DeliveryId, KeyId, RunId, SessionId, WatchChangeId, WatchId, WebhookId,
};
use crate::base::storage::StorageError;
use crate::model::batch::RowRefusal;
use crate::model::coverage::Coverage;
use crate::model::event::EventType;
use crate::model::follow::{Class, FollowEnd, FollowOrder};
use crate::model::run::{ModuleReport, Progress, RunError, RunOptions, Status};
use crate::model::watch::{ChangeKind, PauseReason};
use crate::model::webhook::{DeliveryStatus, DisabledReason};
use crate::modules::catalog::Choice;
use crate::modules::query::SearchType;

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

/// A type that is read from the next columns of a row.
pub(super) trait FromRow: Sized {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self, StorageError>;
}

/// The columns of a row that have not been read.
pub(super) struct Cells<'r> {
    row: &'r Row,
    next: usize,
}

impl Cells<'_> {
    /// Reads the next columns.
    pub(super) fn read<T: FromRow>(&mut self) -> Result<T, StorageError> {
        T::from_row(self)
    }
}

impl<T: FromCell> FromRow for T {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self, StorageError> {
        cells.next += 1;
        cells.row.get(cells.next - 1)
    }
}

impl<T: DeserializeOwned> FromRow for Json<T> {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self, StorageError> {
        cells.next += 1;
        decode(cells.row.text(cells.next - 1)?).map(Self)
    }
}

impl<T: DeserializeOwned> FromRow for Option<Json<T>> {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self, StorageError> {
        cells.next += 1;
        Ok(cells.row.optional_text(cells.next - 1)?.map(decode).transpose()?.map(Json))
    }
}

impl FromRow for Vec<ModuleReport> {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self, StorageError> {
        cells.next += 1;
        decode_reports(cells.row.optional_text(cells.next - 1)?.unwrap_or_default())
    }
}

macro_rules! tuples {
    ($(($($part:ident),+))+) => {
        $(impl<$($part: FromRow),+> FromRow for ($($part,)+) {
            fn from_row(cells: &mut Cells<'_>) -> Result<Self, StorageError> {
                Ok(($(cells.read::<$part>()?,)+))
            }
        })+
    };
}
tuples!((A, B)(A, B, C)(A, B, C, D)(A, B, C, D, E)(A, B, C, D, E, F));

/// Names the columns of a type once: for `SELECT`, as a macro with that name, and for reading a row. A column has the
/// name of its field, unless another expression is given.
macro_rules! row {
    ($columns:ident: $kind:ident from $prefix:literal { $($field:ident $(= $sql:literal)?),+ $(,)? }) => {
        macro_rules! $columns {
            () => {
                $crate::store::value::joined!($($crate::store::value::column!($prefix $field $($sql)?)),+)
            };
        }

        impl $crate::store::value::FromRow for $kind {
            fn from_row(cells: &mut $crate::store::value::Cells<'_>) -> Result<Self, $crate::base::storage::StorageError> {
                Ok(Self { $($field: cells.read()?),+ })
            }
        }
    };
}
pub(super) use row;

macro_rules! column {
    ($prefix:literal $field:ident) => {
        concat!($prefix, stringify!($field))
    };
    ($prefix:literal $field:ident $sql:literal) => {
        $sql
    };
}
pub(super) use column;

macro_rules! joined {
    ($first:expr $(, $further:expr)*) => {
        concat!($first $(, ", ", $further)*)
    };
}
pub(super) use joined;

impl Row {
    /// Reads a type from the first columns.
    ///
    /// # Errors
    /// Returns an error if a column does not exist or has another type.
    pub(super) fn read<T: FromRow>(&self) -> Result<T, StorageError> {
        Cells { row: self, next: 0 }.read()
    }

    /// Reads a column, counted from 0.
    ///
    /// # Errors
    /// Returns an error if the column does not exist or has another type.
    fn get<T: FromCell>(&self, column: usize) -> Result<T, StorageError> {
        let cell = self.0.get(column).ok_or_else(|| wrong(column, "does not exist"))?;
        T::from_cell(cell).ok_or_else(|| wrong(column, "holds another type"))
    }

    /// Reads a column of text, counted from 0.
    ///
    /// # Errors
    /// Returns an error if the column does not exist, is NULL or has another type.
    fn text(&self, column: usize) -> Result<&str, StorageError> {
        self.optional_text(column)?.ok_or_else(|| wrong(column, "is NULL"))
    }

    /// Reads a column of text that may be NULL, counted from 0.
    ///
    /// # Errors
    /// Returns an error if the column does not exist or has another type.
    fn optional_text(&self, column: usize) -> Result<Option<&str>, StorageError> {
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

macro_rules! whole_numbers {
    ($($kind:ty),*) => {
        $(
            impl FromCell for $kind {
                fn from_cell(cell: &Value<'_>) -> Option<Self> {
                    if let Value::Int(value) = cell { (*value).try_into().ok() } else { None }
                }
            }

            /// A number that SQL cannot express becomes the largest one.
            impl From<$kind> for Value<'_> {
                fn from(value: $kind) -> Self {
                    Self::Int(value.try_into().unwrap_or(i64::MAX))
                }
            }
        )*
    };
}
whole_numbers!(i64, u8, u16, u32, u64, usize);

/// A time span in whole milliseconds.
impl FromCell for Duration {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        u64::from_cell(cell).map(Self::from_millis)
    }
}

impl From<Duration> for Value<'_> {
    fn from(span: Duration) -> Self {
        Self::Int(span.as_millis().try_into().unwrap_or(i64::MAX))
    }
}

macro_rules! words {
    ($($kind:ty),*) => {
        $(
            impl FromCell for $kind {
                fn from_cell(cell: &Value<'_>) -> Option<Self> {
                    if let Value::Text(word) = cell { Self::from_name(word) } else { None }
                }
            }

            impl From<$kind> for Value<'_> {
                fn from(value: $kind) -> Self {
                    Self::Text(Cow::Borrowed(value.as_str()))
                }
            }
        )*
    };
}
macro_rules! documents {
    ($($kind:ty),*) => {
        $(impl FromCell for $kind {
            fn from_cell(cell: &Value<'_>) -> Option<Self> {
                if let Value::Text(text) = cell { decode(text).ok() } else { None }
            }
        })*
    };
}
documents!(serde_json::Value, Choice, Coverage, FollowEnd, FollowOrder, Progress, RunError, RunOptions);

impl FromCell for Arc<str> {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        if let Value::Text(value) = cell { Some(value.as_ref().into()) } else { None }
    }
}

impl<T: FromCell> FromCell for Arc<T> {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        T::from_cell(cell).map(Self::new)
    }
}

/// A list of words as JSON. Words of a later version are left out.
macro_rules! lists {
    ($($kind:ty),*) => {
        $(impl FromCell for Vec<$kind> {
            fn from_cell(cell: &Value<'_>) -> Option<Self> {
                let Value::Text(text) = cell else { return None };
                let names: Vec<Cow<'_, str>> = decode(text).ok()?;
                Some(names.iter().filter_map(|name| <$kind>::from_name(name)).collect())
            }
        })*
    };
}
lists!(ChangeKind, EventType);

words!(ChangeKind, Class, DeliveryStatus, DisabledReason, PauseReason, RowRefusal, SearchType, Status);

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
    f64 => Value::Float;
    String => |value: String| plain(Cow::Owned(value));
    Cow<'a, str> => plain;
    Uuid => Value::Id;
    Timestamp => Value::Moment;
    &'a str => |value| plain(Cow::Borrowed(value));
    &'a String => |value: &'a String| plain(Cow::Borrowed(value));
    &'a [u8] => |value| Value::Bytes(Cow::Borrowed(value));
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(value: &'a [u8; N]) -> Self {
        Self::Bytes(Cow::Borrowed(value))
    }
}

/// Replaces U+0000, which PostgreSQL refuses in a text, by U+FFFD. JSON documents contain it as an escape only.
fn plain(text: Cow<'_, str>) -> Value<'_> {
    Value::Text(if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{FFFD}")) } else { text })
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
