//! Rate limits that all instances share. Only PostgreSQL has them: an SQLite database has one server, which counts in
//! memory.
//!
//! Each account and policy has one row. An instance that requests a grant locks the row, and therefore sees all
//! earlier grants. A grant is one number: its moment shifted left by 20 bits, plus its requests. Thus a row is a
//! short array.

use std::time::Duration;

use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::model::quota::{Grant, GrantRequest, GrantResponse, Policy};
use crate::store::Store;
use crate::store::backend::Operation;
use crate::store::number::{millis, number};
use crate::store::value::{Row, values};

/// The number of low bits of a grant that contain its requests.
const REQUESTS_BITS: u32 = 20;
const REQUESTS_MASK: i64 = (1 << REQUESTS_BITS) - 1;

/// The grants of a row `w` that still count. Grants with a moment in the future were made before the clock was set
/// back. They are ignored, because they would count for too long. Each use reads the clock again, under the row's
/// lock, so that the grants that count when a grant is decided include those that count when it is written.
macro_rules! counting {
    ($what:literal) => {
        concat!(
            "(SELECT ",
            $what,
            " FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) AS clock, \
             unnest(w.grants) WITH ORDINALITY AS old(g, place) \
             WHERE g >> 20 > now - ?5::bigint AND g >> 20 <= now)"
        )
    };
}

macro_rules! grown {
    () => {
        concat!(
            counting!("coalesce(array_agg(g ORDER BY place), '{}')"),
            " || (((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 20) \
             | least(?4::bigint, greatest(1, (?3::bigint - ",
            counting!("coalesce(sum(g & 1048575), 0)::bigint"),
            ") / 4)))"
        )
    };
}

macro_rules! is_free {
    () => {
        concat!(counting!("coalesce(sum(g & 1048575), 0)::bigint"), " < ?3::bigint")
    };
}

macro_rules! granted {
    () => {
        " RETURNING grants[cardinality(grants)], grants[1] >> 20, \
         (SELECT sum(g & 1048575)::bigint FROM unnest(grants) AS g)"
    };
}

/// Grants as many requests as are wanted and free, but at most a quarter of the free ones if that is more than one.
/// Returns no row if nothing is free or if the row does not exist. `?1` is the account, `?2` the policy, `?3` the
/// limit, `?4` the number of wanted requests, `?5` the time in milliseconds for which a grant counts.
const TAKE: &str = concat!(
    "UPDATE rate_grants AS w SET grants = ",
    grown!(),
    " WHERE account = ?1 AND policy = ?2 AND ",
    is_free!(),
    granted!()
);

/// Makes the first grant of a row. The parameters are those of [`TAKE`]. The account's deletion waits for this
/// statement, or this statement waits for the deletion and then returns no row. It also returns no row if another
/// instance was first and has used everything.
const TAKE_FIRST: &str = concat!(
    "INSERT INTO rate_grants AS w (account, policy, grants) SELECT a.id, ?2::text, ARRAY[\
     ((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 20) | least(?4::bigint, greatest(1, ?3::bigint / 4))] \
     FROM accounts a WHERE a.id = ?1 FOR KEY SHARE \
     ON CONFLICT (account, policy) DO UPDATE SET grants = ",
    grown!(),
    " WHERE ",
    is_free!(),
    granted!()
);

/// Selects the requests that count in a row from which nothing was granted: their number, the oldest moment, and the
/// current moment.
const STANDING: &str = "SELECT coalesce(sum(g & 1048575), 0)::bigint, min(g >> 20), \
     (extract(epoch FROM clock_timestamp()) * 1000)::bigint \
     FROM rate_grants, unnest(grants) AS g WHERE account = ?1 AND policy = ?2 \
     AND g >> 20 > (extract(epoch FROM clock_timestamp()) * 1000)::bigint - ?3";

/// Reduces the grant of that moment and size, or removes it, if it still exists.
const GIVE_BACK: &str = "UPDATE rate_grants SET grants = grants[:array_position(grants, ?3::bigint) - 1] \
     || CASE WHEN ?4::bigint < (?3::bigint & 1048575) THEN ARRAY[?3::bigint - ?4::bigint] ELSE '{}' END \
     || grants[array_position(grants, ?3::bigint) + 1:] \
     WHERE account = ?1 AND policy = ?2 AND array_position(grants, ?3::bigint) IS NOT NULL";

impl Store {
    /// Grants as many of the wanted requests as the limit allows. Returns `None` if the account does not exist any
    /// more.
    pub fn take(&self, ask: &GrantRequest) -> Result<Option<GrantResponse>, StorageError> {
        let operation = Operation::on_accounts("take_quota");
        let wanted = i64::from(ask.wanted).min(REQUESTS_MASK);
        for (sql, least) in [(TAKE, i64::from(ask.limit)), (TAKE_FIRST, 1)] {
            let values = values![ask.account, ask.policy.as_str(), ask.limit, wanted, millis(ask.counts_for)];
            if let Some(row) = self.change(operation, sql, values)?.first() {
                return read_taken(row, ask).map(Some);
            }
            // Another instance may have inserted the row in the meantime, and may have left enough requests.
            if let Some(frees_in) = self.frees_in(operation, ask, least)? {
                return Ok(Some(GrantResponse { grant: None, used: ask.limit, frees_in }));
            }
        }
        Ok(None)
    }

    /// Returns `unused` requests of a grant to the quota.
    pub fn give_back(
        &self,
        account: AccountId,
        policy: Policy,
        grant: Grant,
        unused: u32,
    ) -> Result<(), StorageError> {
        let unused = unused.min(grant.requests);
        let known = (grant.moment << REQUESTS_BITS) | i64::from(grant.requests);
        let values = values![account, policy.as_str(), known, unused];
        self.change(Operation::on_accounts("give_back_quota"), GIVE_BACK, values).map(drop)
    }
}

impl Store {
    /// Returns the time until the oldest grant no longer counts. Requests that have become free meanwhile are granted
    /// to the next caller. Returns `None` if less than `least` counts.
    fn frees_in(
        &self,
        operation: Operation,
        ask: &GrantRequest,
        least: i64,
    ) -> Result<Option<Duration>, StorageError> {
        let counts_for = millis(ask.counts_for);
        let rows = self.rows(operation, STANDING, values![ask.account, ask.policy.as_str(), counts_for])?;
        let Some(row) = rows.first() else {
            return Err(StorageError::broken("an aggregate returned no row"));
        };
        let (used, oldest, now): (i64, Option<i64>, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(oldest.filter(|_| used >= least).map(|oldest| span(oldest + counts_for - now)))
    }
}

/// Reads a row of [`TAKE`].
fn read_taken(row: &Row, ask: &GrantRequest) -> Result<GrantResponse, StorageError> {
    let grant = grant(row.get(0)?)?;
    let oldest: i64 = row.get(1)?;
    let used = number(row.get(2)?)?;
    let frees_in = span(oldest + millis(ask.counts_for) - grant.moment);
    Ok(GrantResponse { grant: Some(grant), used, frees_in })
}

fn grant(stored: i64) -> Result<Grant, StorageError> {
    Ok(Grant { moment: stored >> REQUESTS_BITS, requests: number(stored & REQUESTS_MASK)? })
}

fn span(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
