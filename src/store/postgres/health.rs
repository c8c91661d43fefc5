//! `Journal::share_health`.

use jiff::Timestamp;
use postgres::Row;

use super::error::storage;
use super::session::Work;
use super::{Database, at};
use crate::base::storage::StorageError;
use crate::modules::outcome::Outcome;
use crate::runs::health::Tallies;
use crate::runs::health::tally::Tally;
use crate::store::health::{COUNTED, Counts, faded, health_columns};
use crate::store::row::bigint;

const ALL: &str = concat!("SELECT ", health_columns!(), " FROM module_health WHERE simulated = $1");
const NEW: &str = concat!(
    "INSERT INTO module_health (",
    health_columns!(),
    ", simulated) SELECT m, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, $2::boolean \
     FROM unnest($1::text[]) AS m ORDER BY m ON CONFLICT (module, simulated) DO NOTHING"
);
/// Processes that write at the same time take the rows in the same order: they wait for each other, and
/// never in a circle.
const LOCK: &str = "SELECT 1 FROM module_health WHERE module = ANY ($1::text[]) AND simulated = $2 \
     ORDER BY module FOR NO KEY UPDATE";
const ADD: &str = concat!(
    "UPDATE module_health SET checks = module_health.checks + r.checks, ",
    faded!("hit", "r.kept_outcomes", "r.hit"),
    ", ",
    faded!("miss", "r.kept_outcomes", "r.miss"),
    ", ",
    faded!("blocked", "r.kept_outcomes", "r.blocked"),
    ", ",
    faded!("rate_limited", "r.kept_outcomes", "r.rate_limited"),
    ", ",
    faded!("timeout", "r.kept_outcomes", "r.timeout"),
    ", ",
    faded!("error", "r.kept_outcomes", "r.error"),
    ", ",
    faded!("unreliable", "r.kept_outcomes", "r.unreliable"),
    ", ",
    faded!("latency_sum", "r.kept_latencies", "r.latency_sum"),
    ", ",
    faded!("latency_weight", "r.kept_latencies", "r.latency_weight"),
    ", last_checked_at = GREATEST(module_health.last_checked_at, r.last_checked_at), \
     last_hit_at = GREATEST(module_health.last_hit_at, r.last_hit_at), \
     last_conclusive_at = GREATEST(module_health.last_conclusive_at, r.last_conclusive_at) \
     FROM unnest($1::text[], $3::float8[], $4::float8[], $5::bigint[], $6::float8[], $7::float8[], \
     $8::float8[], $9::float8[], $10::float8[], $11::float8[], $12::float8[], $13::float8[], $14::float8[], \
     $15::timestamptz[], $16::timestamptz[], $17::timestamptz[]) \
     AS r(module, kept_outcomes, kept_latencies, checks, hit, miss, blocked, rate_limited, timeout, error, \
     unreliable, latency_sum, latency_weight, last_checked_at, last_hit_at, last_conclusive_at) \
     WHERE module_health.module = r.module AND module_health.simulated = $2"
);

impl Database {
    pub(super) fn add_health(&self, simulated: bool, learnt: &Tallies) -> Result<Tallies, StorageError> {
        if learnt.is_empty() {
            return tallies(&self.session()?.query(ALL, &[&simulated])?);
        }
        self.write(|work| {
            add(work, simulated, learnt)?;
            tallies(&work.query(ALL, &[&simulated])?)
        })
    }
}

fn add(work: &mut Work<'_>, simulated: bool, learnt: &Tallies) -> Result<(), StorageError> {
    let modules: Vec<&str> = learnt.iter().map(|(module, _)| &**module).collect();
    work.execute(NEW, &[&modules, &simulated])?;
    work.query(LOCK, &[&modules, &simulated])?;
    let numbers =
        |of: &dyn Fn(&Tally) -> f64| -> Vec<f64> { learnt.iter().map(|(_, tally)| of(tally)).collect() };
    let times = |of: &dyn Fn(&Tally) -> Option<Timestamp>| -> Vec<Option<Timestamp>> {
        learnt.iter().map(|(_, tally)| of(tally).map(at)).collect()
    };
    let weights = |outcome: Outcome| {
        let place = Outcome::ALL.iter().position(|known| *known == outcome);
        numbers(&move |tally| place.map_or(0.0, |place| tally.outcomes[place]))
    };
    let checks = learnt.iter().map(|(_, tally)| bigint(tally.checks)).collect::<Result<Vec<_>, _>>()?;
    work.execute(
        ADD,
        &[
            &modules,
            &simulated,
            &numbers(&|tally| tally.kept().outcomes),
            &numbers(&|tally| tally.kept().latencies),
            &checks,
            &weights(Outcome::Hit),
            &weights(Outcome::Miss),
            &weights(Outcome::Blocked),
            &weights(Outcome::RateLimited),
            &weights(Outcome::Timeout),
            &weights(Outcome::Error),
            &weights(Outcome::Unreliable),
            &numbers(&|tally| tally.latency[0]),
            &numbers(&|tally| tally.latency[1]),
            &times(&|tally| tally.last_checked),
            &times(&|tally| tally.last_hit),
            &times(&|tally| tally.last_conclusive),
        ],
    )?;
    Ok(())
}

fn tallies(rows: &[Row]) -> Result<Tallies, StorageError> {
    rows.iter()
        .map(|row| {
            let module: &str = row.try_get(0).map_err(storage)?;
            let (counts, [last_checked, last_hit, last_conclusive]) =
                (counts(row).map_err(storage)?, times(row).map_err(storage)?);
            let tally = Tally { last_checked, last_hit, last_conclusive, ..counts.into_tally()? };
            Ok((module.into(), tally))
        })
        .collect()
}

fn counts(row: &Row) -> Result<Counts, postgres::Error> {
    let mut outcomes = [0.0; COUNTED];
    for (at, outcome) in outcomes.iter_mut().enumerate() {
        *outcome = row.try_get(2 + at)?;
    }
    let after = 2 + COUNTED;
    Ok(Counts { checks: row.try_get(1)?, outcomes, latency: [row.try_get(after)?, row.try_get(after + 1)?] })
}

fn times(row: &Row) -> Result<[Option<Timestamp>; 3], postgres::Error> {
    let first = 2 + COUNTED + 2;
    Ok([row.try_get(first)?, row.try_get(first + 1)?, row.try_get(first + 2)?])
}
