//! Conversions between numbers of this program and numbers in SQL.

use std::time::Duration;

use crate::base::storage::StorageError;

/// Converts a number that was read from the database.
pub(super) fn number<T: TryFrom<i64>>(stored: i64) -> Result<T, StorageError> {
    T::try_from(stored).map_err(|_| StorageError::broken(format!("the number {stored} is out of range")))
}

/// Converts a number for the database.
pub(super) fn bigint<T: TryInto<i64> + Copy + std::fmt::Display>(value: T) -> Result<i64, StorageError> {
    value.try_into().map_err(|_| StorageError::broken(format!("the number {value} is too large to store")))
}

/// Converts a count for `LIMIT`. A count that SQL cannot express is no limit.
pub(super) fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Converts a time span to whole milliseconds.
pub(super) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
