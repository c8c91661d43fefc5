//! Runs in memory: the published state of each run, and the readers that wait for changes.
//!
//! A run has one lock, and groups of waiting readers. The driver publishes under the lock and wakes the groups.
//! Readers copy shared frames and release the lock. All results are kept, each as a record and as a frame. The ring
//! keeps the last events in their order. A reader that has fallen behind the ring continues with the results and one
//! progress frame that combines the events that it missed.
//!
//! # Results that change
//! A result that gets another source or a picture is replaced at once, and new readers see it in this state. Readers
//! that already have the result get its changes later and together: the driver announces them about once a second, and
//! at the end of the run. Readers keep the newest state of each result. A source of a module of the search comes after
//! the progress frame of that module. A picture, and a source that a look-up found, come without a progress frame.
//!
//! | file | holds |
//! |---|---|
//! | `live_run` | the run |
//! | `published` | its published state, with a lock and waiting readers |
//! | `state` | the published state itself and the ring |
//! | `driven_time` | the time for which it has been driven |
//! | `signals` | requests to the driver |
//! | `following` | the accounts that it looks up, and the runs that its leads have started |
//! | `reading` | reading the next frames |
//! | `cursor` | positions of readers |
//! | `waiters` | waiting for changes |

mod cursor;
mod driven_time;
mod following;
mod live_run;
mod published;
mod reading;
mod signals;
mod state;
#[cfg(test)]
mod tests;
mod waiters;

pub use cursor::{Cursor, Place};
pub use live_run::LiveRun;
pub use published::PublishedState;
pub use reading::Next;
pub use signals::{Stopped, Waker};
pub use state::{PublishedResult, RING_EVENTS};
