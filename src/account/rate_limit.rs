//! Rate limits: the number of requests of a kind that an account may make in a minute.
//!
//! Requests are counted per account, so more keys give no more quota. Searches and streams are counted in the store,
//! over all instances. Reads are counted in each instance, because they must not need a write.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    /// The number of requests that are left now.
    pub remaining: u32,
    /// The time until another request can be made, in whole seconds, at least 1.
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
    /// The times at which the next requests are due, in microseconds since `started_at`: of reads, and of searches and
    /// streams as they were when one was last refused.
    dues: Mutex<HashMap<(AccountId, Policy), i64>>,
    started_at: Instant,
}

impl RateLimiter {
    /// Creates a limiter that counts searches and streams in `store`.
    pub fn new(limits: RateLimits, store: Arc<Store>) -> Self {
        Self { limits, store, dues: Mutex::default(), started_at: Instant::now() }
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
        if let Some(state) = policies.iter().find_map(|&policy| self.known_refusal(account, policy)) {
            return Err(RateLimitError::UsedUp(state));
        }
        let mut states: Vec<RateLimitState> = Vec::with_capacity(policies.len());
        for &policy in policies {
            match self.count_one(account, policy) {
                Ok(state) => states.push(state),
                Err(refused) => {
                    states.iter().for_each(|earlier| self.return_one(account, earlier.policy));
                    return Err(refused);
                }
            }
        }
        Ok(states)
    }

    /// Refuses a request without the store if no other one can have been allowed since the last refusal. Otherwise, a
    /// client that sends many requests would keep the database busy.
    fn known_refusal(&self, account: AccountId, policy: Policy) -> Option<RateLimitState> {
        let (due, now, rate) = (*self.dues.lock().get(&(account, policy))?, self.now(), self.rate(policy));
        rate.next_due(due, now).is_none().then(|| self.state(policy, rate.counted(false, due, now)))
    }

    fn count_one(&self, account: AccountId, policy: Policy) -> Result<RateLimitState, RateLimitError> {
        let (key, now, rate) = ((account, policy), self.now(), self.rate(policy));
        let counted = match policy {
            Policy::Read => rate.count(self.dues.lock().entry(key).or_insert(now), now),
            Policy::Search | Policy::Stream => {
                let subject = Subject::requests(account, policy);
                self.store.count_request(&subject, rate).map_err(RateLimitError::Storage)?
            }
        };
        let state = self.state(policy, counted);
        if counted.is_allowed {
            return Ok(state);
        }
        self.dues
            .lock()
            .insert(key, now.saturating_add(rate.slack_us()).saturating_add(micros(counted.wait)));
        Err(RateLimitError::UsedUp(state))
    }

    fn return_one(&self, account: AccountId, policy: Policy) {
        if let Err(error) = self.store.return_request(&Subject::requests(account, policy), self.rate(policy))
        {
            debug!("a refused request counts, because it cannot be returned: {error}");
        }
    }

    fn rate(&self, policy: Policy) -> Rate {
        Rate::per_minute(self.limits.of(policy))
    }

    fn state(&self, policy: Policy, counted: Counted) -> RateLimitState {
        let reset_secs = micros(counted.wait).unsigned_abs().div_ceil(1_000_000).max(1);
        RateLimitState { policy, limit: self.limits.of(policy), remaining: counted.remaining, reset_secs }
    }

    fn now(&self) -> i64 {
        micros(self.started_at.elapsed())
    }

    /// Removes accounts without recent requests. The maintenance thread calls this about once a second.
    pub fn sweep(&self) {
        let now = self.now();
        self.dues.lock().retain(|_, due| *due > now);
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
