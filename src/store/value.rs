//! Parameters of statements and columns of rows. Both are values as SQLite keeps them. For PostgreSQL they are converted by
//! the type of the column or parameter:
//!
//! | here | SQLite | PostgreSQL |
//! |---|---|---|
//! | number | INTEGER, REAL | bigint, double precision |
//! | truth value | INTEGER | boolean |
//! | text | TEXT | text, json |
//! | bytes | BLOB | bytea |
//! | id | BLOB | uuid |
//! | moment | INTEGER, milliseconds since 1970 | timestamptz, whole milliseconds |

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
pub(super) use postgres::types::Json;
pub(super) use rusqlite::types::Value;
use serde::de::DeserializeOwned;
use serde_json::Map;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::document::{decode, decode_reports};
use super::error::Result;
use crate::base::ids::{
    AccountId, BatchId, DeliveryId, KeyId, RunId, SessionId, WatchChangeId, WatchId, WebhookId,
};
use crate::base::storage::StorageError;
use crate::model::account::{Role, SecretHash};
use crate::model::batch::{BatchStatus, RowRefusal};
use crate::model::coverage::Coverage;
use crate::model::drive::InstanceId;
use crate::model::event::EventType;
use crate::model::follow::{Class, FollowEnd, FollowOrder, Lookup};
use crate::model::notes::Verdict;
use crate::model::run::{ModuleReport, Progress, ResultRecord, RunError, RunOptions, Status};
use crate::model::search::Search;
use crate::model::watch::{ChangeKind, Interval, PauseReason, WatchState};
use crate::model::webhook::{DeliveryStatus, DisabledReason, SealedSecret};
use crate::modules::catalog::Choice;
use crate::modules::kept::KeptAnswer;
use crate::modules::query::SearchType;

/// The parameters of a statement, in the order `?1`, `?2`, ….
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::store::value::Parameter::value($value)),*]
    };
}
pub(super) use values;

/// The columns of a row that have not been read.
#[derive(Debug, Clone)]
pub(super) struct Row {
    values: std::vec::IntoIter<Value>,
    read: usize,
}

impl Row {
    /// Returns a row that a statement has returned.
    pub(super) fn new(values: Vec<Value>) -> Self {
        Self { values: values.into_iter(), read: 0 }
    }

    /// Reads a type from the next columns.
    ///
    /// # Errors
    /// Returns an error if a column does not exist or has another type.
    pub(super) fn read<T: FromRow>(&mut self) -> Result<T> {
        T::from_row(self)
    }
}

/// A type that is read from the next columns of a row.
pub(super) trait FromRow: Sized {
    fn from_row(row: &mut Row) -> Result<Self>;

    /// Returns the columns as they are selected, if `row!` names them. Statements have them as `{row}`.
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
    fn from_row(row: &mut Row) -> Result<Self> {
        row.read += 1;
        let value = row.values.next().and_then(T::from_cell);
        let wrong =
            || format!("column {} of a row cannot be read as {}", row.read, std::any::type_name::<T>());
        value.ok_or_else(|| StorageError::broken(wrong()))
    }
}

/// No column.
impl FromRow for () {
    fn from_row(_: &mut Row) -> Result<Self> {
        Ok(())
    }
}

/// The last part of a row, which may be unreadable while what comes before is needed.
impl<T: FromRow> FromRow for Result<T> {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(row.read())
    }

    fn columns() -> String {
        T::columns()
    }
}

macro_rules! tuples {
    ($(($($part:ident),+))+) => {
        $(impl<$($part: FromRow),+> FromRow for ($($part,)+) {
            fn from_row(row: &mut Row) -> Result<Self> {
                Ok(($(row.read::<$part>()?,)+))
            }

            fn columns() -> String {
                [$($part::columns()),+].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
            }
        })+
    };
}
tuples!((A, B)(A, B, C)(A, B, C, D)(A, B, C, D, E));

/// Names the columns of a type once: for the statements that read it, which have them as `{row}`, and for reading a row. A column
/// has the name of its field, unless another expression is given. A field whose type names its columns has these. With `struct`,
/// the type is declared as well.
macro_rules! row {
    (struct $kind:ident from $prefix:literal { $($field:ident: $type:ty $(= $sql:expr)?),+ $(,)? }) => {
        struct $kind { $($field: $type),+ }
        $crate::store::value::row! { $kind from $prefix { $($field $(= $sql)?),+ } }
    };
    ($kind:ident from $prefix:literal { $($field:ident $(= $sql:expr)?),+ $(,)? }) => {
        impl $crate::store::value::FromRow for $kind {
            fn from_row(row: &mut $crate::store::value::Row) -> $crate::store::error::Result<Self> {
                Ok(Self { $($field: row.read()?),+ })
            }

            fn columns() -> String {
                use $crate::store::value::column;
                [$(column(|row: &Self| &row.$field, &[concat!($prefix, stringify!($field)) $(, $sql)?])),+].join(", ")
            }
        }
    };
}
pub(super) use row;

/// Returns the columns of a field: the last of its names, unless it has only that of the field and its type has columns.
pub(super) fn column<R, T: FromRow>(_: fn(&R) -> &T, names: &[&str]) -> String {
    match names {
        [_, sql] => (*sql).to_owned(),
        _ => Some(T::columns()).filter(|columns| !columns.is_empty()).unwrap_or_else(|| names.concat()),
    }
}

macro_rules! cells {
    ($($($kind:ty),+: $read:expr;)+) => {$($(
        impl FromCell for $kind {
            fn from_cell(cell: Value) -> Option<Self> {
                let read: fn(Value) -> Option<Self> = $read;
                read(cell)
            }
        }
    )+)+};
}
cells! {
    bool: |cell| i64::from_cell(cell).map(|value| value != 0);
    i64, u8, u16, u32, u64, usize: |cell| if let Value::Integer(value) = cell { narrowed(value) } else { None };
    f64: |cell| i64::from_cell(cell).map(|number| number as f64);
    Duration: |cell| u64::from_cell(cell).map(Self::from_millis);
    String: |cell| if let Value::Text(text) = cell { Some(text) } else { None };
    Arc<str>: |cell| String::from_cell(cell).map(Self::from);
    Vec<u8>: |cell| if let Value::Blob(bytes) = cell { Some(bytes) } else { None };
    Uuid: |cell| Self::from_slice(&Vec::from_cell(cell)?).ok();
    AccountId, BatchId, InstanceId, KeyId, RunId, SessionId, WebhookId, DeliveryId, WatchId, WatchChangeId:
        |cell| Uuid::from_cell(cell).map(Self);
    SecretHash, SealedSecret: |cell| FromCell::from_cell(cell).map(Self);
    Interval: |cell| Self::from_secs(u64::from_cell(cell)?);
    // A role that only a later version knows grants nothing here.
    Role: |cell| Some(Self::from_name(&String::from_cell(cell)?).unwrap_or_default());
    // The latest moment of all has milliseconds that are not accepted.
    Timestamp: |cell| Some(Self::from_millisecond(i64::from_cell(cell)?).unwrap_or(Self::MAX));
    serde_json::Value, Choice, Coverage, FollowEnd, FollowOrder, KeptAnswer, Progress, ResultRecord,
    RunError, RunOptions, Search, Vec<Lookup>, Vec<String>: |cell| decode(&String::from_cell(cell)?).ok();
    BatchStatus, ChangeKind, Class, DeliveryStatus, DisabledReason, PauseReason, RowRefusal, SearchType, Status, Verdict, WatchState:
        |cell| Self::from_name(&String::from_cell(cell)?);
    Vec<ChangeKind>: |cell| named(cell, ChangeKind::from_name);
    Vec<EventType>: |cell| named(cell, EventType::from_name);
    Map<String, serde_json::Value>: |cell| or_empty(cell, decode);
    // Both are separated by commas.
    Vec<ModuleReport>: |cell| or_empty(cell, decode_reports);
    Vec<ResultRecord>: |cell| or_empty(cell, |records| decode(&format!("[{records}]")));
}

impl<T: FromCell> FromCell for Option<T> {
    fn from_cell(cell: Value) -> Option<Self> {
        if cell == Value::Null { Some(None) } else { T::from_cell(cell).map(Some) }
    }
}

impl<const N: usize> FromCell for [u8; N] {
    fn from_cell(cell: Value) -> Option<Self> {
        Vec::from_cell(cell)?.try_into().ok()
    }
}

impl<T: FromCell> FromCell for Arc<T> {
    fn from_cell(cell: Value) -> Option<Self> {
        T::from_cell(cell).map(Self::new)
    }
}

impl<T: DeserializeOwned> FromCell for Json<T> {
    fn from_cell(cell: Value) -> Option<Self> {
        decode(&String::from_cell(cell)?).ok().map(Self)
    }
}

/// Reads what is NULL if there is nothing.
fn or_empty<T: Default>(cell: Value, read: fn(&str) -> Result<T>) -> Option<T> {
    Option::<String>::from_cell(cell)?.map_or(Some(T::default()), |text| read(&text).ok())
}

/// Reads a list of words as JSON. Words of a later version are left out.
fn named<T>(cell: Value, from_name: fn(&str) -> Option<T>) -> Option<Vec<T>> {
    Some(Vec::<String>::from_cell(cell)?.iter().filter_map(|name| from_name(name)).collect())
}

/// A type that a parameter can have.
pub(super) trait Parameter {
    fn value(self) -> Value;
}

macro_rules! parameters {
    ($($($kind:ty),+: $write:expr;)+) => {$($(
        impl Parameter for $kind {
            fn value(self) -> Value {
                let write: fn($kind) -> Value = $write;
                write(self)
            }
        }
    )+)+};
}
parameters! {
    bool: Value::from;
    i32, i64, u8, u16, u32, u64, usize: widened;
    Duration: |span| widened(span.as_millis());
    // PostgreSQL refuses U+0000 in a text. JSON documents contain it as an escape only.
    &str: |text| Value::Text(text.replace('\0', "\u{FFFD}"));
    &String: |text| text.as_str().value();
    String: |text| if text.contains('\0') { text.as_str().value() } else { Value::Text(text) };
    Json<Box<RawValue>>: |json| Value::Text(json.0.get().to_owned());
    Vec<u8>: Value::Blob;
    &[u8]: |bytes| bytes.to_owned().value();
    Uuid: Value::from;
    AccountId, BatchId, KeyId, RunId, SessionId, WebhookId, DeliveryId, WatchId, WatchChangeId: |id| id.0.value();
    Timestamp: |at| at.as_millisecond().value();
    ChangeKind, Class, DeliveryStatus, DisabledReason, PauseReason, RowRefusal, SearchType, Status, Verdict, WatchState:
        |word| word.as_str().value();
}

impl<const N: usize> Parameter for &[u8; N] {
    fn value(self) -> Value {
        self.as_slice().value()
    }
}

impl<T: Parameter> Parameter for Option<T> {
    fn value(self) -> Value {
        self.map_or(Value::Null, T::value)
    }
}

fn narrowed<T: TryFrom<i64>>(value: i64) -> Option<T> {
    value.try_into().ok()
}

/// Returns a number as SQL has it. One that SQL cannot express becomes the largest one.
fn widened<T: TryInto<i64>>(value: T) -> Value {
    Value::Integer(value.try_into().unwrap_or(i64::MAX))
}
