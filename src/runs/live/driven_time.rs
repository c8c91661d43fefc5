//! [`DrivenTime`]: the time for which a run has been driven.

use std::time::{Duration, Instant};

/// The time for which a run has been driven, by this process or another. The pause in between does not count.
pub struct DrivenTime {
    /// The time at which the run was first driven by this process, and the time for which it had been driven before.
    began: Instant,
    before: Duration,
}

impl DrivenTime {
    /// Begins now, after the run had been driven for `before`.
    pub(super) fn after(before: Duration) -> Self {
        Self { began: Instant::now(), before }
    }

    /// Returns the time until now.
    pub(in crate::runs) fn so_far(&self) -> Duration {
        self.before + self.began.elapsed()
    }

    /// Returns the moment at which the run has been driven for `time`.
    pub(in crate::runs) fn reaches(&self, time: Duration) -> Instant {
        self.began + time.saturating_sub(self.before)
    }
}
