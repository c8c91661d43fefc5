//! Rate limits over all instances.
//!
//! One row for each account and policy: whoever asks locks it, and so sees what all before were granted. A
//! grant is one number, its moment above its requests (see the migration), so that a row is one short array.

use std::time::Duration;

use postgres::Row;

use super::Database;
use super::error::storage;
use super::session::Session;
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

macro_rules! grown {
    () => {
        concat!(
            counting!("coalesce(array_agg(g ORDER BY place), '{}')"),
            " || (((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 20) \
             | least($4::bigint, greatest(1, ($3::bigint - ",
            counting!("coalesce(sum(g & 1048575), 0)::bigint"),
            ") / 4)))"
        )
    };
}

macro_rules! is_free {
    () => {
        concat!(counting!("coalesce(sum(g & 1048575), 0)::bigint"), " < $3::bigint")
    };
}

macro_rules! granted {
    () => {
        " RETURNING grants[cardinality(grants)], grants[1] >> 20, \
         (SELECT sum(g & 1048575)::bigint FROM unnest(grants) AS g)"
    };
}

/// Grants what is wanted of what is free, at most a quarter of it where that is more than one. No row comes
/// back where nothing is free, or where nothing was granted ever. `$1` account, `$2` policy, `$3` limit, `$4` wanted,
/// `$5` milliseconds it counts.
const TAKE: &str = concat!(
    "UPDATE rate_grants AS w SET grants = ",
    grown!(),
    " WHERE account = $1 AND policy = $2 AND ",
    is_free!(),
    granted!()
);

/// The same for the first time. The account's deletion waits for this, or this for its deletion; then no row comes
/// back, as none does where another instance was first and left nothing.
const TAKE_FIRST: &str = concat!(
    "INSERT INTO rate_grants AS w (account, policy, grants) SELECT a.id, $2::text, ARRAY[\
     ((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 20) | least($4::bigint, greatest(1, $3::bigint / 4))] \
     FROM accounts a WHERE a.id = $1 FOR KEY SHARE \
     ON CONFLICT (account, policy) DO UPDATE SET grants = ",
    grown!(),
    " WHERE ",
    is_free!(),
    granted!()
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
    fn take(&self, ask: &Ask) -> Result<Option<Taken>, StorageError> {
        let (policy, counts_for) = (ask.policy.as_str(), millis(ask.counts_for));
        let (limit, wanted) = (i64::from(ask.limit), i64::from(ask.wanted).min(REQUESTS_MASK));
        let mut session = self.session()?;
        for (sql, least) in [(TAKE, limit), (TAKE_FIRST, 1)] {
            let rows = session.change(sql, &[&ask.account.0, &policy, &limit, &wanted, &counts_for])?;
            if let Some(row) = rows.first() {
                return granted(row, counts_for).map(Some);
            }
            // Another instance may have been the first meanwhile, and left enough.
            if let Some(frees_in) = frees_in(&mut session, ask, least)? {
                return Ok(Some(Taken { grant: None, used: ask.limit, frees_in }));
            }
        }
        Ok(None)
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

/// A row of [`TAKE`].
fn granted(row: &Row, counts_for: i64) -> Result<Taken, StorageError> {
    let grant = grant(row.try_get(0).map_err(storage)?)?;
    let oldest: i64 = row.try_get(1).map_err(storage)?;
    let used = number(row.try_get(2).map_err(storage)?)?;
    Ok(Taken { grant: Some(grant), used, frees_in: span(oldest + counts_for - grant.moment) })
}

/// How long it takes until the oldest grant no longer counts; whatever became free since nothing was granted is had by
/// the next one. `None`: less than `least` counts.
fn frees_in(session: &mut Session, ask: &Ask, least: i64) -> Result<Option<Duration>, StorageError> {
    let (policy, counts_for) = (ask.policy.as_str(), millis(ask.counts_for));
    let rows = session.query(STANDING, &[&ask.account.0, &policy, &counts_for])?;
    let Some(row) = rows.first() else { return Err(StorageError::broken("an aggregate without a row")) };
    let read = || Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    let (used, oldest, now): (i64, Option<i64>, i64) = read().map_err(storage)?;
    Ok(oldest.filter(|_| used >= least).map(|oldest| span(oldest + counts_for - now)))
}

fn grant(stored: i64) -> Result<Grant, StorageError> {
    Ok(Grant { moment: stored >> REQUESTS_BITS, requests: number(stored & REQUESTS_MASK)? })
}

fn span(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
