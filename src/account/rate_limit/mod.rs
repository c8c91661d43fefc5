//! Rate limits: how many requests of a kind an account may make in any 60 seconds.
//!
//! Counted per account, so that more keys give no more quota, and over all instances: no limit is ever passed
//! in any 60 seconds, however the requests are spread.
//!
//! | file | holds |
//! |---|---|
//! | `window` | counts of one process, on a store that serves one |
//! | `shared` | counts of several, in their store |
//! | [`quota`] | what that asks of storage |

pub mod quota;
mod shared;
mod window;

use std::sync::Arc;

use jiff::Timestamp;

use super::ledger::Ledger;
use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use shared::Shared;
use window::Windows;

/// The window that all limits count in.
pub const WINDOW_SECS: i64 = 60;

/// What is counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// `POST /v1/searches`.
    Search,
    /// Streams, started or attached.
    Stream,
    /// Everything else that needs a key.
    Read,
}

impl Policy {
    /// The name in the `RateLimit` headers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Stream => "stream",
            Self::Read => "read",
        }
    }
}

/// Requests a minute, by policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "one limit for each policy, named after it")]
pub struct RateLimits {
    pub search: u32,
    pub stream: u32,
    pub read: u32,
}

impl Default for RateLimits {
    /// The contract's figures (section 8).
    fn default() -> Self {
        Self { search: 30, stream: 60, read: 120 }
    }
}

impl RateLimits {
    /// The limit of one policy.
    pub fn of(&self, policy: Policy) -> u32 {
        match policy {
            Policy::Search => self.search,
            Policy::Stream => self.stream,
            Policy::Read => self.read,
        }
    }
}

/// Where an account stands with one policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Which policy.
    pub policy: Policy,
    /// Requests a minute.
    pub limit: u32,
    /// How many more may come now.
    pub remaining: u32,
    /// Whole seconds, at least 1, until the oldest counted request no longer counts.
    pub reset_secs: u64,
}

/// Why a request was not counted.
#[derive(Debug)]
pub enum Uncounted {
    /// This policy is used up; its `reset_secs` is the time to wait.
    UsedUp(Standing),
    /// The account was deleted a moment ago.
    UnknownAccount,
    /// The store that all instances count in failed.
    Storage(StorageError),
}

/// Counts requests.
pub struct RateLimiter {
    limits: RateLimits,
    counts: Counts,
}

enum Counts {
    Own(Windows),
    Shared(Shared),
}

impl RateLimiter {
    /// Counts in this process, or in `ledger` where it serves several.
    pub fn new(limits: RateLimits, ledger: Arc<dyn Ledger>) -> Self {
        let counts = match ledger.quota().is_some() {
            true => Counts::Shared(Shared::new(ledger)),
            false => Counts::Own(Windows::default()),
        };
        Self { limits, counts }
    }

    /// The limits in force.
    pub fn limits(&self) -> &RateLimits {
        &self.limits
    }

    /// Counts one request under each of `policies`, or under none if one of them is used up.
    ///
    /// # Errors
    /// [`Uncounted`].
    pub fn count(
        &self,
        account: AccountId,
        policies: &[Policy],
        now: Timestamp,
    ) -> Result<Vec<Standing>, Uncounted> {
        match &self.counts {
            Counts::Own(windows) => {
                windows.count(&self.limits, account, policies, now).map_err(Uncounted::UsedUp)
            }
            Counts::Shared(shared) => shared.count(&self.limits, account, policies),
        }
    }

    /// Gives back what was granted to this instance and not used, and frees the memory of accounts that made
    /// no request lately. The housekeeper calls it about once a second.
    pub fn sweep(&self, now: Timestamp) {
        match &self.counts {
            Counts::Own(windows) => windows.sweep(now),
            Counts::Shared(shared) => shared.sweep(),
        }
    }
}
