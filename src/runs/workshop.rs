//! What all drivers share: storage, the checker, the worker pool, places at hosts, deadlines.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::browsing::Browsing;
use super::courtesy::Courtesy;
use super::figures::Figures;
use super::health::HealthTable;
use super::journal::{InstanceId, Journal};
use super::pool::CheckPool;
use crate::base::clock::Clock;
use crate::modules::check::Checker;

/// The fewest checks that a run may have under way, however many runs there are.
const LEAST_WINDOW: usize = 8;

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// One check, all its probes and retries; its control check has at least
    /// [`CONTROL_TIME`](crate::modules::terms::CONTROL_TIME), inside the run's time. A check in a browser has as much, counted from when a worker
    /// of theirs takes it up.
    pub check_timeout: Duration,
    /// A whole run; what has not been asked by then is `timeout`.
    pub run_timeout: Duration,
    /// How long a lease holds without a renewal.
    pub lease: Duration,
    /// How long a run with nothing left to ask waits for a store that does not answer, before it fails.
    pub store_patience: Duration,
}

/// What all drivers share. One for a process.
pub struct Workshop {
    /// Storage.
    pub journal: Arc<dyn Journal>,
    /// Runs checks.
    pub checker: Arc<Checker>,
    /// Check workers.
    pub pool: CheckPool,
    /// Checks in browsers, and their workers.
    pub browsing: Browsing,
    /// Places at hosts.
    pub courtesy: Courtesy,
    /// What is known of each module.
    pub health: Arc<HealthTable>,
    /// What was done, counted.
    pub figures: Figures,
    /// Time of day.
    pub clock: Arc<dyn Clock>,
    /// This process.
    pub instance: InstanceId,
    /// Deadlines.
    pub limits: Limits,
    /// Whether the simulated web is asked. There some names are limited on every site: a pause for a host
    /// would carry over to all other names.
    pub simulated: bool,
    /// Runs that are driven now.
    pub driving: AtomicUsize,
}

impl Workshop {
    /// How many checks a run may have under way: its fair share of the pool.
    pub fn window(&self) -> usize {
        (self.pool.workers() / self.driving.load(Ordering::Relaxed).max(1)).max(LEAST_WINDOW)
    }
}
