//! Pieces of SQL that several statements share.

use uuid::Uuid;

use crate::model::follow::Membership;
use crate::model::run::RunSummary;
use crate::store::document::encode;
use crate::store::error::Result;
use crate::store::value::{Cells, FromRow, row};

/// The condition on which each write of a driver depends. `?1` is the run, `?2` and `?3` are its lease.
macro_rules! driven {
    () => {
        "id = ?1 AND owner = ?2 AND epoch = ?3 AND status = 'running'"
    };
}
pub(super) use driven;

/// The ids that [`encode_ids`] has written into a parameter.
macro_rules! ids {
    ($parameter:literal) => {
        concat!("(SELECT uuid(value ->> 0) FROM json_each(", $parameter, "))")
    };
}
pub(super) use ids;

/// Encodes ids for `ids!`, as an array of `[ID]`.
pub(super) fn encode_ids(ids: impl IntoIterator<Item = Uuid>) -> Result<String> {
    encode(&ids.into_iter().map(|id| [id]).collect::<Vec<_>>())
}

// The queue of runs that wait for a driver.
//
// Accounts take turns. The first waiting run of an account gets the lowest turn of all waiting runs. Each further
// run of the account gets the turn after its previous one. The lowest turn is taken first, and within a turn the
// oldest run. Thus for each older waiting run of its own account, a run waits for one run of each other account,
// even if these have many waiting runs.

/// The condition that a row of `runs` waits for its first driver.
macro_rules! waits {
    () => {
        "(status = 'running' AND owner IS NULL AND turn IS NOT NULL)"
    };
}
pub(super) use waits;

/// The condition that a row of `runs` runs and does not wait: it has a driver or was interrupted. An earlier version leaves
/// the turn of a run that it takes over. An index has these rows.
macro_rules! has_begun {
    () => {
        "(status = 'running' AND (turn IS NULL OR owner IS NOT NULL))"
    };
}
pub(in crate::store) use has_begun;

/// The position of a row of `runs` in the queue, from 1. It is NULL if the row does not wait. An index in this order
/// has all columns that are read.
macro_rules! queue_position {
    () => {
        concat!(
            "CASE WHEN ",
            crate::store::queries::fragments::waits!(),
            " THEN 1 + (SELECT count(*) FROM runs q WHERE q.simulated = runs.simulated AND ",
            crate::store::queries::fragments::waits!(),
            " AND (q.turn, q.created_at, q.id) < (runs.turn, runs.created_at, runs.id)) END"
        )
    };
}
pub(super) use queue_position;

/// The turn of a further run of an account. Starts of one account are sequential, because each has locked the
/// account's cycle for its charge.
macro_rules! next_turn {
    ($simulated:literal, $account:literal) => {
        concat!(
            "coalesce((SELECT max(turn) + 1 FROM runs WHERE account = ",
            $account,
            " AND simulated = ",
            $simulated,
            " AND ",
            crate::store::queries::fragments::waits!(),
            "), (SELECT min(turn) FROM runs WHERE simulated = ",
            $simulated,
            " AND ",
            crate::store::queries::fragments::waits!(),
            "), 1)"
        )
    };
}
pub(super) use next_turn;

row! {
    run_columns: RunSummary from "" {
        id, account, status, search_type, query, premium, options, choice, follow,
        family = "root_run, parent_run, depth", watch, batch, retry_of, simulated, total_results, revision, progress,
        coverage, credits_charged, created_at, completed_at, stopped_at, error,
        // It is counted where it is wanted.
        queue_position = "CAST(NULL AS bigint)", notes = "tags, note"
    }
}
pub(super) use run_columns;

impl FromRow for Option<Membership> {
    fn from_row(cells: &mut Cells) -> Result<Self> {
        let (root, parent, depth) = cells.read::<(Option<_>, Option<_>, _)>()?;
        Ok(root.zip(parent).map(|(root, parent)| Membership { root, parent, depth }))
    }
}
