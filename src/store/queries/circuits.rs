//! The circuit breakers of hosts and of modules, of which the latest change is valid.

use jiff::{Timestamp, ToSpan};

use super::audit::note;
use crate::base::storage::StorageError;
use crate::model::audit::{Action, AuditEvent, Origin};
use crate::model::health::{CircuitRecord, FailedControl, Opening};
use crate::modules::outcome::Outcome;
use crate::store::Store;
use crate::store::backend::{Operation, Statements};
use crate::store::document::{decode, encode};
use crate::store::value::{Cells, FromRow, values};

/// The table of the circuits of one kind.
pub(super) struct Table {
    /// What a circuit belongs to, as the audit calls it.
    name: &'static str,
    /// The action that the audit records.
    reset: Action,
    share_operation: &'static str,
    reset_operation: &'static str,
    select_all: &'static str,
    /// Stores changes. `?1` is an array with an element `[NAME, CHANGED_AT, CAUSE, OPEN_SINCE, WAIT_MS, NEXT_TRY_AT]`
    /// for each of them. Times are milliseconds since 1970. The rows are sorted, so that concurrent processes lock them
    /// in the same order.
    put: &'static str,
    /// Removes the circuits that have not changed for a week. No search has asked since then.
    forget: &'static str,
    select_open: &'static str,
    close: &'static str,
}

/// The statements of a table, by the names of the table, of its first column, and of the column of the cause.
macro_rules! table {
    ($table:literal, $name:literal, $cause:literal, $reset:expr, $operations:expr) => {
        Table {
            name: $name,
            reset: $reset,
            share_operation: $operations[0],
            reset_operation: $operations[1],
            select_all: concat!(
                "SELECT ", $name, ", changed_at, ", $cause, ", open_since, wait_ms, next_try_at FROM ", $table,
                " WHERE simulated = ?1 ORDER BY ", $name
            ),
            put: concat!(
                "INSERT INTO ", $table, " (", $name, ", simulated, changed_at, ", $cause,
                ", open_since, wait_ms, next_try_at) \
                 SELECT value ->> 0, ?2, to_timestamp(CAST(value ->> 1 AS bigint) / 1000.0), value ->> 2, \
                 to_timestamp(CAST(value ->> 3 AS bigint) / 1000.0), CAST(value ->> 4 AS bigint), \
                 to_timestamp(CAST(value ->> 5 AS bigint) / 1000.0) FROM json_each(?1) WHERE true ORDER BY 1 \
                 ON CONFLICT (", $name, ", simulated) DO UPDATE SET changed_at = excluded.changed_at, ",
                $cause, " = excluded.", $cause, ", open_since = excluded.open_since, \
                 wait_ms = excluded.wait_ms, next_try_at = excluded.next_try_at \
                 WHERE ", $table, ".changed_at < excluded.changed_at"
            ),
            forget: concat!("DELETE FROM ", $table, " WHERE changed_at < ?1"),
            select_open: concat!(
                "SELECT DISTINCT ", $name, " FROM ", $table, " WHERE open_since IS NOT NULL ORDER BY ", $name
            ),
            close: concat!(
                "UPDATE ", $table, " SET changed_at = greatest(?2, changed_at + ms(1)), ", $cause,
                " = NULL, open_since = NULL, wait_ms = NULL, next_try_at = NULL \
                 WHERE ", $name, " = ?1 AND open_since IS NOT NULL"
            ),
        }
    };
}

/// A cause that is stored.
pub(super) trait StoredCause: Sized {
    /// The table of its circuits.
    const TABLE: Table;

    /// Encodes the cause for its column.
    fn write(&self) -> Result<String, StorageError>;

    /// Decodes a cause.
    fn read(text: &str) -> Result<Self, StorageError>;
}

impl StoredCause for Outcome {
    const TABLE: Table = table!(
        "host_circuits",
        "host",
        "outcome",
        Action::CircuitReset,
        ["share_circuits", "reset_circuits"]
    );

    fn write(&self) -> Result<String, StorageError> {
        Ok(self.as_str().to_owned())
    }

    fn read(text: &str) -> Result<Self, StorageError> {
        Ok(if text == Self::Timeout.as_str() { Self::Timeout } else { Self::Error })
    }
}

impl StoredCause for FailedControl {
    const TABLE: Table = table!(
        "module_quarantines",
        "module",
        "cause",
        Action::QuarantineReset,
        ["share_quarantines", "reset_quarantines"]
    );

    fn write(&self) -> Result<String, StorageError> {
        encode(self)
    }

    fn read(text: &str) -> Result<Self, StorageError> {
        decode(text)
    }
}

/// Stores changes unless there are newer ones, and returns all circuits of the kind.
pub(super) fn share_circuits<C: StoredCause>(
    store: &Store,
    simulated: bool,
    changed: &[CircuitRecord<C>],
) -> Result<Vec<CircuitRecord<C>>, StorageError> {
    let operation = Operation::new(C::TABLE.share_operation).in_background().light();
    let Some(newest) = changed.iter().map(|record| record.changed_at).max() else {
        return store.read(operation, |statements| all(statements, simulated));
    };
    let forgotten = newest.saturating_sub((7 * 24).hours()).unwrap_or(Timestamp::MIN);
    let changed = encode(&changed.iter().map(element).collect::<Result<Vec<_>, _>>()?)?;
    store.write(operation, |statements| {
        statements.execute(C::TABLE.put, values![changed, simulated])?;
        statements.execute(C::TABLE.forget, values![forgotten])?;
        all(statements, simulated)
    })
}

/// An element of the array of [`Table::put`].
type Element<'r> = (&'r str, i64, Option<String>, Option<i64>, Option<u128>, Option<i64>);

fn element<C: StoredCause>(record: &CircuitRecord<C>) -> Result<Element<'_>, StorageError> {
    let opening = record.opening.as_ref();
    Ok((
        &record.name,
        record.changed_at.as_millisecond(),
        opening.map(|opening| opening.cause.write()).transpose()?,
        opening.map(|opening| opening.since.as_millisecond()),
        opening.map(|opening| opening.wait.as_millis()),
        opening.map(|opening| opening.next_try.as_millisecond()),
    ))
}

fn all<C: StoredCause>(
    statements: &mut dyn Statements,
    simulated: bool,
) -> Result<Vec<CircuitRecord<C>>, StorageError> {
    statements.all(C::TABLE.select_all, values![simulated])
}

impl<C: StoredCause> FromRow for CircuitRecord<C> {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self, StorageError> {
        let (name, changed_at, cause) = cells.read::<(_, _, Option<String>)>()?;
        let (since, wait, next_try) = cells.read::<(Option<_>, Option<_>, Option<_>)>()?;
        let opening = match (cause, since, wait, next_try) {
            (Some(cause), Some(since), Some(wait), Some(next_try)) => {
                Some(Opening { cause: C::read(&cause)?, since, wait, next_try })
            }
            _ => None,
        };
        Ok(Self { name, changed_at, opening })
    }
}

/// Closes the open circuit with this name, or all of the kind, and records it in the audit. Returns the names.
pub(super) fn reset_circuits<C: StoredCause>(
    store: &Store,
    name: Option<&str>,
    at: Timestamp,
    by: &Origin,
) -> Result<Vec<String>, StorageError> {
    let Table { name: kind, reset, reset_operation, select_open, close, .. } = C::TABLE;
    store.write(Operation::new(reset_operation), |statements| {
        let open: Vec<String> = statements.all(select_open, values![])?;
        let names: Vec<_> = open.into_iter().filter(|it| name.is_none_or(|name| name == it)).collect();
        for name in &names {
            statements.execute(close, values![name, at])?;
            note(statements, &AuditEvent::of_service(reset).with(kind, name.as_str()), at, by)?;
        }
        Ok(names)
    })
}
