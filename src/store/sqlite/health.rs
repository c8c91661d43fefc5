//! `Journal::share_health`.

use rusqlite::{Connection, Row, params};

use super::error::storage;
use super::{At, Database, Durability};
use crate::base::storage::StorageError;
use crate::runs::health::Tallies;
use crate::runs::health::tally::Tally;
use crate::store::health::{COUNTED, Counts, faded, health_columns};
use crate::store::row::bigint;

const ALL: &str = concat!("SELECT ", health_columns!(), " FROM module_health WHERE simulated = ?1");
const NEW: &str = concat!(
    "INSERT INTO module_health (",
    health_columns!(),
    ", simulated) VALUES (?1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, ?2) \
     ON CONFLICT (module, simulated) DO NOTHING"
);
const ADD: &str = concat!(
    "UPDATE module_health SET checks = checks + ?5, ",
    faded!("hit", "?3", "?6"),
    ", ",
    faded!("miss", "?3", "?7"),
    ", ",
    faded!("blocked", "?3", "?8"),
    ", ",
    faded!("rate_limited", "?3", "?9"),
    ", ",
    faded!("timeout", "?3", "?10"),
    ", ",
    faded!("error", "?3", "?11"),
    ", ",
    faded!("unreliable", "?3", "?12"),
    ", ",
    faded!("latency_sum", "?4", "?13"),
    ", ",
    faded!("latency_weight", "?4", "?14"),
    // The two-argument max is NULL where one of them is.
    ", last_checked_at = max(COALESCE(last_checked_at, ?15), COALESCE(?15, last_checked_at)), \
     last_hit_at = max(COALESCE(last_hit_at, ?16), COALESCE(?16, last_hit_at)), \
     last_conclusive_at = max(COALESCE(last_conclusive_at, ?17), COALESCE(?17, last_conclusive_at)) \
     WHERE module = ?1 AND simulated = ?2"
);

impl Database {
    pub(super) fn add_health(&self, simulated: bool, learnt: &Tallies) -> Result<Tallies, StorageError> {
        if learnt.is_empty() {
            return all(&*self.reader()?, simulated);
        }
        self.write(Durability::Process, |tx| {
            for (module, tally) in learnt {
                tx.prepare_cached(NEW)
                    .and_then(|mut statement| statement.execute(params![&**module, simulated]))
                    .map_err(storage)?;
                add(tx, module, simulated, tally)?;
            }
            all(tx, simulated)
        })
    }
}

fn add(tx: &Connection, module: &str, simulated: bool, tally: &Tally) -> Result<(), StorageError> {
    let (kept, checks) = (tally.kept(), bigint(tally.checks)?);
    let [hit, miss, blocked, rate_limited, timeout, error, unreliable, _] = tally.outcomes;
    let [latency_sum, latency_weight] = tally.latency;
    let values = params![
        module,
        simulated,
        kept.outcomes,
        kept.latencies,
        checks,
        hit,
        miss,
        blocked,
        rate_limited,
        timeout,
        error,
        unreliable,
        latency_sum,
        latency_weight,
        tally.last_checked.map(At),
        tally.last_hit.map(At),
        tally.last_conclusive.map(At),
    ];
    tx.prepare_cached(ADD).and_then(|mut statement| statement.execute(values)).map(drop).map_err(storage)
}

fn all(connection: &Connection, simulated: bool) -> Result<Tallies, StorageError> {
    let mut statement = connection.prepare_cached(ALL).map_err(storage)?;
    let rows = statement
        .query_map([simulated], |row| Ok((row.get::<_, String>(0)?, counts(row)?, times(row)?)))
        .map_err(storage)?;
    rows.map(|row| {
        let (module, counts, [last_checked, last_hit, last_conclusive]) = row.map_err(storage)?;
        let when = |at: Option<At>| at.map(|at| at.0);
        let tally = Tally {
            last_checked: when(last_checked),
            last_hit: when(last_hit),
            last_conclusive: when(last_conclusive),
            ..counts.into_tally()?
        };
        Ok((module.into(), tally))
    })
    .collect()
}

fn counts(row: &Row<'_>) -> rusqlite::Result<Counts> {
    let mut outcomes = [0.0; COUNTED];
    for (at, outcome) in outcomes.iter_mut().enumerate() {
        *outcome = row.get(2 + at)?;
    }
    let after = 2 + COUNTED;
    Ok(Counts { checks: row.get(1)?, outcomes, latency: [row.get(after)?, row.get(after + 1)?] })
}

fn times(row: &Row<'_>) -> rusqlite::Result<[Option<At>; 3]> {
    let first = 2 + COUNTED + 2;
    Ok([row.get(first)?, row.get(first + 1)?, row.get(first + 2)?])
}
