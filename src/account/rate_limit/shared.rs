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
/// How long a request waits while another one of the same account and policy asks the store: as long as it would for a
/// connection to ask by itself.
const WAIT: Duration = Duration::from_secs(5);
/// Searches and streams up to this limit are granted one by one, and free again after 60 seconds sharp.
const ONE_BY_ONE: u32 = 600;

type Key = (AccountId, Policy);

/// The grants of this instance.
pub(super) struct Shared {
    ledger: Arc<dyn Ledger>,
    purses: Mutex<HashMap<Key, Arc<Mutex<Purse>>>>,
}

/// What this instance has of one account's quota. Its lock is held while the store is asked: whoever else
/// wants of it spends of the same answer, or shares the same failure.
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
    /// When the store failed last.
    failed_at: Option<Instant>,
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
        let (block, failed_at) = (None, None);
        Self { block, size: 1, free: 0, frees_at: now, refused_until: now, failed_at, touched_at: now }
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
        let policy = key.1;
        let came_at = Instant::now();
        let purse = self.purse(key);
        let mut purse = purse.try_lock_for(WAIT).ok_or_else(|| no_answer("others wait for it already"))?;
        let now = Instant::now();
        purse.touched_at = now;
        if let Some(grant) = purse.spend(now) {
            return Ok((grant, purse.standing(policy, limit, now)));
        }
        if now < purse.refused_until {
            return Err(Uncounted::UsedUp(purse.standing(policy, limit, now)));
        }
        if purse.failed_at.is_some_and(|at| at >= came_at) {
            return Err(no_answer("it failed while this request waited for it"));
        }
        self.refill(key, &mut purse, limit)?;
        // The answer may have taken long.
        let now = Instant::now();
        match purse.spend(now) {
            Some(grant) => Ok((grant, purse.standing(policy, limit, now))),
            None if purse.block.is_some() => Err(no_answer("it came too late to count on it")),
            None => Err(Uncounted::UsedUp(purse.standing(policy, limit, now))),
        }
    }

    fn refill(&self, key: Key, purse: &mut Purse, limit: u32) -> Result<(), Uncounted> {
        let Some(quota) = self.ledger.quota() else { return Ok(()) };
        let asked_at = Instant::now();
        match ask(quota, key, purse, limit, asked_at) {
            Ok(Some(taken)) => {
                purse.put(&taken, limit, asked_at);
                Ok(())
            }
            Ok(None) => Err(Uncounted::UnknownAccount),
            Err(error) => {
                purse.failed_at = Some(Instant::now());
                Err(Uncounted::Storage(error))
            }
        }
    }

    /// The request was not answered after all: another of its policies is used up.
    fn undo(&self, key: Key, grant: Grant) {
        let purse = self.purse(key);
        // Where others wait for the store it counts until its time is over, as what cannot be given back does.
        let Some(mut purse) = purse.try_lock_for(WAIT) else { return };
        match purse.block.as_mut().filter(|block| block.grant == grant && grant.requests > 1) {
            Some(block) => block.left += 1,
            None => {
                self.ledger.quota().map(|quota| give_back(quota, key, grant, 1).is_ok());
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
                && give_back(quota, key, grant, unused).is_err()
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

/// Asks the store for the next block. Gives back first what is left of the last one: where that finds the store away,
/// it is not asked once more.
fn ask(
    quota: &dyn Quota,
    key: Key,
    purse: &mut Purse,
    limit: u32,
    asked_at: Instant,
) -> Result<Option<Taken>, StorageError> {
    let (account, policy) = key;
    let most = largest_block(policy, limit);
    if let Some((grant, unused)) = purse.close(most, asked_at)
        && let Err(error) = give_back(quota, key, grant, unused)
        && error.is_unavailable()
    {
        return Err(error);
    }
    quota.take(&Ask { account, policy, limit, wanted: purse.size, counts_for: counts_for(most) })
}

/// What cannot be given back counts until its time is over: never too little.
fn give_back(
    quota: &dyn Quota,
    (account, policy): Key,
    grant: Grant,
    unused: u32,
) -> Result<(), StorageError> {
    quota.give_back(account, policy, grant, unused).inspect_err(|error| {
        debug!("requests that were granted and not made could not be given back: {error}");
    })
}

/// The store's answer is missing, says why.
fn no_answer(why: &str) -> Uncounted {
    Uncounted::Storage(StorageError::unavailable(format!("no answer about the rate limit: {why}")))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use jiff::Timestamp;
    use parking_lot::Condvar;

    use super::*;
    use crate::account::account::Account;
    use crate::account::audit::Origin;
    use crate::account::credits::Cycle;
    use crate::account::key::{KeyHash, KeyRecord};
    use crate::account::ledger::{Erased, Erasure};
    use crate::base::ids::KeyId;

    /// A store that fails each question about limits, once it is told to; nothing else is asked of it.
    #[derive(Default)]
    struct Away {
        may_answer: Mutex<bool>,
        told: Condvar,
        asked: AtomicUsize,
        given_back: AtomicUsize,
    }

    impl Away {
        fn fail(&self, count: &AtomicUsize) -> StorageError {
            count.fetch_add(1, Ordering::SeqCst);
            let mut may_answer = self.may_answer.lock();
            while !*may_answer {
                self.told.wait(&mut may_answer);
            }
            StorageError::unavailable("away")
        }

        fn answer(&self) {
            *self.may_answer.lock() = true;
            self.told.notify_all();
        }
    }

    impl Quota for Away {
        fn take(&self, _: &Ask) -> Result<Option<Taken>, StorageError> {
            Err(self.fail(&self.asked))
        }

        fn give_back(&self, _: AccountId, _: Policy, _: Grant, _: u32) -> Result<(), StorageError> {
            Err(self.fail(&self.given_back))
        }
    }

    impl Ledger for Away {
        fn quota(&self) -> Option<&dyn Quota> {
            Some(self)
        }
        fn add_account(&self, _: &Account, _: &Origin) -> Result<bool, StorageError> {
            unreachable!()
        }
        fn account(&self, _: AccountId) -> Result<Option<Account>, StorageError> {
            unreachable!()
        }
        fn account_by_email(&self, _: &str) -> Result<Option<Account>, StorageError> {
            unreachable!()
        }
        fn accounts(&self) -> Result<Vec<Account>, StorageError> {
            unreachable!()
        }
        fn set_plan(&self, _: AccountId, _: &str, _: Timestamp, _: &Origin) -> Result<bool, StorageError> {
            unreachable!()
        }
        fn close_account(
            &self,
            _: AccountId,
            _: Timestamp,
            _: &Origin,
        ) -> Result<Option<Erased>, StorageError> {
            unreachable!()
        }
        fn erase_closed(&self, _: AccountId) -> Result<Erasure, StorageError> {
            unreachable!()
        }
        fn closed_accounts(&self) -> Result<Vec<AccountId>, StorageError> {
            unreachable!()
        }
        fn add_key(&self, _: &KeyRecord, _: &Origin) -> Result<bool, StorageError> {
            unreachable!()
        }
        fn key_by_hash(&self, _: &KeyHash) -> Result<Option<(KeyRecord, Account)>, StorageError> {
            unreachable!()
        }
        fn keys(&self, _: Option<AccountId>) -> Result<Vec<KeyRecord>, StorageError> {
            unreachable!()
        }
        fn revoke_key(&self, _: KeyId, _: Timestamp, _: &Origin) -> Result<bool, StorageError> {
            unreachable!()
        }
        fn touch_keys(&self, _: &[(KeyId, Timestamp)]) -> Result<(), StorageError> {
            unreachable!()
        }
        fn credits_used(&self, _: AccountId, _: Cycle) -> Result<u64, StorageError> {
            unreachable!()
        }
        fn ping(&self) -> Result<(), StorageError> {
            unreachable!()
        }
    }

    fn failed(outcome: &Result<(Grant, Standing), Uncounted>) -> bool {
        matches!(outcome, Err(Uncounted::Storage(error)) if error.is_unavailable())
    }

    #[test]
    fn those_who_wait_for_the_same_answer_share_its_failure() {
        const REQUESTS: usize = 8;
        let store = Arc::new(Away::default());
        let shared = Shared::new(Arc::clone(&store) as _);
        let key = (AccountId::new(), Policy::Search);
        let purse = shared.purse(key);
        thread::scope(|scope| {
            let requests: Vec<_> = (0..REQUESTS).map(|_| scope.spawn(|| shared.spend(key, 30))).collect();
            // One asks, and the others have come: they hold the purse, and so do the table and this test.
            while Arc::strong_count(&purse) < REQUESTS + 2 || store.asked.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            store.answer();
            for request in requests {
                assert!(failed(&request.join().unwrap()));
            }
        });
        assert_eq!(store.asked.load(Ordering::SeqCst), 1);
        // Whoever comes later asks again.
        assert!(failed(&shared.spend(key, 30)));
        assert_eq!(store.asked.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_store_that_is_away_is_asked_once_for_a_request() {
        let store = Arc::new(Away::default());
        store.answer();
        let shared = Shared::new(Arc::clone(&store) as _);
        let key = (AccountId::new(), Policy::Read);
        let grant = Grant { moment: 1, requests: 4 };
        shared.purse(key).lock().block = Some(Block { grant, left: 2, spend_until: Instant::now() });
        assert!(failed(&shared.spend(key, 120)));
        let asked = (store.given_back.load(Ordering::SeqCst), store.asked.load(Ordering::SeqCst));
        assert_eq!(asked, (1, 0));
    }
}
