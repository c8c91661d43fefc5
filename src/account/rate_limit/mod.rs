//! Rate limits: the number of requests of a kind that an account may make in any 60 seconds.
//!
//! Requests are counted per account and over all instances, so more keys give no more quota. No limit is exceeded in
//! any 60 seconds, for any distribution of the requests.
//!
//! | file | holds |
//! |---|---|
//! | `policy` | the policies, their limits, and the state of an account under one |
//! | `limiter` | the rate limiter |
//! | `window` | counts in one process, for a store that serves one |
//! | `shared` | counts over several instances, in their store |

mod limiter;
mod policy;
mod shared;
mod window;

pub use limiter::RateLimiter;
pub use policy::{RateLimitError, RateLimitState, RateLimits, WINDOW_SECS};
