//! Policies, their limits, and the state of an account under them.

use crate::base::storage::StorageError;
use crate::model::quota::Policy;

/// The window of all limits in seconds.
pub const WINDOW_SECS: i64 = 60;

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
    /// Returns the limit of a policy.
    pub fn of(&self, policy: Policy) -> u32 {
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
    /// The time until the oldest counted request leaves the window, in whole seconds, at least 1.
    pub reset_secs: u64,
}

/// The reasons why a request was not counted.
#[derive(Debug)]
pub enum RateLimitError {
    /// The limit of this policy is reached. Its `reset_secs` is the time to wait.
    UsedUp(RateLimitState),
    /// The account was deleted just before.
    UnknownAccount,
    /// The store has failed, in which all instances count.
    Storage(StorageError),
}
