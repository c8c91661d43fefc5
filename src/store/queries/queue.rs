//! The queue of runs that wait for a driver.
//!
//! Accounts take turns. The first waiting run of an account gets the lowest turn of all waiting runs. Each further
//! run of the account gets the turn after its previous one. The lowest turn is taken first, and within a turn the
//! oldest run. Thus for each older waiting run of its own account, a run waits for one run of each other account,
//! even if these have many waiting runs.

use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::model::start::QueueLength;
use crate::store::backend::Statements;
use crate::store::value::values;

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
            crate::store::queries::queue::waits!(),
            " THEN 1 + (SELECT count(*) FROM runs q WHERE q.simulated = runs.simulated AND ",
            crate::store::queries::queue::waits!(),
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
            crate::store::queries::queue::waits!(),
            "), (SELECT min(turn) FROM runs WHERE simulated = ",
            $simulated,
            " AND ",
            crate::store::queries::queue::waits!(),
            "), 1)"
        )
    };
}
pub(super) use next_turn;

/// Counts the waiting runs, and those of an account. `?1` tells whether to count those of the simulated web, `?2` is the
/// account or NULL. An index has all columns that are read.
const LENGTH: &str = concat!(
    "SELECT count(*), count(CASE WHEN account = ?2 THEN 1 END) FROM runs WHERE simulated = ?1 AND ",
    waits!()
);

/// Counts the waiting runs, and those of an account.
pub(super) fn queue_length(
    statements: &mut dyn Statements,
    simulated: bool,
    account: Option<AccountId>,
) -> Result<QueueLength, StorageError> {
    let (all, of_account) = statements.first(LENGTH, values![simulated, account])?.unwrap_or_default();
    Ok(QueueLength { all, of_account })
}
