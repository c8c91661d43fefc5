//! The queue of runs that wait for a driver.
//!
//! Accounts take turns. The first waiting run of an account gets the lowest turn of all waiting runs. Each further
//! run of the account gets the turn after its previous one. The lowest turn is taken first, and within a turn the
//! oldest run. Thus for each older waiting run of its own account, a run waits for one run of each other account,
//! even if these have many waiting runs.

/// The condition that a row of `runs` waits for its first driver.
macro_rules! waits {
    () => {
        "(status = 'running' AND owner IS NULL AND turn IS NOT NULL)"
    };
}
pub(super) use waits;

/// The order in which runs without a driver are taken over. Interrupted ones, which have no turn, come first.
macro_rules! in_turn {
    () => {
        "ORDER BY coalesce(turn, 0), created_at, id"
    };
}
pub(super) use in_turn;

/// Selects the waiting runs in their order. `?1` tells whether to select those of the simulated web.
pub(super) const QUEUE: &str =
    concat!("SELECT id FROM runs WHERE simulated = ?1 AND ", waits!(), " ", in_turn!());

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

/// Counts the waiting runs, and those of an account. `?1` is as for [`QUEUE`], `?2` is the account.
pub(super) const WAITING: &str = concat!(
    "SELECT count(*), count(CASE WHEN account = ?2 THEN 1 END) FROM runs WHERE simulated = ?1 AND ",
    waits!()
);
