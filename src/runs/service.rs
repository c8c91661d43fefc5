//! [`Runs`]: the runs of a process, as other layers use them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock};
use uuid::Uuid;

use super::figures::Figures;
use super::health::HealthTable;
use super::live::{LiveRun, Read};
use super::scheduler::{Group, Scheduler};
use super::shared_answers::SharedAnswers;
use super::suppression::Suppressed;
use super::waiting::Changes;
use crate::base::cache::{Bounds, Cache};
use crate::base::clock::Clock;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::credits::Charge;
use crate::model::drive::{InstanceId, Position};
use crate::model::run::RunSummary;
use crate::modules::catalog::Catalog;
use crate::modules::checker::Checker;
use crate::modules::outcome::Pause;
use crate::modules::probe::{Browsers, ProbeError};
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
    /// Whether sign-in-page checks are used.
    pub discovery: bool,
    /// Whether the checker queries the simulated web. A process never resumes runs of the other web.
    pub simulated: bool,
}

/// A function that returns the charge for a search of an account that a lead or a batch starts now, and whether its plan
/// includes premium searches; or `None` if the account does not exist: then none is started. The cost is that of a standard
/// search.
pub type ChargeOf = Box<dyn Fn(AccountId) -> Result<Option<(Charge, bool)>, StorageError> + Send + Sync>;

/// The number of modules that a search uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleCounts {
    /// The number of modules in a standard search of each type.
    pub standard: BTreeMap<SearchType, usize>,
    /// The number of additional modules in a premium search for a username.
    pub premium: usize,
    /// The number of additional modules in a search for a username that asks for engines.
    pub engines: usize,
}

/// The time limit for printing a page, with the wait for a free browser.
const PRINTING: Duration = Duration::from_secs(60);
/// The bounds of the shared reads: their number, and the bytes of their frames.
const READS: Bounds = Bounds { entries: 1000, weight: 8 * 1024 * 1024 };

/// The time after an outage of the store in which no run with an expired lease is taken over. Leases expire during
/// the outage, and their drivers, which try every second or two, have this time to renew them.
const RENEWAL_TIME: Duration = Duration::from_secs(10);

/// What the parts share that start or end runs.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) is_shutting_down: bool,
    /// Whether the maintenance thread was woken.
    pub(super) is_woken: bool,
    /// The number of drivers.
    pub(super) taken: usize,
    /// Whether a run may wait that no driver was free for.
    pub(super) is_missed: bool,
    /// The last known number of waiting runs of all instances.
    pub(super) waiting: usize,
    /// Whether the last read of the store failed.
    pub(super) is_store_away: bool,
    /// The moment from which on drivers of expired leases count as gone.
    not_before: Option<Instant>,
    /// Whether the next claim looks for runs with an expired lease. One claim does after each periodic search, since it reads
    /// all runs that have a driver.
    pub(super) looks_for_expired: bool,
}

impl Queue {
    /// Records that the store answers.
    pub(super) fn store_answers(&mut self, now: Instant) {
        if std::mem::take(&mut self.is_store_away) {
            self.not_before = Some(now + RENEWAL_TIME);
        }
    }

    /// Returns whether a claim that begins now looks for runs with an expired lease. Further claims do not. It does not
    /// unless the store has answered for long enough that their drivers count as gone.
    pub(super) fn take_look(&mut self, now: Instant) -> bool {
        let is_time = !self.is_store_away && self.not_before.is_none_or(|at| now >= at);
        std::mem::take(&mut self.looks_for_expired) && is_time
    }
}

/// The group of the screenshots in the scheduler, if there is one, and the runs and results that wait for theirs.
type Screenshots = (Weak<Group>, HashSet<(RunId, u32)>);

/// The runs of a process, and all that they share. There is one value for each process.
///
/// | file | what it does |
/// |---|---|
/// | `starter` | starts searches, or queues them; chooses modules, and knows the queries that are never searched |
/// | `dispatcher` | takes runs from the queue and gives each a driver; stops them; the shutdown |
/// | `driver` | drives a run |
/// | `registry` | keeps the runs that this process drives, and wakes the readers of all |
/// | `reader` | finds, lists and follows runs |
/// | `family` | reads families, and follows leads on request |
/// | `batches` | starts the rows of batches |
pub struct Runs {
    /// The checks of all runs, and their workers.
    pub scheduler: Arc<Scheduler>,
    /// The browsers, which run checks and print pages.
    pub browsers: Arc<dyn Browsers>,
    /// The health of the modules, as measured by real runs.
    pub health: Arc<HealthTable>,
    /// The totals since the start of the process.
    pub figures: Figures,
    pub(super) store: Arc<Store>,
    pub(super) checker: Arc<Checker>,
    /// The catalogue of new runs and look-ups. A run keeps the modules with which it began on this process.
    pub(super) catalog: RwLock<Arc<Catalog>>,
    /// The identifiers that are never searched.
    pub(super) suppression: RwLock<Arc<Suppressed>>,
    pub(super) clock: Arc<dyn Clock>,
    /// The identity of this process.
    pub(super) instance: InstanceId,
    pub(super) config: RunsConfig,
    pub(super) charge_of: ChargeOf,
    /// The number of drivers, the queue of runs that wait for one, and the shutdown of the process.
    pub(super) queue: Mutex<Queue>,
    /// Notified when the maintenance thread is woken, a driver becomes free, or the shutdown begins.
    pub(super) queue_changed: Condvar,
    /// Locked while runs of batches, and those of their leads, are started, so that they are not more than their share.
    pub(super) feeding: Mutex<()>,
    /// The runs that this process holds in memory.
    pub(super) live: RwLock<HashMap<RunId, Arc<LiveRun>>>,
    /// What readers wait for, of the runs that are live or have readers here.
    pub(super) changes: Mutex<HashMap<RunId, Weak<Changes>>>,
    /// The results that wait for a screenshot.
    pub(super) screenshots: Mutex<Screenshots>,
    /// The reads of the store of the last second. Readers at the same position of a run that have seen the same change share
    /// one. A slow read holds up nobody else.
    pub(super) reads: Cache<(RunId, Position, u32, u64), Read>,
}

impl Runs {
    /// Prepares the check workers, and reads the health of modules from the store.
    pub fn new(
        store: Arc<Store>,
        catalog: Arc<Catalog>,
        checker: Arc<Checker>,
        browsers: Arc<dyn Browsers>,
        clock: Arc<dyn Clock>,
        config: RunsConfig,
        charge_of: ChargeOf,
    ) -> Arc<Self> {
        let RunsConfig { check_timeout, host_retry, quarantine_retry, .. } = config;
        let shared = Some((Arc::clone(&store), config.simulated));
        let health =
            HealthTable::new(Arc::clone(&clock), check_timeout, host_retry, quarantine_retry, shared);
        let health = Arc::new(health);
        health.share();
        let runs = Arc::new(Self {
            scheduler: Scheduler::new(
                config.check_workers,
                browsers.sessions(),
                config.host_concurrency,
                Arc::clone(&health),
                SharedAnswers::new(config.share_answers),
            ),
            browsers,
            health,
            figures: Figures::default(),
            store,
            checker,
            catalog: RwLock::new(catalog),
            suppression: RwLock::default(),
            clock,
            instance: InstanceId(Uuid::new_v4()),
            config,
            charge_of,
            queue: Mutex::default(),
            queue_changed: Condvar::new(),
            feeding: Mutex::default(),
            live: RwLock::default(),
            changes: Mutex::default(),
            screenshots: Mutex::default(),
            reads: Cache::new(READS),
        });
        runs.start_polling();
        runs
    }

    /// Pauses the hosts that asked for it, for all runs. In the simulated web some names are rate-limited on every site, so a
    /// pause for a host would affect all other names.
    pub(super) fn note_pauses(&self, pauses: &[Pause]) {
        if !self.config.simulated {
            self.scheduler.pause(pauses);
        }
    }

    /// Prints an HTML page that loads nothing as a PDF. Takes seconds, up to a minute.
    ///
    /// # Errors
    /// Returns an error if no browser is available, or if it does not print the page in time.
    pub fn print(&self, page: &str) -> Result<Vec<u8>, ProbeError> {
        self.browsers.print(page, Instant::now() + PRINTING)
    }
}

/// The result of a request.
pub enum StartResult {
    /// The search was charged. It is live in this process, or waits for a driver.
    Started(Box<RunSummary>),
    /// The idempotency key was used before with the same body. Nothing was charged. Contains the run of that request.
    Repeated(RunId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_renew_leases_begins_when_the_store_is_available_again() {
        let mut queue = Queue::default();
        let are_lost = |queue: &mut Queue, at| {
            queue.looks_for_expired = true;
            queue.take_look(at)
        };
        let start = Instant::now();
        assert!(are_lost(&mut queue, start) && !queue.take_look(start), "one claim looks for them");
        queue.is_store_away = true;
        assert!(!are_lost(&mut queue, start), "the store has not answered again");
        // The store was unavailable for much longer than that time.
        let back = start + 10 * RENEWAL_TIME;
        queue.store_answers(back);
        assert!(!are_lost(&mut queue, back));
        queue.store_answers(back + RENEWAL_TIME / 2);
        assert!(!are_lost(&mut queue, back + RENEWAL_TIME / 2));
        assert!(are_lost(&mut queue, back + RENEWAL_TIME));
        // The store becomes unavailable again.
        queue.is_store_away = true;
        queue.store_answers(back + 2 * RENEWAL_TIME);
        assert!(!are_lost(&mut queue, back + 2 * RENEWAL_TIME));
        assert!(are_lost(&mut queue, back + 3 * RENEWAL_TIME));
    }
}
