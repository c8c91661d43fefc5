//! Counts the requests of one process: the times of the last minute, by account and policy.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;
use parking_lot::Mutex;

use super::policy::{RateLimitState, RateLimits, WINDOW_SECS};
use crate::base::ids::AccountId;
use crate::model::quota::Policy;

const WINDOW_MS: i64 = WINDOW_SECS * 1000;

/// An exact counter of requests. It stores at most as many times as the limit allows, and a burst around the edge of
/// a window does not exceed the limit.
#[derive(Debug, Default)]
pub(super) struct Windows {
    windows: Mutex<HashMap<(AccountId, Policy), VecDeque<i64>>>,
}

impl Windows {
    /// Counts one request for each of `policies`, or for none of them if one is exhausted. The error is the state of
    /// that policy.
    pub(super) fn count(
        &self,
        limits: &RateLimits,
        account: AccountId,
        policies: &[Policy],
        now: Timestamp,
    ) -> Result<Vec<RateLimitState>, RateLimitState> {
        let now = now.as_millisecond();
        let mut windows = self.windows.lock();
        for &policy in policies {
            let window = windows.entry((account, policy)).or_default();
            remove_old(window, now);
            if window.len() >= limits.of(policy) as usize {
                return Err(state(limits, policy, window, now));
            }
        }
        let mut states = Vec::with_capacity(policies.len());
        for &policy in policies {
            let window = windows.entry((account, policy)).or_default();
            window.push_back(now);
            states.push(state(limits, policy, window, now));
        }
        Ok(states)
    }

    /// Removes accounts that made no request for a minute.
    pub(super) fn sweep(&self, now: Timestamp) {
        let now = now.as_millisecond();
        self.windows.lock().retain(|_, window| {
            remove_old(window, now);
            !window.is_empty()
        });
    }
}

fn state(limits: &RateLimits, policy: Policy, window: &VecDeque<i64>, now: i64) -> RateLimitState {
    let limit = limits.of(policy);
    let used = u32::try_from(window.len()).unwrap_or(u32::MAX);
    let left_ms = window.front().map_or(WINDOW_MS, |oldest| oldest + WINDOW_MS - now);
    let reset_secs = u64::try_from(left_ms).unwrap_or(0).div_ceil(1000).max(1);
    RateLimitState { policy, limit, remaining: limit.saturating_sub(used), reset_secs }
}

fn remove_old(window: &mut VecDeque<i64>, now: i64) {
    // A clock that was set back leaves times in the future, which would block for longer than a minute.
    while window.back().is_some_and(|moment| *moment > now) {
        window.pop_back();
    }
    // The rest is in order, so a call only processes what it removes, even with a large limit.
    while window.front().is_some_and(|moment| *moment <= now - WINDOW_MS) {
        window.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
    }

    struct Limiter(RateLimits, Windows);

    impl Limiter {
        fn count(
            &self,
            account: AccountId,
            policies: &[Policy],
            now: Timestamp,
        ) -> Result<Vec<RateLimitState>, RateLimitState> {
            self.1.count(&self.0, account, policies, now)
        }
    }

    fn limiter(search: u32) -> Limiter {
        Limiter(RateLimits { search, stream: 2, read: 120 }, Windows::default())
    }

    #[test]
    fn the_last_request_is_granted_and_is_free_again_after_a_minute() {
        let (limiter, account) = (limiter(2), AccountId::new());
        let first = limiter.count(account, &[Policy::Search], at(0)).unwrap()[0];
        assert_eq!((first.limit, first.remaining, first.reset_secs), (2, 1, 60));
        assert_eq!(limiter.count(account, &[Policy::Search], at(30_000)).unwrap()[0].remaining, 0);
        let refused = limiter.count(account, &[Policy::Search], at(59_001)).unwrap_err();
        assert_eq!((refused.remaining, refused.reset_secs), (0, 1));
        assert!(limiter.count(account, &[Policy::Search], at(60_000)).is_ok());
        assert!(limiter.count(account, &[Policy::Search], at(60_001)).is_err());
    }

    #[test]
    fn accounts_and_policies_are_counted_apart() {
        let (limiter, account) = (limiter(1), AccountId::new());
        limiter.count(account, &[Policy::Search], at(0)).unwrap();
        limiter.count(account, &[Policy::Read], at(0)).unwrap();
        limiter.count(AccountId::new(), &[Policy::Search], at(0)).unwrap();
        assert_eq!(limiter.count(account, &[Policy::Search], at(0)).unwrap_err().policy, Policy::Search);
    }

    #[test]
    fn a_request_under_two_policies_counts_under_both_or_neither() {
        let (limiter, account) = (limiter(10), AccountId::new());
        for _ in 0..2 {
            limiter.count(account, &[Policy::Search, Policy::Stream], at(0)).unwrap();
        }
        let refused = limiter.count(account, &[Policy::Search, Policy::Stream], at(0)).unwrap_err();
        assert_eq!(refused.policy, Policy::Stream);
        assert_eq!(limiter.count(account, &[Policy::Search], at(0)).unwrap()[0].remaining, 7);
    }

    #[test]
    fn a_clock_that_was_set_back_blocks_no_account() {
        let (limiter, account) = (limiter(2), AccountId::new());
        for moment in [0, 50_000] {
            limiter.count(account, &[Policy::Search], at(moment)).unwrap();
        }
        assert_eq!(limiter.count(account, &[Policy::Search], at(10_000)).unwrap()[0].remaining, 0);
        assert!(limiter.count(account, &[Policy::Search], at(60_000)).is_ok());
    }

    #[test]
    fn a_sweep_frees_only_idle_accounts() {
        let limiter = limiter(10);
        limiter.count(AccountId::new(), &[Policy::Search], at(0)).unwrap();
        limiter.count(AccountId::new(), &[Policy::Search], at(50_000)).unwrap();
        limiter.1.sweep(at(60_000));
        assert_eq!(limiter.1.windows.lock().len(), 1);
    }

    proptest! {
        #[test]
        fn no_minute_ever_holds_more_than_the_limit(steps in prop::collection::vec(0i64..20_000, 1..200), limit in 1u32..8) {
            let (limiter, account) = (limiter(limit), AccountId::new());
            let (mut now, mut taken) = (0, Vec::new());
            for step in steps {
                now += step;
                if limiter.count(account, &[Policy::Search], at(now)).is_ok() {
                    taken.push(now);
                } else {
                    let in_window = taken.iter().filter(|moment| **moment > now - WINDOW_MS).count();
                    prop_assert_eq!(in_window, limit as usize, "refused below the limit");
                }
            }
            for (index, from) in taken.iter().enumerate() {
                let within = taken[index..].iter().filter(|moment| **moment < from + WINDOW_MS).count();
                prop_assert!(within <= limit as usize);
            }
        }
    }
}
