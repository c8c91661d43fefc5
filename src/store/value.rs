//! Parameters of statements and columns of rows, in types that both databases share.
//!
//! | here | SQLite | PostgreSQL |
//! |---|---|---|
//! | number | INTEGER | bigint, double precision |
//! | text | TEXT | text, json |
//! | bytes | BLOB | bytea |
//! | id | BLOB | uuid |
//! | moment | INTEGER, milliseconds since 1970 | timestamptz, whole milliseconds |

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::document::{Json, decode, decode_reports};
use super::error::Result;
use crate::base::ids::{
    AccountId, BatchId, DeliveryId, KeyId, RunId, SessionId, WatchChangeId, WatchId, WebhookId,
};
use crate::base::storage::StorageError;
use crate::model::batch::RowRefusal;
use crate::model::coverage::Coverage;
use crate::model::event::EventType;
use crate::model::follow::{Class, FollowEnd, FollowOrder};
use crate::model::run::{ModuleReport, Progress, RunError, RunOptions, Status};
use crate::model::watch::{ChangeKind, PauseReason, WatchState};
use crate::model::webhook::{DeliveryStatus, DisabledReason};
use crate::modules::catalog::Choice;
use crate::modules::query::SearchType;

/// A parameter of a statement, or the value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    Id(Uuid),
    Moment(Timestamp),
}

/// The parameters of a statement, in the order `?1`, `?2`, ….
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::store::value::Value::from($value)),*]
    };
}
pub(super) use values;

/// A row that a statement has returned.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row(pub(super) Vec<Value>);

impl Row {
    /// Reads a type from the first columns.
    ///
    /// # Errors
    /// Returns an error if a column does not exist or has another type.
    pub(super) fn read<T: FromRow>(self) -> Result<T> {
        Cells { values: self.0.into_iter(), read: 0 }.read()
    }
}

/// The columns of a row that have not been read.
pub(super) struct Cells {
    values: std::vec::IntoIter<Value>,
    read: usize,
}

impl Cells {
    /// Reads the next columns.
    pub(super) fn read<T: FromRow>(&mut self) -> Result<T> {
        T::from_row(self)
    }
}

/// A type that is read from the next columns of a row.
pub(super) trait FromRow: Sized {
    fn from_row(cells: &mut Cells) -> Result<Self>;

    /// Returns the columns as they are selected, if `row!` names them.
    fn columns() -> String {
        String::new()
    }
}

/// A type as which a column can be read.
pub(super) trait FromCell: Sized {
    /// Converts a value. Returns `None` if it has another type.
    fn from_cell(cell: Value) -> Option<Self>;
}

impl<T: FromCell> FromRow for T {
    /// The error shows nothing of the column's value, which may be a query or a result.
    fn from_row(cells: &mut Cells) -> Result<Self> {
        cells.read += 1;
        let value = cells.values.next().and_then(T::from_cell);
        let wrong =
            || format!("column {} of a row cannot be read as {}", cells.read, std::any::type_name::<T>());
        value.ok_or_else(|| StorageError::broken(wrong()))
    }
}

macro_rules! tuples {
    ($(($($part:ident),+))+) => {
        $(impl<$($part: FromRow),+> FromRow for ($($part,)+) {
            fn from_row(cells: &mut Cells) -> Result<Self> {
                Ok(($(cells.read::<$part>()?,)+))
            }
        })+
    };
}
tuples!((A, B)(A, B, C)(A, B, C, D)(A, B, C, D, E)(A, B, C, D, E, F));

/// Names the columns of a type once: for statements, which have them as a [fragment](super::queries::fragments), and for
/// reading a row. A column has the name of its field, unless another expression is given.
macro_rules! row {
    ($kind:ident from $prefix:literal { $($field:ident $(= $sql:expr)?),+ $(,)? }) => {
        impl $crate::store::value::FromRow for $kind {
            fn from_row(cells: &mut $crate::store::value::Cells) -> $crate::store::error::Result<Self> {
                Ok(Self { $($field: cells.read()?),+ })
            }

            fn columns() -> String {
                let columns = [$([concat!($prefix, stringify!($field)) $(, $sql)?].last().copied()),+];
                columns.map(Option::unwrap_or_default).join(", ")
            }
        }
    };
}
pub(super) use row;

macro_rules! cells {
    ($($kind:ty { $($pattern:pat => $value:expr),+ })+) => {
        $(impl FromCell for $kind {
            fn from_cell(cell: Value) -> Option<Self> {
                match cell {
                    $($pattern => $value,)+
                    _ => None,
                }
            }
        })+
    };
}
cells! {
    bool { Value::Bool(value) => Some(value), Value::Int(value) => Some(value != 0) }
    // SQLite returns some whole numbers of a REAL column as integers.
    f64 { Value::Float(value) => Some(value), Value::Int(value) => Some(value as f64) }
    Duration { Value::Int(millis) => millis.try_into().ok().map(Self::from_millis) }
    String { Value::Text(text) => Some(text) }
    Arc<str> { Value::Text(text) => Some(text.into()) }
    Vec<u8> { Value::Bytes(bytes) => Some(bytes) }
    Uuid { Value::Id(id) => Some(id), Value::Bytes(bytes) => Self::from_slice(&bytes).ok() }
    Timestamp { Value::Moment(at) => Some(at), Value::Int(millis) => Self::from_millisecond(millis).ok() }
    serde_json::Value { Value::Text(text) => decode(&text).ok() }
    Choice { Value::Text(text) => decode(&text).ok() }
    Coverage { Value::Text(text) => decode(&text).ok() }
    FollowEnd { Value::Text(text) => decode(&text).ok() }
    FollowOrder { Value::Text(text) => decode(&text).ok() }
    Progress { Value::Text(text) => decode(&text).ok() }
    RunError { Value::Text(text) => decode(&text).ok() }
    RunOptions { Value::Text(text) => decode(&text).ok() }
    Vec<ChangeKind> { Value::Text(text) => named(&text, ChangeKind::from_name) }
    Vec<EventType> { Value::Text(text) => named(&text, EventType::from_name) }
    Vec<ModuleReport> { Value::Text(text) => decode_reports(&text).ok(), Value::Null => Some(Self::new()) }
}

impl<T: FromCell> FromCell for Option<T> {
    fn from_cell(cell: Value) -> Option<Self> {
        if cell == Value::Null { Some(None) } else { T::from_cell(cell).map(Some) }
    }
}

impl<const N: usize> FromCell for [u8; N] {
    fn from_cell(cell: Value) -> Option<Self> {
        if let Value::Bytes(bytes) = cell { bytes.try_into().ok() } else { None }
    }
}

impl<T: FromCell> FromCell for Arc<T> {
    fn from_cell(cell: Value) -> Option<Self> {
        T::from_cell(cell).map(Self::new)
    }
}

impl<T: DeserializeOwned> FromCell for Json<T> {
    fn from_cell(cell: Value) -> Option<Self> {
        if let Value::Text(text) = cell { decode(&text).ok().map(Self) } else { None }
    }
}

/// Reads a list of words as JSON. Words of a later version are left out.
fn named<T>(text: &str, from_name: fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let names: Vec<String> = decode(text).ok()?;
    Some(names.iter().filter_map(|name| from_name(name)).collect())
}

macro_rules! words {
    ($($kind:ty),*) => {
        $(
            impl FromCell for $kind {
                fn from_cell(cell: Value) -> Option<Self> {
                    if let Value::Text(word) = cell { Self::from_name(&word) } else { None }
                }
            }

            impl From<$kind> for Value {
                fn from(value: $kind) -> Self {
                    Self::Text(value.as_str().to_owned())
                }
            }
        )*
    };
}
words!(
    ChangeKind,
    Class,
    DeliveryStatus,
    DisabledReason,
    PauseReason,
    RowRefusal,
    SearchType,
    Status,
    WatchState
);

macro_rules! ids {
    ($($kind:ident),*) => {
        $(
            impl From<$kind> for Value {
                fn from(id: $kind) -> Self {
                    Self::Id(id.0)
                }
            }

            impl FromCell for $kind {
                fn from_cell(cell: Value) -> Option<Self> {
                    Uuid::from_cell(cell).map(Self)
                }
            }
        )*
    };
}
ids!(AccountId, BatchId, KeyId, RunId, SessionId, WebhookId, DeliveryId, WatchId, WatchChangeId);

macro_rules! whole_numbers {
    ($($kind:ty),*) => {
        $(
            impl FromCell for $kind {
                fn from_cell(cell: Value) -> Option<Self> {
                    if let Value::Int(value) = cell { value.try_into().ok() } else { None }
                }
            }

            /// A number that SQL cannot express becomes the largest one.
            impl From<$kind> for Value {
                fn from(value: $kind) -> Self {
                    Self::Int(value.try_into().unwrap_or(i64::MAX))
                }
            }
        )*
    };
}
whole_numbers!(i64, u8, u16, u32, u64, usize);

macro_rules! from {
    ($($kind:ty => $variant:expr;)*) => {
        $(impl From<$kind> for Value {
            fn from(value: $kind) -> Self {
                $variant(value)
            }
        })*
    };
}
from! {
    bool => Value::Bool;
    f64 => Value::Float;
    Uuid => Value::Id;
    Timestamp => Value::Moment;
    String => plain;
    &str => plain;
    &String => plain;
    Vec<u8> => Value::Bytes;
    &[u8] => |bytes: &[u8]| Value::Bytes(bytes.to_owned());
    Duration => |span: Duration| Value::Int(span.as_millis().try_into().unwrap_or(i64::MAX));
}

impl<const N: usize> From<&[u8; N]> for Value {
    fn from(bytes: &[u8; N]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Replaces U+0000, which PostgreSQL refuses in a text, by U+FFFD. JSON documents contain it as an escape only.
fn plain(text: impl Into<String>) -> Value {
    let text = text.into();
    Value::Text(if text.contains('\0') { text.replace('\0', "\u{FFFD}") } else { text })
}
