//! [`RateLimiter`]: counts requests, in this process or in the store.

use std::sync::Arc;

use jiff::Timestamp;

use super::policy::{RateLimitError, RateLimitState, RateLimits};
use super::shared::Shared;
use super::window::Windows;
use crate::base::ids::AccountId;
use crate::model::quota::Policy;
use crate::store::Store;

/// A limiter that counts requests against the rate limits.
pub struct RateLimiter {
    limits: RateLimits,
    counts: Counts,
}

enum Counts {
    Own(Windows),
    Shared(Shared),
}

impl RateLimiter {
    /// Creates a limiter that counts in this process, or in `store` if several processes share it.
    pub fn new(limits: RateLimits, store: Arc<Store>) -> Self {
        let counts = match store.quota() {
            Some(quota) => Counts::Shared(Shared::new(quota)),
            None => Counts::Own(Windows::default()),
        };
        Self { limits, counts }
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
        now: Timestamp,
    ) -> Result<Vec<RateLimitState>, RateLimitError> {
        match &self.counts {
            Counts::Own(windows) => {
                windows.count(&self.limits, account, policies, now).map_err(RateLimitError::UsedUp)
            }
            Counts::Shared(shared) => shared.count(&self.limits, account, policies),
        }
    }

    /// Returns unused grants of this instance to the store, and removes accounts without recent requests. The
    /// maintenance thread calls this about once a second.
    pub fn sweep(&self, now: Timestamp) {
        match &self.counts {
            Counts::Own(windows) => windows.sweep(now),
            Counts::Shared(shared) => shared.sweep(),
        }
    }
}
