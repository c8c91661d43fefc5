//! [`RunContext`]: the parts that all drivers share.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use super::browsing::Browsing;
use super::drivers::Drivers;
use super::figures::Figures;
use super::health::HealthTable;
use super::scheduler::Scheduler;
use super::suppression::Suppressed;
use crate::base::clock::Clock;
use crate::base::current::Current;
use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::model::credits::Charge;
use crate::model::drive::InstanceId;
use crate::modules::catalog::Catalog;
use crate::modules::checker::Checker;
use crate::modules::outcome::Pause;
use crate::store::Store;

/// The deadlines of checks, runs and leases.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The deadline of one check with all its probes and retries. Its control check has at least
    /// [`CONTROL_TIME`](crate::modules::terms::CONTROL_TIME), within the deadline of the run. The time of a check in a
    /// browser begins when a worker takes it.
    pub check_timeout: Duration,
    /// The deadline of a run. Modules that have not been queried by then end as `timeout`.
    pub run_timeout: Duration,
    /// The time for which a lease is valid without a renewal.
    pub lease: Duration,
    /// The time for which a run with no checks left waits for an unavailable store before it fails.
    pub store_patience: Duration,
    /// The time after which a host that gives no answer is tried again for the first time.
    pub host_retry: Duration,
    /// The time after which a module in quarantine is tried again for the first time.
    pub quarantine_retry: Duration,
}

/// A function that returns the charge for a search of an account that starts now, or `None` if the account does not
/// exist.
pub type ChargeOf = Box<dyn Fn(AccountId) -> Result<Option<Charge>, StorageError> + Send + Sync>;

/// The parts that all drivers share. There is one value for each process.
pub struct RunContext {
    /// The storage of runs and results.
    pub store: Arc<Store>,
    /// The checker, which runs checks.
    pub checker: Arc<Checker>,
    /// The checks of all runs, and their workers.
    pub scheduler: Arc<Scheduler>,
    /// The browsers.
    pub browsing: Browsing,
    /// The health of all modules.
    pub health: Arc<HealthTable>,
    /// The counters for operators.
    pub figures: Figures,
    /// The catalogue of new runs and look-ups. A run keeps the modules with which it began on this process.
    pub catalog: Current<Catalog>,
    /// The identifiers that are never searched.
    pub suppression: Current<Suppressed>,
    /// Whether sign-in-page checks are used.
    pub discovery: bool,
    /// The charges of searches that leads start.
    pub charge_of: ChargeOf,
    /// The drivers, and the shutdown of the process.
    pub(super) drivers: Arc<Drivers>,
    /// The clock that gives the time of day.
    pub clock: Arc<dyn Clock>,
    /// The identity of this process.
    pub instance: InstanceId,
    /// The deadlines of checks, runs and leases.
    pub limits: Limits,
    /// Whether checks query the simulated web. In it some names are rate-limited on every site, so a pause for a host
    /// would affect all other names.
    pub simulated: bool,
    /// The number of runs that are currently driven.
    pub driving: AtomicUsize,
}

impl RunContext {
    /// Pauses the hosts that asked for it, for all runs.
    pub fn note_pauses(&self, pauses: &[Pause]) {
        if !self.simulated {
            self.scheduler.pause(pauses);
        }
    }
}
