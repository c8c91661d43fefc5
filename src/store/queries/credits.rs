//! Charges for runs, and their refunds.

use jiff::Timestamp;

use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::credits::Charge;
use crate::store::backend::Statements;
use crate::store::value::values;

/// Adds a run's cost (`?3`) to the usage of its cycle unless the sum would exceed the cap (`?4`). Returns a row if
/// the cost was added. Two such statements for one cycle wait for each other on its row.
const CHARGE: &str = "INSERT INTO credit_usage AS known (account, cycle_start, used) \
     SELECT ?1, ?2, CAST(?3 AS bigint) \
     WHERE CAST(?4 AS bigint) IS NULL OR CAST(?3 AS bigint) <= CAST(?4 AS bigint) \
     ON CONFLICT (account, cycle_start) DO UPDATE SET used = known.used + excluded.used \
     WHERE CAST(?4 AS bigint) IS NULL OR known.used + excluded.used <= CAST(?4 AS bigint) \
     RETURNING used";

pub(super) const USED: &str = "SELECT used FROM credit_usage WHERE account = ?1 AND cycle_start = ?2";

const NOTE_CHARGE: &str = "INSERT INTO charges (run, kind, account, cycle_start, credits, at) \
     VALUES (?1, 'charge', ?2, ?3, ?4, ?5)";

const NOTE_REFUND: &str = "INSERT INTO charges (run, kind, account, cycle_start, credits, at) \
     SELECT run, 'refund', account, cycle_start, credits, ?2 FROM charges \
     WHERE run = ?1 AND kind = 'charge' ON CONFLICT (run, kind) DO NOTHING";
const GIVE_BACK: &str = "UPDATE credit_usage SET used = credit_usage.used - charges.credits FROM charges \
     WHERE charges.run = ?1 AND charges.kind = 'refund' \
     AND credit_usage.account = charges.account AND credit_usage.cycle_start = charges.cycle_start";

/// Adds a charge to the usage of its cycle. Returns `false` if the sum would exceed the cap.
pub(super) fn use_credits(
    statements: &mut dyn Statements,
    account: AccountId,
    charge: &Charge,
) -> Result<bool, StorageError> {
    let allowed = charge.allowed;
    let values = values![account, charge.cycle.start, charge.credits, allowed];
    statements.has(CHARGE, values)
}

/// Returns the credits that the charge's cycle has used so far.
pub(super) fn used(
    statements: &mut dyn Statements,
    account: AccountId,
    charge: &Charge,
) -> Result<u64, StorageError> {
    Ok(statements.first(USED, values![account, charge.cycle.start])?.unwrap_or_default())
}

/// Adds the booking of a charge to the ledger.
pub(super) fn note_charge(
    statements: &mut dyn Statements,
    run: RunId,
    account: AccountId,
    charge: &Charge,
    at: Timestamp,
) -> Result<(), StorageError> {
    let values = values![run, account, charge.cycle.start, charge.credits, at];
    statements.execute(NOTE_CHARGE, values).map(drop)
}

/// Returns a run's credits to the cycle that paid for it. A run is refunded once, so further calls change nothing.
pub(super) fn refund(statements: &mut dyn Statements, run: RunId, at: Timestamp) -> Result<(), StorageError> {
    if statements.execute(NOTE_REFUND, values![run, at])? == 0 {
        return Ok(());
    }
    statements.execute(GIVE_BACK, values![run])?;
    statements.execute("UPDATE runs SET credits_charged = 0 WHERE id = ?1", values![run]).map(drop)
}
