//! [`Activity`]: counters and gauges for operators.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::dispatcher::Dispatcher;
use super::figures::Figures;
use super::health::HealthTable;

/// The load of this process, and the totals since its start.
pub struct Activity {
    dispatcher: Arc<Dispatcher>,
}

impl Activity {
    pub(super) fn new(dispatcher: Arc<Dispatcher>) -> Self {
        Self { dispatcher }
    }

    /// Returns the number of runs that this process drives, and the last known number of runs of all instances that
    /// wait for a driver.
    pub fn runs(&self) -> (usize, usize) {
        let driving = self.dispatcher.context.driving.load(Ordering::Relaxed);
        (driving, self.dispatcher.queue.waiting())
    }

    /// Returns the number of checks that wait for a worker.
    pub fn checks_waiting(&self) -> usize {
        self.dispatcher.context.pool.waiting()
    }

    /// Returns the number of busy check workers, and the number of all check workers.
    pub fn workers(&self) -> (usize, usize) {
        (self.dispatcher.context.pool.busy(), self.dispatcher.context.pool.workers())
    }

    /// Returns the number of checks that run in browsers, and the maximum number.
    pub fn browsers(&self) -> (usize, usize) {
        self.dispatcher.context.browsing.load()
    }

    /// Returns the totals since the start of the process.
    pub fn figures(&self) -> &Figures {
        &self.dispatcher.context.figures
    }

    /// Returns the health of the modules, as measured by real runs.
    pub fn module_health(&self) -> &HealthTable {
        &self.dispatcher.context.health
    }
}
