//! Rate limits over all instances.
//!
//! One row for each account and policy: whoever asks locks it, and so sees what all before were granted. A
//! grant is one number, its moment above its requests (see the migration), so that a row is one short array.

use std::time::Duration;

use super::Database;
use super::error::storage;
use crate::account::rate_limit::Policy;
use crate::account::rate_limit::quota::{Ask, Grant, Quota, Taken};
use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::store::row::{millis, number};

/// Bits of a grant that count its requests.
const REQUESTS_BITS: u32 = 20;
const REQUESTS_MASK: i64 = (1 << REQUESTS_BITS) - 1;

/// Grants of a row `w` that count. Moments to come are of a clock that was set back: they would count for
/// longer than they should. (The clock is read anew at each mention, under the row's lock: what counts when a
/// grant is decided on is never less than what counts when it is written.)
macro_rules! counting {
    ($what:literal) => {
        concat!(
            "(SELECT ",
            $what,
            " FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) AS clock, \
             unnest(w.grants) WITH ORDINALITY AS old(g, place) \
             WHERE g >> 20 > now - $5::bigint AND g >> 20 <= now)"
        )
    };
}

/// Grants what is wanted of what is free, at most a quarter of it where that is more than one. No row comes
/// back where nothing is free. `$1` account, `$2` policy, `$3` limit, `$4` wanted, `$5` milliseconds it counts.
const TAKE: &str = concat!(
    "INSERT INTO rate_grants AS w (account, policy, grants) VALUES ($1, $2, ARRAY[\
     ((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 20) | least($4::bigint, greatest(1, $3::bigint / 4))]) \
     ON CONFLICT (account, policy) DO UPDATE SET grants = ",
    counting!("coalesce(array_agg(g ORDER BY place), '{}')"),
    " || (((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 20) | least($4::bigint, greatest(1, ($3::bigint - ",
    counting!("coalesce(sum(g & 1048575), 0)::bigint"),
    ") / 4))) WHERE ",
    counting!("coalesce(sum(g & 1048575), 0)::bigint"),
    " < $3::bigint RETURNING grants[cardinality(grants)], grants[1] >> 20, \
     (SELECT sum(g & 1048575)::bigint FROM unnest(grants) AS g)"
);

/// What counts of a row from which nothing was granted: how much, since when, and what time it is.
const STANDING: &str = "SELECT coalesce(sum(g & 1048575), 0)::bigint, min(g >> 20), \
     (extract(epoch FROM clock_timestamp()) * 1000)::bigint \
     FROM rate_grants, unnest(grants) AS g WHERE account = $1 AND policy = $2 \
     AND g >> 20 > (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $3";

/// One grant of that moment and size, if it is still there, gets smaller or goes.
const GIVE_BACK: &str = "UPDATE rate_grants SET grants = grants[:array_position(grants, $3::bigint) - 1] \
     || CASE WHEN $4::bigint < ($3::bigint & 1048575) THEN ARRAY[$3::bigint - $4::bigint] ELSE '{}' END \
     || grants[array_position(grants, $3::bigint) + 1:] \
     WHERE account = $1 AND policy = $2 AND array_position(grants, $3::bigint) IS NOT NULL";

impl Quota for Database {
    fn take(&self, ask: &Ask) -> Result<Taken, StorageError> {
        let (policy, counts_for) = (ask.policy.as_str(), millis(ask.counts_for));
        let (limit, wanted) = (i64::from(ask.limit), i64::from(ask.wanted).min(REQUESTS_MASK));
        self.write(|work| {
            let rows = work.query(TAKE, &[&ask.account.0, &policy, &limit, &wanted, &counts_for])?;
            if let Some(row) = rows.first() {
                let grant = grant(row.try_get(0).map_err(storage)?)?;
                let oldest: i64 = row.try_get(1).map_err(storage)?;
                let used = number(row.try_get(2).map_err(storage)?)?;
                let frees_in = span(oldest + counts_for - grant.moment);
                return Ok(Taken { grant: Some(grant), used, frees_in });
            }
            let rows = work.query(STANDING, &[&ask.account.0, &policy, &counts_for])?;
            let Some(row) = rows.first() else {
                return Err(StorageError::broken("a sum without a row"));
            };
            let (oldest, now): (Option<i64>, i64) =
                (row.try_get(1).map_err(storage)?, row.try_get(2).map_err(storage)?);
            // Whatever has become free meanwhile is had by the next one.
            let frees_in = span(oldest.map_or(0, |oldest| oldest + counts_for - now));
            Ok(Taken { grant: None, used: ask.limit, frees_in })
        })
    }

    fn give_back(
        &self,
        account: AccountId,
        policy: Policy,
        grant: Grant,
        unused: u32,
    ) -> Result<(), StorageError> {
        let unused = i64::from(unused.min(grant.requests));
        let known = (grant.moment << REQUESTS_BITS) | i64::from(grant.requests);
        self.session()?.execute(GIVE_BACK, &[&account.0, &policy.as_str(), &known, &unused]).map(|_| ())
    }
}

fn grant(stored: i64) -> Result<Grant, StorageError> {
    Ok(Grant { moment: stored >> REQUESTS_BITS, requests: number(stored & REQUESTS_MASK)? })
}

fn span(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
