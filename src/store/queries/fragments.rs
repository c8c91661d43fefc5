//! Pieces of SQL that several statements share.

use std::any::type_name;
use std::collections::HashMap;
use std::sync::LazyLock;

use parking_lot::RwLock;

use crate::store::value::FromRow;

/// Returns a statement with the pieces that its names in braces stand for. `{row}` means the columns of `T`, the type
/// as which a row is read.
pub(in crate::store) fn complete<T: FromRow>(sql: &'static str) -> &'static str {
    completed(sql, type_name::<T>(), T::columns)
}

fn completed(sql: &'static str, row: &'static str, columns: fn() -> String) -> &'static str {
    // Statements are constants, so there are not many.
    type Texts = HashMap<(&'static str, &'static str), &'static str>;
    static COMPLETE: LazyLock<RwLock<Texts>> = LazyLock::new(RwLock::default);
    if !sql.contains('{') {
        return sql;
    }
    let key = (sql, row);
    if let Some(known) = COMPLETE.read().get(&key) {
        return known;
    }
    let mut text = sql.to_owned();
    // The innermost name comes first.
    while let Some((end, start)) = text.find('}').and_then(|end| Some((end, text[..end].rfind('{')?))) {
        let name = &text[start + 1..end];
        let (name, argument) = name.split_once(' ').unwrap_or((name, ""));
        let piece = if name == "row" { columns() } else { fragment(name).replace('$', argument) };
        text.replace_range(start..=end, &piece);
    }
    COMPLETE.write().entry(key).or_insert_with(|| text.leak())
}

/// Returns what a statement has for `{NAME}`. A `$` means what follows the name.
///
/// # The queue of runs that wait for a driver
/// Accounts take turns. The first waiting run of an account gets the lowest turn of all waiting runs. Each further
/// run of the account gets the turn after its previous one. The lowest turn is taken first, and within a turn the
/// oldest run. Thus for each older waiting run of its own account, a run waits for one run of each other account,
/// even if these have many waiting runs.
fn fragment(name: &str) -> &'static str {
    match name {
        // The ids that `encode_ids` has written into a parameter.
        "ids" => "(SELECT uuid(value ->> 0) FROM json_each($))",
        // The condition on which each write of a driver depends. `?1` is the run, `?2` and `?3` are its lease.
        "driven" => "id = ?1 AND owner = ?2 AND epoch = ?3 AND status = 'running'",
        // What each save of a driver changes in its run.
        "saved" => {
            "progress = ?4, coverage = ?5, lookups = ?6, revision = greatest(revision, ?7), total_results = \
             CASE WHEN ?8 THEN (SELECT count(*) FROM results WHERE run = ?1) ELSE total_results END, \
             links = coalesce(?9, links), unconfirmed = false"
        }
        // The condition that a row of `runs` waits for its first driver.
        "waits" => "(status = 'running' AND owner IS NULL AND turn IS NOT NULL)",
        // The condition that a row of `runs` runs and does not wait: it has a driver or was interrupted. An earlier
        // version leaves the turn of a run that it takes over. An index has these rows.
        "has_begun" => "(status = 'running' AND (turn IS NULL OR owner IS NOT NULL))",
        // The run that a claim selects: the first in an order. A run that another instance is taking at the same time is skipped.
        // A run whose account is being deleted is deleted with it.
        "claimed_run" => {
            "(CAST(?4 AS uuid) IS NULL OR id = ?4) AND id NOT IN {ids ?3} \
             AND NOT EXISTS (SELECT 1 FROM accounts a WHERE a.id = runs.account AND a.plan = ?2) \
             ORDER BY $ LIMIT 1 /*pg FOR NO KEY UPDATE SKIP LOCKED */"
        }
        // The turn of a further run of the account `?2`. Starts of one account are sequential, because each has locked
        // the account's cycle for its charge.
        "next_turn" => {
            "coalesce((SELECT max(turn) + 1 FROM runs WHERE account = ?2 AND simulated = ?5 AND {waits}), \
             (SELECT min(turn) FROM runs WHERE simulated = ?5 AND {waits}), 1)"
        }
        // The position of a row of `runs` in the queue, from 1. It is NULL if the row does not wait. An index in this
        // order has all columns that are read.
        "queue_position" => {
            "CASE WHEN {waits} THEN 1 + (SELECT count(*) FROM runs q WHERE q.simulated = runs.simulated \
             AND {waits} AND (q.turn, q.created_at, q.id) < (runs.turn, runs.created_at, runs.id)) END"
        }
        // The results of a delta. `?1` is an array of `[RUN, ID, KEY, RECORD]`. Each element contains the run
        // because of SQLite: with the run in a parameter, it would read all results of the run, and the whole batch for
        // each of them.
        "results" => {
            "(SELECT uuid(value ->> 0) AS run, CAST(value ->> 1 AS bigint) AS id, \
             /*pg uuid_send( */ uuid(value ->> 2) /*pg ) */ AS dedup, (value ->> 3)/*pg ::json */ AS record FROM json_each(?1)) AS r"
        }
        // The reports of the modules of a run that have ended, for `Vec<ModuleReport>`.
        "reports" => "(SELECT string_agg(reports, ',' ORDER BY first) FROM module_reports WHERE run = $)",
        // A page of a list of runs. For each condition there is an index that leads only to the rows of the page.
        "runs" => {
            "SELECT {row} FROM runs WHERE account = ?1 AND (created_at, id) < (?2, ?3) $ \
             ORDER BY created_at DESC, id DESC LIMIT ?4"
        }
        // The condition on runs of a list that are read one by one.
        "filters" => {
            "(CAST(?5 AS text) IS NULL OR search_type = ?5) AND (CAST(?6 AS text) IS NULL OR status = ?6)"
        }
        // A page of the audit. Ids grow with time, except if a clock was set back or if transactions overtook each other, so
        // what comes before the first entry since `?2` is not searched.
        "entries" => {
            "SELECT {row} FROM audit \
             WHERE id > ?1 AND at >= coalesce(?2, at) AND id >= CASE WHEN CAST(?2 AS timestamptz) IS NULL THEN 0 \
             ELSE (SELECT coalesce(min(id), 9223372036854775807) FROM audit WHERE at >= ?2) END $ ORDER BY id LIMIT ?3"
        }
        // The first runs that one transaction deletes, and then at least one: at most `?2`, with at most `?3` results, of
        // which one with evidence counts twenty times. It skips rows that others are writing or deleting. A later transaction removes them.
        "some_runs" => {
            "SELECT id FROM (SELECT id, row_number() OVER () AS place, sum(size) OVER (ROWS UNBOUNDED PRECEDING) \
             AS results FROM (SELECT id, total_results * CASE WHEN CAST(options AS text) \
             LIKE '%\"evidence\":true%' THEN 20 ELSE 1 END AS size FROM runs WHERE $ LIMIT ?2 /*pg FOR UPDATE SKIP LOCKED */) \
             AS locked) AS counted WHERE place = 1 OR results <= CAST(?3 AS bigint) ORDER BY place"
        }
        // The deletion of what an account has in a table, in the order of the ids.
        "erase" => {
            "DELETE FROM $ WHERE id IN (SELECT id FROM $ WHERE account = ?1 ORDER BY id /*pg FOR UPDATE */)"
        }
        // The statement that records that the caller gets what was created.
        "confirm" => "UPDATE $ SET unconfirmed = false WHERE id = ?1 RETURNING 1",
        // A watch of which a run may be started.
        "idle" => "paused IS NULL AND NOT is_open AND NOT unconfirmed",
        // The condition that a delivery is due and that no instance sends it.
        "is_due" => "d.due_at <= now() AND (d.held_until IS NULL OR d.held_until <= now())",
        // The current time in microseconds since 1970. PostgreSQL reads its clock after it has locked the row, so a
        // request that waited for another one is not counted as an earlier one.
        "micros" => "CAST(/*pg extract(epoch FROM */ clock_timestamp() /*pg ) * 1000 */ * 1000 AS bigint)",
        // The current time, as columns have it.
        "now" => "/*pg date_trunc('milliseconds', */ now() /*pg ) */",
        // No database accepts this.
        _ => "(no such piece)",
    }
}
