//! Counts requests over all instances: the store grants requests, and each instance uses its grants.
//!
//! With a small limit, requests are granted one by one, with one statement each, which is little compared with the
//! writes of a search. Reads must not need a round trip each, so they are granted in blocks, which grow as long as
//! they are used up quickly. A grant may be used for [`SPEND_WITHIN`], and counts for that much longer than a minute.
//! Thus no 60 seconds contain more requests than the limit, at any time of use. Unused requests are returned, and
//! blocks are small if little is left, so an account gets all of its quota through any instances.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::debug;
use parking_lot::Mutex;

use super::policy::{RateLimitError, RateLimitState, RateLimits, WINDOW_SECS};
use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::model::quota::{Grant, GrantRequest, GrantResponse, Policy};
use crate::store::Store;

/// The time for which a block may be used. A longer time means fewer round trips; with a shorter time, unused
/// requests are returned sooner.
const SPEND_WITHIN: Duration = Duration::from_secs(2);
/// The longest time for which a refusal is cached. Other instances may return unused requests.
const REFUSED_FOR: Duration = Duration::from_secs(1);
/// The time for which a request waits while another one of the same account and policy queries the store. It equals
/// the time for which it would wait for a connection.
const WAIT: Duration = Duration::from_secs(5);
/// The highest limit with which searches and streams are granted one by one, and count for exactly 60 seconds.
const ONE_BY_ONE: u32 = 600;

type Key = (AccountId, Policy);

/// The grants of this instance, by account and policy.
pub(super) struct Shared {
    quota: Arc<Store>,
    quotas: Mutex<HashMap<Key, Arc<Mutex<LocalQuota>>>>,
}

/// The part of one account's quota that this instance has. Its lock is held while the store is queried: other
/// requests wait for it and then use the same answer, or get the same failure.
struct LocalQuota {
    block: Option<Block>,
    /// The size of the next block.
    size: u32,
    /// The requests that were left beyond the block when the store was last queried.
    free: u32,
    /// The time at which the oldest counted request stops counting.
    frees_at: Instant,
    /// The time before which the store is not queried again, because it has refused.
    refused_until: Instant,
    /// The time at which the store failed last.
    failed_at: Option<Instant>,
    touched_at: Instant,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    grant: Grant,
    left: u32,
    spend_until: Instant,
}

impl LocalQuota {
    fn new() -> Self {
        let now = Instant::now();
        let (block, failed_at) = (None, None);
        Self { block, size: 1, free: 0, frees_at: now, refused_until: now, failed_at, touched_at: now }
    }

    /// Uses one request of the block, if any is left.
    fn spend(&mut self, now: Instant) -> Option<Grant> {
        let block = self.block.as_mut().filter(|block| block.left > 0 && now < block.spend_until)?;
        block.left -= 1;
        Some(block.grant)
    }

    /// Closes the block. Returns its unused requests, and sets the size of the next block.
    fn close(&mut self, most: u32, now: Instant) -> Option<(Grant, u32)> {
        let block = self.block.take()?;
        let spent = block.grant.requests - block.left;
        self.size = match block.left {
            0 if now < block.spend_until => (block.grant.requests * 2).min(most),
            _ => spent.clamp(1, most),
        };
        (block.left > 0).then_some((block.grant, block.left))
    }

    fn put(&mut self, taken: &GrantResponse, limit: u32, asked_at: Instant) {
        self.free = limit.saturating_sub(taken.used);
        self.frees_at = asked_at + taken.frees_in;
        // The time is measured from before the request to the store, whose answer may have taken long.
        let spend_until = asked_at + SPEND_WITHIN;
        if taken.grant.is_none() {
            self.refused_until = self.frees_at.min(asked_at + REFUSED_FOR);
        }
        self.block = taken.grant.map(|grant| Block { grant, left: grant.requests, spend_until });
    }

    fn state(&self, policy: Policy, limit: u32, now: Instant) -> RateLimitState {
        let left = self.block.map_or(0, |block| block.left);
        let reset = self.frees_at.saturating_duration_since(now);
        let reset_secs = u64::try_from(reset.as_millis()).unwrap_or(u64::MAX).div_ceil(1000).max(1);
        RateLimitState { policy, limit, remaining: (self.free + left).min(limit), reset_secs }
    }

    fn is_idle(&self, now: Instant) -> bool {
        self.block.is_none() && now.duration_since(self.touched_at).as_secs() > WINDOW_SECS.unsigned_abs()
    }
}

impl Shared {
    pub(super) fn new(quota: Arc<Store>) -> Self {
        Self { quota, quotas: Mutex::default() }
    }

    pub(super) fn count(
        &self,
        limits: &RateLimits,
        account: AccountId,
        policies: &[Policy],
    ) -> Result<Vec<RateLimitState>, RateLimitError> {
        let mut spent: Vec<(Policy, Grant)> = Vec::new();
        let mut states = Vec::new();
        for &policy in policies {
            match self.spend((account, policy), limits.of(policy)) {
                Ok((grant, state)) => {
                    spent.push((policy, grant));
                    states.push(state);
                }
                Err(why) => {
                    spent.into_iter().for_each(|(policy, grant)| self.undo((account, policy), grant));
                    return Err(why);
                }
            }
        }
        Ok(states)
    }

    fn spend(&self, key: Key, limit: u32) -> Result<(Grant, RateLimitState), RateLimitError> {
        let policy = key.1;
        let came_at = Instant::now();
        let local = self.local(key);
        let mut local = local
            .try_lock_for(WAIT)
            .ok_or_else(|| no_answer("timed out waiting for the same query of another request"))?;
        let now = Instant::now();
        local.touched_at = now;
        if let Some(grant) = local.spend(now) {
            return Ok((grant, local.state(policy, limit, now)));
        }
        if now < local.refused_until {
            return Err(RateLimitError::UsedUp(local.state(policy, limit, now)));
        }
        if local.failed_at.is_some_and(|at| at >= came_at) {
            return Err(no_answer("the store failed while this request waited"));
        }
        self.refill(key, &mut local, limit)?;
        // The answer of the store may have taken long.
        let now = Instant::now();
        match local.spend(now) {
            Some(grant) => Ok((grant, local.state(policy, limit, now))),
            None if local.block.is_some() => Err(no_answer("the answer came too late to be used")),
            None => Err(RateLimitError::UsedUp(local.state(policy, limit, now))),
        }
    }

    fn refill(&self, key: Key, local: &mut LocalQuota, limit: u32) -> Result<(), RateLimitError> {
        let asked_at = Instant::now();
        match ask(&self.quota, key, local, limit, asked_at) {
            Ok(Some(taken)) => {
                local.put(&taken, limit, asked_at);
                Ok(())
            }
            Ok(None) => Err(RateLimitError::UnknownAccount),
            Err(error) => {
                local.failed_at = Some(Instant::now());
                Err(RateLimitError::Storage(error))
            }
        }
    }

    /// Reverts a count, because the request is refused by another of its policies.
    fn undo(&self, key: Key, grant: Grant) {
        let local = self.local(key);
        // If the lock is not free in time, the request counts until its time is over, as if it could not be returned.
        let Some(mut local) = local.try_lock_for(WAIT) else { return };
        match local.block.as_mut().filter(|block| block.grant == grant && grant.requests > 1) {
            Some(block) => block.left += 1,
            None => drop(give_back(&self.quota, key, grant, 1)),
        }
    }

    fn local(&self, key: Key) -> Arc<Mutex<LocalQuota>> {
        let mut quotas = self.quotas.lock();
        Arc::clone(quotas.entry(key).or_insert_with(|| Arc::new(Mutex::new(LocalQuota::new()))))
    }

    /// Returns requests that were not used in time, and removes accounts without recent requests.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let quotas: Vec<_> =
            self.quotas.lock().iter().map(|(key, local)| (*key, Arc::clone(local))).collect();
        for (key, local) in quotas {
            // A locked quota is in use, so it is skipped.
            let Some(mut local) = local.try_lock() else { continue };
            if local.block.is_some_and(|block| now >= block.spend_until)
                && let Some((grant, unused)) = local.close(u32::MAX, now)
                && give_back(&self.quota, key, grant, unused).is_err()
            {
                // The store does not answer, and the maintenance thread must not wait for it again.
                break;
            }
        }
        self.quotas.lock().retain(|_, local| {
            Arc::strong_count(local) > 1 || local.try_lock().is_none_or(|local| !local.is_idle(now))
        });
    }
}

/// Returns the maximum number of requests that are granted at once.
fn largest_block(policy: Policy, limit: u32) -> u32 {
    let most = match policy {
        Policy::Read => limit / 10,
        Policy::Search | Policy::Stream if limit > ONE_BY_ONE => limit / 100,
        Policy::Search | Policy::Stream => 1,
    };
    most.max(1)
}

fn counts_for(largest_block: u32) -> Duration {
    let window = Duration::from_secs(WINDOW_SECS.unsigned_abs());
    // A request that is granted alone is used at once.
    if largest_block == 1 { window } else { window + SPEND_WITHIN }
}

/// Queries the store for the next block, after returning the rest of the last one. If the store is unavailable for
/// that, it is not queried again.
fn ask(
    quota: &Store,
    key: Key,
    local: &mut LocalQuota,
    limit: u32,
    asked_at: Instant,
) -> Result<Option<GrantResponse>, StorageError> {
    let (account, policy) = key;
    let most = largest_block(policy, limit);
    if let Some((grant, unused)) = local.close(most, asked_at)
        && let Err(error) = give_back(quota, key, grant, unused)
        && error.is_unavailable()
    {
        return Err(error);
    }
    quota.take(&GrantRequest { account, policy, limit, wanted: local.size, counts_for: counts_for(most) })
}

/// Returns unused requests to the store. If that fails, they count until their time is over, so that the limit is not
/// exceeded.
fn give_back(quota: &Store, (account, policy): Key, grant: Grant, unused: u32) -> Result<(), StorageError> {
    quota.give_back(account, policy, grant, unused).inspect_err(|error| {
        debug!("cannot return unused requests to the store: {error}");
    })
}

/// Creates the error for a missing answer of the store.
fn no_answer(why: &str) -> RateLimitError {
    RateLimitError::Storage(StorageError::unavailable(format!("cannot check the rate limit: {why}")))
}
