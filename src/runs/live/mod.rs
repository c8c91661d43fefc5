//! Runs in memory: the published state of each run, and the readers that wait for changes.
//!
//! A run has one lock, and groups of waiting readers. The driver publishes each write after it was stored, under the lock,
//! and wakes the groups. Readers copy shared frames and release the lock. All results are kept, each as a record and as a
//! frame. The ring keeps the last writes. A reader that has fallen behind the ring, and a new one, gets the results and one
//! progress frame that combines the writes that it has not read.
//!
//! | file | holds |
//! |---|---|
//! | `live_run` | the run |
//! | `state` | its published state, and what its readers have not read |
//! | `signals` | requests to the driver |
//! | `waiters` | waiting for changes |

mod live_run;
mod signals;
mod state;
#[cfg(test)]
mod tests;
mod waiters;

pub use live_run::LiveRun;
pub use signals::{Stopped, Waker};
pub use state::{PublishedResult, PublishedState, RING_WRITES, Step};
