//! Rate limits: the number of requests of a kind that an account may make in a minute.
//!
//! Requests are counted per account, so more keys give no more quota. Searches and streams are counted in the store,
//! over all instances. Reads are counted in each instance, because they must not need a write.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use log::debug;
use parking_lot::Mutex;

use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::model::quota::{Counted, Policy, Rate, Subject};
use crate::store::Store;

/// The limit of each policy, in requests per minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "one limit for each policy, named after it")]
pub struct RateLimits {
    pub search: u32,
    pub stream: u32,
    pub read: u32,
}

impl Default for RateLimits {
    /// Returns the default limits, which the manual documents (`src/manual/errors-and-limits.md`).
    fn default() -> Self {
        Self { search: 30, stream: 60, read: 120 }
    }
}

impl RateLimits {
    fn of(&self, policy: Policy) -> u32 {
        match policy {
            Policy::Search => self.search,
            Policy::Stream => self.stream,
            Policy::Read => self.read,
        }
    }
}

/// The state of an account under one policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitState {
    /// The policy.
    pub policy: Policy,
    /// The limit in requests per minute.
    pub limit: u32,
    /// The number of further requests that are allowed now.
    pub remaining: u32,
    /// The time after which one more request is allowed, in whole seconds, at least 1.
    pub reset_secs: u64,
}

/// The reasons why a request was not counted.
#[derive(Debug)]
pub enum RateLimitError {
    /// The limit of this policy is reached. Its `reset_secs` is the time to wait.
    UsedUp(RateLimitState),
    /// The store has failed, in which all instances count.
    Storage(StorageError),
}

/// A limiter that counts requests against the rate limits.
pub struct RateLimiter {
    limits: RateLimits,
    store: Arc<Store>,
    /// The time at which the next read of each account is due, in microseconds since `started_at`.
    reads: Mutex<HashMap<AccountId, i64>>,
    started_at: Instant,
}

impl RateLimiter {
    /// Creates a limiter that counts searches and streams in `store`.
    pub fn new(limits: RateLimits, store: Arc<Store>) -> Self {
        Self { limits, store, reads: Mutex::default(), started_at: Instant::now() }
    }

    /// Returns the limits in force.
    pub fn limits(&self) -> &RateLimits {
        &self.limits
    }

    /// Counts one request for each of `policies`, or for none of them if one is exhausted.
    ///
    /// # Errors
    /// Returns [`RateLimitError`] if the request was not counted.
    pub fn count(
        &self,
        account: AccountId,
        policies: &[Policy],
    ) -> Result<Vec<RateLimitState>, RateLimitError> {
        let mut states: Vec<RateLimitState> = Vec::with_capacity(policies.len());
        for &policy in policies {
            match self.count_one(account, policy) {
                Ok(state) => states.push(state),
                Err(refused) => {
                    for earlier in &states {
                        let (subject, rate) =
                            (Subject::requests(account, earlier.policy), Rate::per_minute(earlier.limit));
                        if let Err(error) = self.store.return_request(&subject, rate) {
                            debug!("a refused request counts, because it cannot be returned: {error}");
                        }
                    }
                    return Err(refused);
                }
            }
        }
        Ok(states)
    }

    fn count_one(&self, account: AccountId, policy: Policy) -> Result<RateLimitState, RateLimitError> {
        let limit = self.limits.of(policy);
        let rate = Rate::per_minute(limit);
        let counted = match policy {
            Policy::Read => self.count_read(account, rate),
            Policy::Search | Policy::Stream => {
                let subject = Subject::requests(account, policy);
                self.store.count_request(&subject, rate).map_err(RateLimitError::Storage)?
            }
        };
        let reset_secs = u64::try_from(counted.wait.as_millis()).unwrap_or(u64::MAX).div_ceil(1000).max(1);
        let state = RateLimitState { policy, limit, remaining: counted.remaining, reset_secs };
        if counted.is_allowed { Ok(state) } else { Err(RateLimitError::UsedUp(state)) }
    }

    fn count_read(&self, account: AccountId, rate: Rate) -> Counted {
        let mut reads = self.reads.lock();
        let now = self.now();
        rate.count(reads.entry(account).or_insert(now), now)
    }

    fn now(&self) -> i64 {
        i64::try_from(self.started_at.elapsed().as_micros()).unwrap_or(i64::MAX)
    }

    /// Removes accounts without recent reads. The maintenance thread calls this about once a second.
    pub fn sweep(&self) {
        let now = self.now();
        self.reads.lock().retain(|_, due| *due > now);
    }
}
