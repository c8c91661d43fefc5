//! Grants of requests to instances, which share a rate limit.

use std::time::Duration;

use crate::base::ids::AccountId;
use crate::base::words::words;

/// A request of an instance for a grant.
#[derive(Debug, Clone, Copy)]
pub struct GrantRequest {
    /// The account whose requests are counted.
    pub account: AccountId,
    /// The policy for which they are counted.
    pub policy: Policy,
    /// The maximum number of requests that may count at any time, over all instances.
    pub limit: u32,
    /// The number of wanted requests. If few are left, fewer are granted, so that other instances get some.
    pub wanted: u32,
    /// The time for which granted requests count.
    pub counts_for: Duration,
}

/// Requests that the store has granted to an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The time at which they were granted, in milliseconds since 1970, by the database's clock.
    pub moment: i64,
    /// The number of requests, at least 1.
    pub requests: u32,
}

/// The answer to a [`GrantRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantResponse {
    /// The grant, or `None` if the limit is reached.
    pub grant: Option<Grant>,
    /// The number of requests that count at this time, including the granted ones.
    pub used: u32,
    /// The time after which the oldest of them no longer count.
    pub frees_in: Duration,
}

words! {
    /// A kind of requests with its own limit. Its word is in the `RateLimit` headers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Policy {
        /// Requests to `POST /v1/searches`.
        Search = "search",
        /// Requests that start a stream or attach to one.
        Stream = "stream",
        /// All other requests that need a key.
        Read = "read",
    }
}
