//! A barrier that was found in a response.

use crate::modules::outcome::Outcome;
use crate::modules::reason::Reason;

/// The number of bytes at the start of a body that are searched for barriers.
pub(crate) const BARRIER_REACH: usize = 64 * 1024;

/// A barrier: a page that a site shows instead of the requested one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Barrier {
    /// The outcome of the check: `Blocked` or `RateLimited`.
    pub(crate) outcome: Outcome,
    /// The outcome's reason: `captcha`, `cloudflare_challenge`, `login_wall`, `rate_limit`, …
    pub(crate) name: Reason,
}

impl Barrier {
    pub(crate) const fn block(name: Reason) -> Self {
        Self { outcome: Outcome::Blocked, name }
    }

    pub(super) const fn limit(name: Reason) -> Self {
        Self { outcome: Outcome::RateLimited, name }
    }
}
