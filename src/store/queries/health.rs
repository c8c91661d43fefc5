//! The health of modules: tallies whose weights decrease as newer checks are added. They are added up in Rust, so that
//! the rules are the same in a process and in the database.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::audit::note;
use crate::base::storage::StorageError;
use crate::model::audit::{Action, AuditEvent, Origin};
use crate::model::health::Tallies;
use crate::model::latencies::Latencies;
use crate::model::tally::Tally;
use crate::modules::outcome::Outcome;
use crate::store::Store;
use crate::store::backend::{Operation, Statements};
use crate::store::document::{Json, encode};
use crate::store::value::{Cells, FromRow, values};

/// The columns of a row: the module, and its tally in the order in which it is read.
macro_rules! columns {
    () => {
        "module, checks, hit, miss, blocked, rate_limited, timeout, error, unreliable, latency_sum, \
         latency_weight, last_checked_at, last_hit_at, last_conclusive_at, durations"
    };
}

/// The condition that a module is one of the tallies that [`encode_tallies`] has written into `?1`.
macro_rules! is_written {
    () => {
        "module IN (SELECT value ->> 0 FROM json_each(?1)) AND simulated = ?2"
    };
}

const ALL: &str = concat!("SELECT ", columns!(), " FROM module_health WHERE simulated = ?1");
/// Adds the rows that do not exist yet, so that they can be locked.
const NEW: &str = "INSERT INTO module_health (module, simulated, checks, hit, miss, blocked, rate_limited, timeout, \
     error, unreliable, latency_sum, latency_weight) SELECT value ->> 0, ?2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
     FROM json_each(?1) WHERE true ORDER BY 1 ON CONFLICT (module, simulated) DO NOTHING";
/// Locks and reads rows. Instances that write at the same time lock the rows in the same order, so they cannot wait for
/// each other in a circle.
const LOCK: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM module_health WHERE ",
    is_written!(),
    " ORDER BY module /*pg FOR NO KEY UPDATE */"
);
/// Replaces the tallies of locked rows.
const WRITE: &str = "UPDATE module_health SET checks = CAST(value ->> 1 AS bigint), \
     hit = CAST(value ->> 2 AS double precision), miss = CAST(value ->> 3 AS double precision), \
     blocked = CAST(value ->> 4 AS double precision), rate_limited = CAST(value ->> 5 AS double precision), \
     timeout = CAST(value ->> 6 AS double precision), error = CAST(value ->> 7 AS double precision), \
     unreliable = CAST(value ->> 8 AS double precision), latency_sum = CAST(value ->> 9 AS double precision), \
     latency_weight = CAST(value ->> 10 AS double precision), \
     last_checked_at = to_timestamp(CAST(value ->> 11 AS bigint) / 1000.0), \
     last_hit_at = to_timestamp(CAST(value ->> 12 AS bigint) / 1000.0), \
     last_conclusive_at = to_timestamp(CAST(value ->> 13 AS bigint) / 1000.0), durations = value -> 14 \
     FROM json_each(?1) WHERE module = value ->> 0 AND simulated = ?2";

/// Locks the rows of a module, or of all modules, and reads their durations. The order is that of [`LOCK`].
const LOCK_DURATIONS: &str = "SELECT module, durations FROM module_health \
     WHERE module = coalesce(?1, module) ORDER BY module, simulated /*pg FOR NO KEY UPDATE */";
const RESET_DURATIONS: &str = "UPDATE module_health SET durations = '{}' WHERE module = coalesce(?1, module)";

impl Store {
    /// Adds the tallies of a process, by module id, to those of all processes in one transaction. Returns the totals
    /// of the simulated or the real web.
    pub fn share_health(&self, simulated: bool, learnt: &Tallies) -> Result<Tallies, StorageError> {
        let operation = Operation::new("share_health").in_background().light();
        if learnt.is_empty() {
            return self.read(operation, |statements| all(statements, simulated));
        }
        let newer = encode_tallies(learnt)?;
        self.write(operation, |statements| {
            statements.execute(NEW, values![&newer, simulated])?;
            let stored: Vec<(Arc<str>, Tally)> = statements.all(LOCK, values![&newer, simulated])?;
            let stored: HashMap<_, _> = stored.into_iter().collect();
            let sum = |(module, newer): &(Arc<str>, Tally)| {
                let older = stored.get(module).cloned().unwrap_or_default();
                (Arc::clone(module), older.then(newer))
            };
            let sums = encode_tallies(&learnt.iter().map(sum).collect())?;
            statements.execute(WRITE, values![&sums, simulated])?;
            all(statements, simulated)
        })
    }
}

/// Removes the durations of a module, or of all modules, and records it in the audit. Returns the modules that had
/// durations. The rows stay: an instance keeps its own totals of a module without a row.
pub(super) fn reset_deadlines(
    store: &Store,
    module: Option<&str>,
    at: Timestamp,
    by: &Origin,
) -> Result<Vec<String>, StorageError> {
    store.write(Operation::new("reset_deadlines"), |statements| {
        let mut modules = Vec::new();
        for (module, Json(known)) in
            statements.all::<(String, Json<Latencies>)>(LOCK_DURATIONS, values![module])?
        {
            if known != Latencies::default() {
                modules.push(module);
            }
        }
        modules.dedup();
        if !modules.is_empty() {
            statements.execute(RESET_DURATIONS, values![module])?;
            let event = AuditEvent::of_service(Action::DeadlinesReset);
            let event = match module {
                Some(module) => event.with("module", module),
                None => event.with("modules", modules.len()),
            };
            note(statements, &event, at, by)?;
        }
        Ok(modules)
    })
}

fn all(statements: &mut dyn Statements, simulated: bool) -> Result<Tallies, StorageError> {
    statements.all(ALL, values![simulated])
}

/// The outcomes with a column, in the order of the columns: those that [`Outcome::health_outcome`] returns.
const COLUMNS: [Outcome; 7] = [
    Outcome::Hit,
    Outcome::Miss,
    Outcome::Blocked,
    Outcome::RateLimited,
    Outcome::Timeout,
    Outcome::Error,
    Outcome::Unreliable,
];

/// Encodes tallies for the statements above: an array with an array for each of them, with the values in the order of
/// the columns. Times are milliseconds since 1970.
fn encode_tallies(tallies: &Tallies) -> Result<String, StorageError> {
    let element = |(module, tally): &(Arc<str>, Tally)| {
        let times = [tally.last_checked, tally.last_hit, tally.last_conclusive];
        let outcomes = COLUMNS.iter().map(|outcome| json!(tally.outcomes[*outcome]));
        let times = times.iter().map(|at| json!(at.map(Timestamp::as_millisecond)));
        let mut values = vec![json!(**module), json!(tally.checks)];
        values.extend(outcomes.chain(tally.latency.iter().map(|sum| json!(sum))).chain(times));
        values.push(json!(tally.latencies));
        values
    };
    encode(&tallies.iter().map(element).collect::<Vec<_>>())
}

impl FromRow for Tally {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self, StorageError> {
        let mut tally = Self { checks: cells.read()?, ..Self::default() };
        for outcome in COLUMNS {
            tally.outcomes[outcome] = cells.read()?;
        }
        tally.latency = [cells.read()?, cells.read()?];
        (tally.last_checked, tally.last_hit, tally.last_conclusive) = cells.read()?;
        let Json(latencies) = cells.read()?;
        Ok(Self { latencies, ..tally })
    }
}
