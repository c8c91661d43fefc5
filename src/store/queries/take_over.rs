//! Taking over runs without a driver.

use super::credits::refund;
use super::outbox::report_end;
use super::*;

row! { Lease from "" { owner, epoch } }
row! {
    Resumable from "" {
        // A clock may have been set back.
        lease, ran_for = "greatest(0, CAST(/*pg extract(epoch FROM */ now() - started_at /*pg ) * 1000 */ AS bigint))",
        summary, modules = "planned", done = "{reports runs.id}", lookups,
        results = "(SELECT string_agg(record/*pg ::text */, ',' ORDER BY id) FROM results WHERE run = runs.id)"
    }
}

/// Selects an interrupted run, also one with an expired lease. This reads all runs that have a driver.
const INTERRUPTED: &str = "SELECT id FROM runs WHERE simulated = ?1 AND {has_begun} \
     AND (owner IS NULL OR lease_until <= now()) AND {claimed_run created_at, id}";
/// Selects a run without an owner: an interrupted one, which has no turn, or the next one of the queue. An index has this
/// order.
const FREE: &str = "SELECT id FROM runs WHERE simulated = ?1 AND status = 'running' AND owner IS NULL \
     AND NOT (unconfirmed AND turn IS NOT NULL) AND {claimed_run coalesce(turn, 0), created_at, id}";
/// Takes over the selected run. A run that an earlier version has driven counts from its creation, because that
/// version stores no start.
const TAKE: &str = "UPDATE runs SET owner = ?2, lease_until = now() + ms(?3), turn = NULL, epoch = epoch + \
     CASE WHEN {waits} THEN 0 ELSE 1 END, started_at = coalesce(started_at, CASE \
     WHEN owner IS NULL THEN now() ELSE created_at END) WHERE id = ?1 \
     RETURNING unconfirmed, {row}";
/// Why a run was ended: its documents cannot be read, or its caller was refused.
const UNREADABLE: &str = "the stored data of this search can no longer be read";
pub(super) const NOT_CONFIRMED: &str = "the start of the search was not confirmed in time";

const END: &str = "UPDATE runs SET status = 'failed', error = ?2, revision = revision + 1, \
     completed_at = {now}, owner = NULL, lease_until = NULL, credits_charged = 0 \
     WHERE id = ?1 RETURNING completed_at";

impl Store {
    /// Takes over a running run without a driver. Interrupted runs come first, each with a lease of the next epoch,
    /// then waiting ones in the order of their positions in the queue. Accounts alternate: first the oldest waiting run
    /// of each account, then the second of each. Runs that cannot be read are ended as failed.
    pub fn take_over(&self, claim: &Claim<'_>) -> Result<Option<Resumable>> {
        self.write(background("take_over"), |tx| {
            let except = encode_ids(claim.except.iter().map(|run| run.0))?;
            let values = values![claim.simulated, BEING_DELETED, except, claim.only];
            loop {
                let mut due = None;
                if claim.expired {
                    due = tx.first::<RunId>(INTERRUPTED, values.clone())?;
                }
                if due.is_none() {
                    due = tx.first(FREE, values.clone())?;
                }
                let Some(run) = due else { return Ok(None) };
                // The documents of the run may be unreadable.
                let taken = values![run, claim.owner.0, claim.holds];
                let taken = tx.first::<(bool, Result<Resumable>)>(TAKE, taken)?;
                let Some((is_refused, resumable)) = taken else { return Ok(None) };
                match resumable {
                    _ if is_refused => {
                        log::info!("run {run}: ended, since its caller was refused");
                        end_as_failed(tx, run, NOT_CONFIRMED)?;
                    }
                    Err(error) => {
                        log::error!("run {run} cannot be resumed and is ended as failed: {error}");
                        end_as_failed(tx, run, UNREADABLE)?;
                    }
                    Ok(resumable) => {
                        let epoch = resumable.lease.epoch;
                        if epoch > 0 {
                            // An earlier driver that was only delayed detects that the run is no longer its own.
                            tx.announce(Notification::TakenOver { run, epoch })?;
                        }
                        return Ok(Some(resumable));
                    }
                }
            }
        })
    }
}

/// Ends a run as failed that cannot be resumed, and refunds it.
pub(super) fn end_as_failed(tx: &mut Tx, run: RunId, why: &str) -> Result<()> {
    let error = RunError { code: "store_failed".into(), message: why.into() };
    let Some(at) = tx.first(END, values![run, encode(&error)?])? else { return Ok(()) };
    refund(tx, run, at)?;
    report_end(tx, run)
}
