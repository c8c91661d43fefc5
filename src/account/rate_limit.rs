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
use crate::model::refusal::{Code, Refusal};
use crate::store::Store;

/// The limits that are not set otherwise, in requests per minute. The manual has them (`src/manual/errors-and-limits.md`).
const DEFAULTS: [(Policy, u32); 3] = [(Policy::Search, 30), (Policy::Stream, 60), (Policy::Read, 120)];

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

impl RateLimitState {
    /// Returns the refusal of a request beyond the limit.
    fn used_up(&self) -> Refusal {
        let policy = self.policy.as_str();
        let message = format!("more than {} {policy} requests in a minute", self.limit);
        let refusal =
            Refusal::new(Code::RateLimited, message).with("policy", policy).with("limit", self.limit);
        refusal.retry_after(self.reset_secs)
    }
}

/// A limiter that counts requests against the rate limits.
pub struct RateLimiter {
    limits: HashMap<Policy, u32>,
    store: Arc<Store>,
    /// The times at which the next requests are due, in microseconds since `started_at`: of reads, and of searches and
    /// streams as they were when one was last refused.
    dues: Mutex<HashMap<(AccountId, Policy), i64>>,
    started_at: Instant,
}

impl RateLimiter {
    /// Creates a limiter that counts searches and streams in `store`. `limits` are requests per minute.
    pub fn new(limits: impl IntoIterator<Item = (Policy, u32)>, store: Arc<Store>) -> Self {
        let limits = DEFAULTS.into_iter().chain(limits).collect();
        Self { limits, store, dues: Mutex::default(), started_at: Instant::now() }
    }

    /// Returns a limit in requests per minute.
    pub fn limit(&self, policy: Policy) -> u32 {
        self.limits[&policy]
    }

    /// Counts one request for each of `policies`, or for none of them if one is exhausted. Sets `counted` to their states, or to
    /// that of the exhausted one.
    ///
    /// # Errors
    /// Returns the refusal of a request beyond a limit, and a failure of the store, in which all instances count.
    pub fn count(
        &self,
        account: AccountId,
        policies: &[Policy],
        counted: &mut Vec<RateLimitState>,
    ) -> Result<(), Refusal> {
        if let Some(state) = policies.iter().find_map(|&policy| self.known_refusal(account, policy)) {
            *counted = vec![state];
            return Err(state.used_up());
        }
        for (at, &policy) in policies.iter().enumerate() {
            let refusal = match self.count_one(account, policy) {
                Ok((state, true)) => {
                    counted.push(state);
                    continue;
                }
                Ok((state, false)) => {
                    *counted = vec![state];
                    state.used_up()
                }
                Err(error) => error.into(),
            };
            policies[..at].iter().for_each(|&earlier| self.return_one(account, earlier));
            return Err(refusal);
        }
        Ok(())
    }

    /// Refuses a request without the store if no other one can have been allowed since the last refusal. Otherwise, a
    /// client that sends many requests would keep the database busy.
    fn known_refusal(&self, account: AccountId, policy: Policy) -> Option<RateLimitState> {
        let (due, now, rate) = (*self.dues.lock().get(&(account, policy))?, self.now(), self.rate(policy));
        rate.next_due(due, now).is_none().then(|| self.state(policy, rate.counted(false, due, now)))
    }

    /// Counts a request. Returns the state, and whether the request is within the limit.
    fn count_one(&self, account: AccountId, policy: Policy) -> Result<(RateLimitState, bool), StorageError> {
        let (key, now, rate) = ((account, policy), self.now(), self.rate(policy));
        let counted = match policy {
            Policy::Read => rate.count(self.dues.lock().entry(key).or_insert(now), now),
            Policy::Search | Policy::Stream => {
                self.store.count_request(&Subject::requests(account, policy), rate)?
            }
        };
        if !counted.is_allowed {
            let due = now.saturating_add(rate.slack_us()).saturating_add(micros(counted.wait));
            self.dues.lock().insert(key, due);
        }
        Ok((self.state(policy, counted), counted.is_allowed))
    }

    fn return_one(&self, account: AccountId, policy: Policy) {
        if let Err(error) = self.store.return_request(&Subject::requests(account, policy), self.rate(policy))
        {
            debug!("a refused request counts, because it cannot be returned: {error}");
        }
    }

    fn rate(&self, policy: Policy) -> Rate {
        Rate::per_minute(self.limit(policy))
    }

    fn state(&self, policy: Policy, counted: Counted) -> RateLimitState {
        let reset_secs = micros(counted.wait).unsigned_abs().div_ceil(1_000_000).max(1);
        RateLimitState { policy, limit: self.limit(policy), remaining: counted.remaining, reset_secs }
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
