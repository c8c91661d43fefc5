//! Counts over all instances: the store grants requests, and each instance spends its grants.
//!
//! A policy with a small limit is granted request by request: one statement each, which a search (it writes
//! far more) hardly notices. Reads must not cost a round trip each: they are granted in blocks, which grow as
//! long as they are used up quickly. A grant may be spent for [`SPEND_WITHIN`], and counts that much longer
//! than a minute: so no 60 seconds hold more requests than the limit, however late each of them was spent.
//! What is not spent in time is given back, and where little is left blocks are small: an account gets all of
//! its quota, through whichever instances it asks.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::debug;
use parking_lot::Mutex;

use super::quota::{Ask, Grant, Quota, Taken};
use super::{Policy, RateLimits, Standing, Uncounted, WINDOW_SECS};
use crate::account::ledger::Ledger;
use crate::base::ids::AccountId;
use crate::base::storage::StorageError;

/// How long a block may be spent. Longer: fewer round trips. Shorter: sooner given back, sooner free again.
const SPEND_WITHIN: Duration = Duration::from_secs(2);
/// How long a refusal is believed, at most: other instances may give back what they did not spend.
const REFUSED_FOR: Duration = Duration::from_secs(1);
/// Searches and streams up to this limit are granted one by one, and free again after 60 seconds sharp.
const ONE_BY_ONE: u32 = 600;

type Key = (AccountId, Policy);

/// The grants of this instance.
pub(super) struct Shared {
    ledger: Arc<dyn Ledger>,
    purses: Mutex<HashMap<Key, Arc<Mutex<Purse>>>>,
}

/// What this instance has of one account's quota. Its lock is held while the store is asked: whoever else
/// wants of it spends of the same answer.
struct Purse {
    block: Option<Block>,
    /// How much the next block is to be.
    size: u32,
    /// Beyond the block, when the store was last asked.
    free: u32,
    /// When the oldest that counts no longer does.
    frees_at: Instant,
    /// Until then the store, which has refused, is not asked again.
    refused_until: Instant,
    touched_at: Instant,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    grant: Grant,
    left: u32,
    spend_until: Instant,
}

impl Purse {
    fn new() -> Self {
        let now = Instant::now();
        Self { block: None, size: 1, free: 0, frees_at: now, refused_until: now, touched_at: now }
    }

    /// Spends one request of the block, if there is one.
    fn spend(&mut self, now: Instant) -> Option<Grant> {
        let block = self.block.as_mut().filter(|block| block.left > 0 && now < block.spend_until)?;
        block.left -= 1;
        Some(block.grant)
    }

    /// Ends a block: gives what is left of it, and says how much the next one is to be.
    fn close(&mut self, most: u32, now: Instant) -> Option<(Grant, u32)> {
        let block = self.block.take()?;
        let spent = block.grant.requests - block.left;
        self.size = match block.left {
            0 if now < block.spend_until => (block.grant.requests * 2).min(most),
            _ => spent.clamp(1, most),
        };
        (block.left > 0).then_some((block.grant, block.left))
    }

    fn put(&mut self, taken: &Taken, limit: u32, asked_at: Instant) {
        self.free = limit.saturating_sub(taken.used);
        self.frees_at = asked_at + taken.frees_in;
        // Counted from before the store was asked: its answer may have been on its way for long.
        let spend_until = asked_at + SPEND_WITHIN;
        if taken.grant.is_none() {
            self.refused_until = self.frees_at.min(asked_at + REFUSED_FOR);
        }
        self.block = taken.grant.map(|grant| Block { grant, left: grant.requests, spend_until });
    }

    fn standing(&self, policy: Policy, limit: u32, now: Instant) -> Standing {
        let left = self.block.map_or(0, |block| block.left);
        let reset = self.frees_at.saturating_duration_since(now);
        let reset_secs = u64::try_from(reset.as_millis()).unwrap_or(u64::MAX).div_ceil(1000).max(1);
        Standing { policy, limit, remaining: (self.free + left).min(limit), reset_secs }
    }

    fn is_idle(&self, now: Instant) -> bool {
        self.block.is_none() && now.duration_since(self.touched_at).as_secs() > WINDOW_SECS.unsigned_abs()
    }
}

impl Shared {
    pub(super) fn new(ledger: Arc<dyn Ledger>) -> Self {
        Self { ledger, purses: Mutex::default() }
    }

    pub(super) fn count(
        &self,
        limits: &RateLimits,
        account: AccountId,
        policies: &[Policy],
    ) -> Result<Vec<Standing>, Uncounted> {
        let mut spent: Vec<(Policy, Grant)> = Vec::new();
        let mut standings = Vec::new();
        for &policy in policies {
            match self.spend((account, policy), limits.of(policy)) {
                Ok((grant, standing)) => {
                    spent.push((policy, grant));
                    standings.push(standing);
                }
                Err(why) => {
                    spent.into_iter().for_each(|(policy, grant)| self.undo((account, policy), grant));
                    return Err(why);
                }
            }
        }
        Ok(standings)
    }

    fn spend(&self, key: Key, limit: u32) -> Result<(Grant, Standing), Uncounted> {
        let (purse, policy) = (self.purse(key), key.1);
        let mut purse = purse.lock();
        let now = Instant::now();
        purse.touched_at = now;
        if let Some(grant) = purse.spend(now) {
            return Ok((grant, purse.standing(policy, limit, now)));
        }
        if now >= purse.refused_until {
            self.refill(key, &mut purse, limit).map_err(Uncounted::Storage)?;
        }
        match purse.spend(now) {
            Some(grant) => Ok((grant, purse.standing(policy, limit, now))),
            None => Err(Uncounted::UsedUp(purse.standing(policy, limit, now))),
        }
    }

    fn refill(&self, key: Key, purse: &mut Purse, limit: u32) -> Result<(), StorageError> {
        let Some(quota) = self.ledger.quota() else { return Ok(()) };
        let (account, policy) = key;
        let most = largest_block(policy, limit);
        let asked_at = Instant::now();
        if let Some((grant, unused)) = purse.close(most, asked_at) {
            give_back(quota, key, grant, unused);
        }
        let ask = Ask { account, policy, limit, wanted: purse.size, counts_for: counts_for(most) };
        let taken = quota.take(&ask)?;
        purse.put(&taken, limit, asked_at);
        Ok(())
    }

    /// The request was not answered after all: another of its policies is used up.
    fn undo(&self, key: Key, grant: Grant) {
        let purse = self.purse(key);
        let mut purse = purse.lock();
        match purse.block.as_mut().filter(|block| block.grant == grant && grant.requests > 1) {
            Some(block) => block.left += 1,
            None => {
                self.ledger.quota().map(|quota| give_back(quota, key, grant, 1));
            }
        }
    }

    fn purse(&self, key: Key) -> Arc<Mutex<Purse>> {
        let mut purses = self.purses.lock();
        Arc::clone(purses.entry(key).or_insert_with(|| Arc::new(Mutex::new(Purse::new()))))
    }

    /// Gives back what was not spent in time, and forgets accounts that made no request lately.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let purses: Vec<_> =
            self.purses.lock().iter().map(|(key, purse)| (*key, Arc::clone(purse))).collect();
        let Some(quota) = self.ledger.quota() else { return };
        for (key, purse) in purses {
            // One that is locked is being used.
            let Some(mut purse) = purse.try_lock() else { continue };
            if purse.block.is_some_and(|block| now >= block.spend_until)
                && let Some((grant, unused)) = purse.close(u32::MAX, now)
                && !give_back(quota, key, grant, unused)
            {
                // The store is away: the housekeeper has more to do than wait for it.
                break;
            }
        }
        self.purses.lock().retain(|_, purse| {
            Arc::strong_count(purse) > 1 || purse.try_lock().is_none_or(|purse| !purse.is_idle(now))
        });
    }
}

/// How many requests are granted at once, at most.
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
    // What is granted one by one is spent at once.
    if largest_block == 1 { window } else { window + SPEND_WITHIN }
}

/// What cannot be given back (`false`) counts until its time is over: never too little.
fn give_back(quota: &dyn Quota, (account, policy): Key, grant: Grant, unused: u32) -> bool {
    let given = quota.give_back(account, policy, grant, unused);
    if let Err(error) = &given {
        debug!("requests that were granted and not made could not be given back: {error}");
    }
    given.is_ok()
}
