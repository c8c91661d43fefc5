//! [`WatchStart`]: the watch that starts a run.

use jiff::Timestamp;

use crate::base::ids::WatchId;

/// The watch that starts a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchStart {
    /// The watch.
    pub watch: WatchId,
    /// The moment at which the run is due. The run is started only if that is still the next one and has passed by the
    /// database's clock. `None` starts a run on request of the owner, and leaves the next moment as it is.
    pub due_at: Option<Timestamp>,
}
