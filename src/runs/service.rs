//! [`Runs`]: the runs of a process, as other layers use them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use uuid::Uuid;

use super::browsing::Browsing;
pub use super::context::ChargeOf;
use super::context::{Limits, RunContext};
use super::drivers::Drivers;
use super::family::FamilyService;
use super::figures::Figures;
use super::health::HealthTable;
pub use super::reader::{Found, Reader};
use super::registry::Registry;
use super::scheduler::Scheduler;
use super::shared_answers::SharedAnswers;
pub use super::start_request::{StartError, StartRequest, StartResult};
use super::suppression::Suppressed;
use crate::base::clock::Clock;
use crate::base::current::Current;
use crate::model::drive::InstanceId;
use crate::model::drive::{Notification, Subscriber};
use crate::modules::catalog::Catalog;
use crate::modules::checker::Checker;
use crate::modules::probe::Browsers;
use crate::modules::query::SearchType;
use crate::store::Store;

/// The settings of all runs of a process.
#[derive(Debug, Clone, Copy)]
pub struct RunsConfig {
    /// The number of check workers, which all runs share.
    pub check_workers: usize,
    /// The maximum number of concurrent checks of one host, over all runs.
    pub host_concurrency: usize,
    /// The time for which an answer is shared with other runs of the account for the same query. If it is zero, no
    /// answer is shared.
    pub share_answers: Duration,
    /// The maximum number of runs that are driven at once.
    pub max_runs: usize,
    /// The maximum number of runs of all instances that may wait for a driver. Above it a search is refused, unless
    /// its account has no waiting run.
    pub max_waiting: usize,
    /// The deadlines of checks, runs and leases.
    pub limits: Limits,
    /// The time for which a run that has ended stays in memory for late readers.
    pub keep_ended: Duration,
    /// Whether sign-in-page checks are used.
    pub discovery: bool,
    /// Whether the checker queries the simulated web. A process never resumes runs of the other web.
    pub simulated: bool,
}

/// What runs need of other layers.
pub struct RunHooks {
    /// The charges of searches that leads and batches start. Their cost is that of a standard search.
    pub charge_of: ChargeOf,
    /// Whether this process continues batches of searches.
    pub continues_batches: bool,
}

impl Default for RunHooks {
    /// Returns hooks that do nothing. Leads then start no search.
    fn default() -> Self {
        Self { charge_of: Box::new(|_| Ok(None)), continues_batches: false }
    }
}

/// Of the drivers of a process, runs of batches take at most one of this number, but at least one. Few of them leave capacity
/// for single searches at the hosts that all searches ask.
const DRIVER_SHARE: usize = 16;
/// The number of modules that a search uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleCounts {
    /// The number of modules in a standard search of each type.
    pub standard: BTreeMap<SearchType, usize>,
    /// The number of additional modules in a premium search for a username.
    pub premium: usize,
}

/// The times at which the tasks are due.
pub(super) struct Schedule {
    pub(super) dispatch: Instant,
    pub(super) share_health: Instant,
    pub(super) expire_keys: Instant,
}

impl Schedule {
    /// Creates a schedule in which every task is due at once.
    fn new() -> Self {
        let now = Instant::now();
        Self { dispatch: now, share_health: now, expire_keys: now }
    }
}

/// The runs of a process. There is one value for each process, which all layers share.
///
/// | file | what it does |
/// |---|---|
/// | `starter` | starts searches, or queues them; chooses modules, and knows the queries that are never searched |
/// | `dispatcher` | takes runs from the queue and gives each a driver |
/// | `changes` | stops runs, deletes them, notes something about them |
/// | `batches/service` | starts the rows of batches |
/// | `maintenance` | the periodic tasks, and the shutdown |
pub struct Runs {
    /// The reader, which finds, lists and follows runs.
    pub reader: Reader,
    /// The component that reads families, and follows leads on request.
    pub families: FamilyService,
    pub(super) context: Arc<RunContext>,
    pub(super) registry: Arc<Registry>,
    pub(super) schedule: Mutex<Schedule>,
    /// The maximum number of waiting runs.
    pub(super) max_waiting: usize,
    /// The maximum number of runs of batches that this process drives at once, if it continues batches.
    pub(super) most_of_batches: Option<usize>,
}

impl Runs {
    /// Starts the check workers, and reads the health of modules from the store.
    pub fn new(
        store: Arc<Store>,
        catalog: Arc<Catalog>,
        checker: Arc<Checker>,
        browsers: Arc<dyn Browsers>,
        clock: Arc<dyn Clock>,
        config: RunsConfig,
        hooks: RunHooks,
    ) -> Arc<Self> {
        let RunHooks { charge_of, continues_batches } = hooks;
        let Limits { check_timeout, host_retry, quarantine_retry, .. } = config.limits;
        let shared = Some((Arc::clone(&store), config.simulated));
        let health =
            HealthTable::new(Arc::clone(&clock), check_timeout, host_retry, quarantine_retry, shared);
        let health = Arc::new(health);
        let context = Arc::new(RunContext {
            store,
            checker,
            scheduler: Scheduler::new(
                [config.check_workers, browsers.sessions()],
                config.host_concurrency,
                Arc::clone(&health),
                SharedAnswers::new(config.share_answers),
            ),
            browsing: Browsing::new(browsers),
            health,
            figures: Figures::default(),
            clock,
            instance: InstanceId(Uuid::new_v4()),
            limits: config.limits,
            catalog: Current::new(catalog),
            suppression: Current::<Suppressed>::default(),
            discovery: config.discovery,
            charge_of,
            drivers: Drivers::new(config.max_runs),
            simulated: config.simulated,
            driving: AtomicUsize::new(0),
        });
        let registry = Arc::new(Registry::new(Arc::clone(&context), config.keep_ended));
        context.health.share();
        Arc::new(Self {
            reader: Reader::new(Arc::clone(&registry)),
            families: FamilyService::new(Arc::clone(&context)),
            context,
            registry,
            schedule: Mutex::new(Schedule::new()),
            max_waiting: config.max_waiting,
            most_of_batches: continues_batches.then(|| (config.max_runs / DRIVER_SHARE).max(1)),
        })
    }

    /// Returns the number of runs that this process drives, and the last known number of runs of all instances that
    /// wait for a driver.
    pub fn load(&self) -> (usize, usize) {
        (self.context.driving.load(Ordering::Relaxed), self.context.drivers.waiting())
    }

    /// Returns the checks of all runs, and their workers.
    pub fn scheduler(&self) -> &Scheduler {
        &self.context.scheduler
    }

    /// Returns the browsers, which run checks and print pages.
    pub fn browsing(&self) -> &Browsing {
        &self.context.browsing
    }

    /// Returns the totals since the start of the process.
    pub fn figures(&self) -> &Figures {
        &self.context.figures
    }

    /// Returns the health of the modules, as measured by real runs.
    pub fn module_health(&self) -> &HealthTable {
        &self.context.health
    }
}

impl Subscriber for Runs {
    fn notify(&self, notification: Notification) {
        self.registry.notify(notification);
    }
}
