//! The circuit breakers of hosts, of which the latest change is valid.

use std::time::Duration;

use jiff::{Timestamp, ToSpan};

use super::audit::note;
use crate::account::audit::{Action, AuditEvent, Origin};
use crate::base::storage::StorageError;
use crate::modules::outcome::Outcome;
use crate::runs::health::circuit::{CircuitRecord, Opening};
use crate::store::backend::{Operation, Statements};
use crate::store::document::encode;
use crate::store::number::{millis, number};
use crate::store::sql::Sql;
use crate::store::value::{Row, values};

const ALL: &str = "SELECT host, changed_at, outcome, open_since, wait_ms, next_try_at FROM host_circuits \
     WHERE simulated = ?1 ORDER BY host";
/// Stores changes. `?1` is an array with an element `[HOST, CHANGED_AT, OUTCOME, OPEN_SINCE, WAIT_MS, NEXT_TRY_AT]` for
/// each of them. Times are milliseconds since 1970. The rows are sorted, so that concurrent processes lock them in the
/// same order.
const PUT: &str = "INSERT INTO host_circuits \
     (host, simulated, changed_at, outcome, open_since, wait_ms, next_try_at) \
     SELECT value ->> 0, ?2, to_timestamp(CAST(value ->> 1 AS bigint) / 1000.0), value ->> 2, \
     to_timestamp(CAST(value ->> 3 AS bigint) / 1000.0), CAST(value ->> 4 AS bigint), \
     to_timestamp(CAST(value ->> 5 AS bigint) / 1000.0) FROM json_each(?1) WHERE true ORDER BY 1 \
     ON CONFLICT (host, simulated) DO UPDATE SET \
     changed_at = excluded.changed_at, outcome = excluded.outcome, open_since = excluded.open_since, \
     wait_ms = excluded.wait_ms, next_try_at = excluded.next_try_at \
     WHERE host_circuits.changed_at < excluded.changed_at";
/// Removes the circuits that have not changed for a week. Nothing has asked their hosts since then.
const FORGET: &str = "DELETE FROM host_circuits WHERE changed_at < ?1";
const OPEN: &str = "SELECT DISTINCT host FROM host_circuits WHERE open_since IS NOT NULL ORDER BY host";
const RESET: &str = "UPDATE host_circuits SET changed_at = greatest(?2, changed_at + ms(1)), outcome = NULL, \
     open_since = NULL, wait_ms = NULL, next_try_at = NULL WHERE host = ?1 AND open_since IS NOT NULL";

/// Stores changes unless there are newer ones, and returns all circuits.
pub(super) fn share_circuits(
    store: &Sql,
    simulated: bool,
    changed: &[CircuitRecord],
) -> Result<Vec<CircuitRecord>, StorageError> {
    let operation = Operation::on_accounts("share_circuits").in_background().light();
    let Some(newest) = changed.iter().map(|record| record.changed_at).max() else {
        return store.read(operation, |statements| all(statements, simulated));
    };
    let forgotten = newest.saturating_sub((7 * 24).hours()).unwrap_or(Timestamp::MIN);
    let changed = encode(&changed.iter().map(element).collect::<Vec<_>>())?;
    store.write(operation, |statements| {
        statements.execute(PUT, values![changed, simulated])?;
        statements.execute(FORGET, values![forgotten])?;
        all(statements, simulated)
    })
}

/// An element of the array of [`PUT`].
type Element<'r> = (&'r str, i64, Option<&'static str>, Option<i64>, Option<i64>, Option<i64>);

fn element(record: &CircuitRecord) -> Element<'_> {
    let opening = record.opening.as_ref();
    (
        &record.host,
        record.changed_at.as_millisecond(),
        opening.map(|opening| opening.outcome.as_str()),
        opening.map(|opening| opening.since.as_millisecond()),
        opening.map(|opening| millis(opening.wait)),
        opening.map(|opening| opening.next_try.as_millisecond()),
    )
}

fn all(statements: &mut dyn Statements, simulated: bool) -> Result<Vec<CircuitRecord>, StorageError> {
    statements.rows(ALL, values![simulated])?.iter().map(read_circuit).collect()
}

fn read_circuit(row: &Row) -> Result<CircuitRecord, StorageError> {
    let opening = match row.optional_text(2)? {
        None => None,
        Some(word) => Some(Opening {
            outcome: if word == Outcome::Timeout.as_str() { Outcome::Timeout } else { Outcome::Error },
            since: row.get(3)?,
            wait: Duration::from_millis(number(row.get(4)?)?),
            next_try: row.get(5)?,
        }),
    };
    Ok(CircuitRecord { host: row.get(0)?, changed_at: row.get(1)?, opening })
}

/// Closes the open circuit of a host, or of all hosts, and records it in the audit. Returns the hosts.
pub(super) fn reset_circuits(
    store: &Sql,
    host: Option<&str>,
    at: Timestamp,
    by: &Origin,
) -> Result<Vec<String>, StorageError> {
    store.write(Operation::on_accounts("reset_circuits"), |statements| {
        let open = statements.rows(OPEN, values![])?;
        let open = open.iter().map(|row| row.get::<String>(0)).collect::<Result<Vec<_>, _>>()?;
        let hosts: Vec<_> = open.into_iter().filter(|it| host.is_none_or(|host| host == it)).collect();
        for host in &hosts {
            statements.execute(RESET, values![host, at])?;
            note(
                statements,
                &AuditEvent::of_service(Action::CircuitReset).with("host", host.as_str()),
                at,
                by,
            )?;
        }
        Ok(hosts)
    })
}
