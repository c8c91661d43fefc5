//! Charges for runs and their refunds, and the idempotency keys of requests.

use super::*;

/// Adds a run's cost (`?3`) to the usage of its cycle unless the sum would exceed the cap (`?4`). Returns a row if
/// the cost was added. Two such statements for one cycle wait for each other on its row.
pub(super) const CHARGE: &str = "INSERT INTO credit_usage AS known (account, cycle_start, used) \
     SELECT ?1, ?2, CAST(?3 AS bigint) \
     WHERE CAST(?4 AS bigint) IS NULL OR CAST(?3 AS bigint) <= CAST(?4 AS bigint) \
     ON CONFLICT (account, cycle_start) DO UPDATE SET used = known.used + excluded.used \
     WHERE CAST(?4 AS bigint) IS NULL OR known.used + excluded.used <= CAST(?4 AS bigint) \
     RETURNING used";

pub(super) const USED: &str = "SELECT used FROM credit_usage WHERE account = ?1 AND cycle_start = ?2";
const USES: &str = "SELECT account, cycle_start, used FROM credit_usage WHERE account IN {ids ?1}";

pub(super) const NOTE_CHARGE: &str = "INSERT INTO charges (run, kind, account, cycle_start, credits, at) \
     VALUES (?1, 'charge', ?2, ?3, ?4, ?5)";

const NOTE_REFUND: &str = "INSERT INTO charges (run, kind, account, cycle_start, credits, at) \
     SELECT run, 'refund', account, cycle_start, credits, ?2 FROM charges \
     WHERE run = ?1 AND kind = 'charge' ON CONFLICT (run, kind) DO NOTHING";
const GIVE_BACK: &str = "UPDATE credit_usage SET used = credit_usage.used - charges.credits FROM charges \
     WHERE charges.run = ?1 AND charges.kind = 'refund' \
     AND credit_usage.account = charges.account AND credit_usage.cycle_start = charges.cycle_start";

/// Returns the credits of a run that has failed to the cycle that paid for it. A run is refunded once, so further calls
/// change nothing.
pub(super) fn refund(tx: &mut Tx, run: RunId, at: Timestamp) -> Result<()> {
    if tx.execute(NOTE_REFUND, values![run, at])? > 0 {
        tx.execute(GIVE_BACK, values![run])?;
    }
    Ok(())
}

row! { Booking from "" { run, kind, cycle_start, credits, at } }
row! { CycleUse from "" { cycle_start, used } }
row! { NotedRequest from "" { key, run, at = "created_at" } }

/// A run, a batch or a watch that is to be created.
pub(super) struct New {
    pub(super) operation: &'static str,
    /// The statement that records that the caller gets it.
    pub(super) confirm: &'static str,
    pub(super) id: Value,
    /// Whether it is undone unless it is confirmed, because a repetition of the request would create another one.
    pub(super) may_be_undone: bool,
    /// Whether the driver of this process confirms it as well, with its first write.
    pub(super) is_driven: bool,
}

impl Store {
    /// Creates what costs credits, in one transaction. The caller learns that it was created only if its row was found by
    /// its id and confirmed, which is also tried if the answer to the commit was lost, or if this process drives it. What is
    /// not confirmed is undone later, by any instance. What an idempotency key leads to needs no confirmation: a repetition of the request finds
    /// it.
    pub(super) fn create<T>(
        &self,
        new: &New,
        is_created: impl Fn(&T) -> bool,
        work: impl FnOnce(&mut Tx) -> Result<T>,
    ) -> Result<T> {
        let mut done = None;
        let written = self.write_if(
            new.operation,
            |is_created| *is_created,
            |tx| Ok(is_created(done.insert(work(tx)?))),
        );
        let is_lost = written.as_ref().is_err_and(StorageError::is_unconfirmed);
        if is_lost || new.may_be_undone && matches!(written, Ok(true)) {
            let confirm =
                || self.change(Operation::from("confirm").light(), new.confirm, vec![new.id.clone()]);
            // The answer to this may be lost, too.
            match confirm().or_else(|error| if error.is_unconfirmed() { confirm() } else { Err(error) }) {
                Ok(found) if found.is_empty() => {
                    written?;
                    return Err(StorageError::unavailable(
                        "what was created was undone before it was confirmed",
                    ));
                }
                Err(error) if is_lost || !new.is_driven => return Err(error),
                _ => {}
            }
        } else {
            written?;
        }
        done.ok_or_else(|| StorageError::broken("nothing was created"))
    }

    /// Returns the run of a valid idempotency key as [`Started::Repeated`], or a refusal if the body differs.
    /// Returns `None` if the key is not known.
    pub fn known_request(&self, account: AccountId, idempotency: &Idempotency) -> Result<Option<Started>> {
        self.read("known_request", |tx| known_request(tx, account, idempotency))
    }

    /// Returns the credits that each of these accounts has used in that cycle of it.
    pub fn credits_used(&self, cycles: &[(AccountId, Cycle)]) -> Result<Vec<u64>> {
        let accounts = encode_ids(cycles.iter().map(|(account, _)| account.0))?;
        let uses: Vec<(AccountId, Timestamp, u64)> = self.all("credits_used", USES, values![accounts])?;
        let used = |(account, cycle): &(AccountId, Cycle)| {
            let of_cycle = uses.iter().find(|(of, start, _)| of == account && *start == cycle.start);
            of_cycle.map_or(0, |(.., used)| *used)
        };
        Ok(cycles.iter().map(used).collect())
    }

    /// Returns the ledger's lines of an account, the oldest first.
    pub fn bookings(&self, account: AccountId) -> Result<Vec<Booking>> {
        let sql = "SELECT {row} FROM charges WHERE account = ?1 ORDER BY at, run, kind";
        self.all("bookings", sql, values![account])
    }

    /// Returns the usage of an account by cycle, the oldest first.
    pub fn cycle_uses(&self, account: AccountId) -> Result<Vec<CycleUse>> {
        let sql = "SELECT {row} FROM credit_usage WHERE account = ?1 ORDER BY cycle_start";
        self.all("cycle_uses", sql, values![account])
    }

    /// Returns the idempotency keys of an account, the oldest first.
    pub fn noted_requests(&self, account: AccountId) -> Result<Vec<NotedRequest>> {
        let sql = "SELECT {row} FROM idempotency_keys WHERE account = ?1 ORDER BY created_at, key";
        self.all("noted_requests", sql, values![account])
    }
}

const REQUEST: &str =
    "SELECT run, body_hash FROM idempotency_keys WHERE account = ?1 AND key = ?2 AND created_at >= ?3";
/// Removes the keys that were recorded before `?1`. Every instance runs this, so keys that another instance is deleting
/// are skipped.
pub(super) const FORGET_REQUESTS: &str = "DELETE FROM idempotency_keys WHERE run IN \
     (SELECT run FROM idempotency_keys WHERE created_at < ?1 /*pg FOR UPDATE SKIP LOCKED */)";
/// Keeps the key of a deleted run until it expires, so that a repeated request is not charged again. The hash goes, because
/// the query could be guessed from it: from now on, no request equals the first one.
const KEEP_KEY: &str = "UPDATE idempotency_keys SET body_hash = ?2 WHERE run = ?1";
/// Stores a key, also instead of one that has expired, and returns a row. Locks one that is still valid.
const NOTE_REQUEST: &str = "INSERT INTO idempotency_keys AS known (account, key, body_hash, run, created_at) \
     VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (account, key) DO UPDATE SET body_hash = excluded.body_hash, \
     run = excluded.run, created_at = excluded.created_at WHERE known.created_at < ?6 RETURNING 1";

/// Looks up an idempotency key that is still valid.
pub(super) fn known_request(
    tx: &mut Tx,
    account: AccountId,
    idempotency: &Idempotency,
) -> Result<Option<Started>> {
    let values = values![account, &idempotency.key, Idempotency::valid_since(idempotency.at)];
    let known = tx.first::<(_, [u8; 32])>(REQUEST, values)?;
    Ok(known.map(|(run, body_hash)| match body_hash == idempotency.body_hash {
        true => Started::Repeated(run),
        false => Started::Refused(Refusal::idempotency_mismatch()),
    }))
}

/// Forgets the request that has started a run, which is being deleted. Its idempotency key stays in use.
pub(super) fn forget_request(tx: &mut Tx, run: RunId) -> Result<()> {
    tx.execute(KEEP_KEY, values![run, &[0u8; 32]]).map(drop)
}

/// Stores the idempotency key, or returns the answer to the request that has used it. Of two transactions with one
/// key, the second waits in this statement for the end of the first.
pub(super) fn note_request(
    tx: &mut Tx,
    account: AccountId,
    run: RunId,
    idempotency: &Idempotency,
) -> Result<Option<Started>> {
    let Idempotency { key, body_hash, at } = idempotency;
    let is_new =
        tx.has(NOTE_REQUEST, values![account, key, body_hash, run, *at, Idempotency::valid_since(*at)])?;
    if is_new { Ok(None) } else { known_request(tx, account, idempotency) }
}
