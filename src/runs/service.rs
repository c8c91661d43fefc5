//! [`Runs`]: the runs of a process, as other layers use them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use log::{log, warn};
use parking_lot::Mutex;
use uuid::Uuid;

use super::browsing::Browsing;
pub use super::context::ChargeOf;
use super::context::{Limits, RunContext};
use super::drivers::Drivers;
use super::family::FamilyService;
use super::family::advance::{advance, advance_idle};
use super::figures::Figures;
use super::health::HealthTable;
pub use super::reader::{Found, Reader};
use super::registry::Registry;
use super::scheduler::Scheduler;
use super::shared_answers::SharedAnswers;
use super::suppression::Suppressed;
use crate::base::clock::Clock;
use crate::base::current::Current;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::credits::Charge;
use crate::model::drive::{InstanceId, Notification, Subscriber};
use crate::model::notes::{Annotation, AnnotationUpdate, RunNotes, RunNotesUpdate};
use crate::model::search::Search;
use crate::model::start::{Cause, Idempotency, Refused};
use crate::modules::catalog::{Catalog, ChoiceError};
use crate::modules::checker::Checker;
use crate::modules::probe::Browsers;
use crate::modules::query::{QueryError, SearchType};
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

/// The runs of a process. There is one value for each process, which all layers share.
///
/// | file | what it does |
/// |---|---|
/// | here | stops runs, deletes them, notes something about them; the periodic tasks, and the shutdown |
/// | `starter` | starts searches, or queues them; chooses modules, and knows the queries that are never searched |
/// | `dispatcher` | takes runs from the queue and gives each a driver |
/// | `batches` | starts the rows of batches |
pub struct Runs {
    /// The reader, which finds, lists and follows runs.
    pub reader: Reader,
    /// The component that reads families, and follows leads on request.
    pub families: FamilyService,
    pub(super) context: Arc<RunContext>,
    pub(super) registry: Arc<Registry>,
    /// The times at which the periodic tasks are due that start runs, share what was learned, and remove keys.
    due: Mutex<[Instant; 3]>,
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
            due: Mutex::new([Instant::now(); 3]),
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

/// A search to be started.
#[derive(Debug, Clone)]
pub struct StartRequest {
    /// The account that is charged.
    pub account: AccountId,
    /// What is searched for.
    pub search: Search,
    /// What starts it.
    pub cause: Cause,
    /// The cost of the search.
    pub charge: Charge,
    /// The caller's `Idempotency-Key`, if there is one.
    pub idempotency: Option<Idempotency>,
    /// The origin of the request, for the audit.
    pub origin: Origin,
}

/// The result of a request.
pub enum StartResult {
    /// The search was charged. It is live in this process, or waits for a driver.
    Started(Found),
    /// The idempotency key was used before with the same body. Nothing was charged. Contains the run of that request.
    Repeated(RunId),
}

/// The reasons why a request is refused.
#[derive(Debug)]
pub enum StartError {
    /// The identifier is never searched: see [`Suppressed`](super::suppression::Suppressed). This is checked first.
    Suppressed,
    /// The query is not valid for this version.
    Query(QueryError),
    /// The process shuts down.
    ShuttingDown,
    /// The choice of modules is not valid.
    Choice(ChoiceError),
    /// The search is a premium search, and no browser is available.
    NoBrowser,
    /// The store has refused it, or would refuse it because its queue is full. Nothing was charged.
    Refused(Refused),
    /// The store failed. Nothing is known to be charged.
    Storage(StorageError),
}

/// The maximum interval of searches for runs without a driver, besides the searches of free drivers. The interval is
/// a tenth of the length of a lease if that is shorter.
const DISPATCH_EVERY: Duration = Duration::from_secs(5);
/// The interval at which old idempotency keys are removed.
const EXPIRE_KEYS_EVERY: Duration = Duration::from_secs(60 * 60);
/// The time after which what is still unconfirmed is undone. A database server that was suspended may commit an earlier
/// transaction after it answers again; by then idle transactions (30 s), locks and statements have timed out.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(60);
/// The interval at which what was learned is stored, and what others have learned is read.
const SHARE_HEALTH_EVERY: Duration = Duration::from_secs(5);

fn is_due(moment: &mut Instant, every: Duration) -> bool {
    let due = Instant::now() >= *moment;
    if due {
        *moment = Instant::now() + every;
    }
    due
}

impl Runs {
    /// Waits until the shutdown begins, a task becomes due early, or the given moment is reached. Returns whether the
    /// shutdown has begun.
    pub fn wait(&self, until: Instant) -> bool {
        self.context.drivers.wait(until)
    }

    /// Makes the periodic tasks that start runs due now, because there may be some to start.
    pub fn wake(&self) {
        self.context.drivers.wake_maintenance();
    }

    /// Removes cached answers that no later check will use. The maintenance thread calls this every few seconds.
    pub fn sweep_caches(&self) {
        self.context.checker.evict_expired();
        self.context.scheduler.answers().sweep(Instant::now());
    }

    /// Executes the periodic tasks that are due. The maintenance thread calls this about once a second.
    pub fn run_due_tasks(self: &Arc<Self>) {
        self.registry.sweep();
        self.context.scheduler.sweep(Instant::now());
        // The lock is held to the end. A shutdown, which releases the leases, waits for it, so no run is taken over
        // afterwards.
        let [dispatch, share_health, expire_keys] = &mut *self.due.lock();
        if self.context.drivers.is_shutting_down() {
            return;
        }
        if self.context.drivers.take_wake_up() {
            *dispatch = Instant::now();
        }
        if is_due(dispatch, DISPATCH_EVERY.min(self.context.limits.lease / 10)) {
            advance_idle(&self.context);
            self.dispatch();
            self.feed_batches();
        }
        if is_due(share_health, SHARE_HEALTH_EVERY) {
            self.context.health.share();
            self.undo_unconfirmed();
        }
        if is_due(expire_keys, EXPIRE_KEYS_EVERY) {
            self.expire_idempotency_keys();
        }
    }

    fn expire_idempotency_keys(&self) {
        let before = Idempotency::valid_since(self.context.clock.now());
        if let Err(error) = self.context.store.forget_idempotency(before) {
            log!(error.log_level(), "cannot remove expired idempotency keys: {error}");
        }
    }

    fn undo_unconfirmed(&self) {
        if let Err(error) = self.context.store.undo_unconfirmed(CONFIRMED_WITHIN) {
            log!(error.log_level(), "cannot undo what was not confirmed: {error}");
        }
    }

    /// Saves and stops all runs and releases them, so that this or another instance can resume them at once.
    /// Stores what was learned, and wakes readers and waiting threads. Waits until the given moment at most.
    pub fn shut_down(&self, until: Instant) {
        self.context.drivers.shut_down();
        self.registry.stop_all();
        if !self.context.drivers.wait_for_all(until) {
            warn!("some runs did not stop in time");
        }
        let _due = self.due.lock();
        self.release_leases();
        self.context.health.share();
    }
}

impl Runs {
    /// Deletes a run and all runs that its leads and theirs have started. Returns `false` like [`Self::delete`].
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn delete_family(&self, root: RunId, account: AccountId, by: &Origin) -> Result<bool, StorageError> {
        let context = &self.context;
        let deleted = context.store.delete_family(root, account, by)?;
        deleted.iter().for_each(|run| self.registry.note_deleted(*run));
        Ok(!deleted.is_empty())
    }

    /// Deletes a run. Stops it first if it is running. Returns `false` if the run is unknown, already deleted or of
    /// another account.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn delete(&self, id: RunId, account: AccountId, by: &Origin) -> Result<bool, StorageError> {
        let known = self.context.store.delete(id, account, by)?;
        if known {
            self.registry.note_deleted(id);
        }
        Ok(known)
    }

    /// Stops a run, and the runs below it if it is the root of a family. A run that is driven ends a moment later, by
    /// whichever instance drives it. A run that waits ends at once. Does nothing to runs that have ended. Returns `false`
    /// if the run is unknown, deleted or of another account.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn stop(&self, id: RunId, account: AccountId, by: &Origin) -> Result<bool, StorageError> {
        let context = &self.context;
        let Some(stopped) = context.store.stop(id, account, context.clock.now(), by)? else {
            return Ok(false);
        };
        for run in stopped {
            match self.registry.live(run.id) {
                Some(live) => live.end_early(run.at),
                None if run.waits => self.end_waiting(run.id)?,
                // The driver is on another instance, which was notified.
                None => {}
            }
        }
        // The following of leads ends if no run of the family is running.
        advance(context, id, account, None);
        Ok(true)
    }

    /// Changes the tags or the note of a run. Returns its notes, or `None` if the run is unknown, deleted or of another
    /// account.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn note_run(
        &self,
        run: RunId,
        account: AccountId,
        update: &RunNotesUpdate,
        by: &Origin,
    ) -> Result<Option<RunNotes>, StorageError> {
        let context = &self.context;
        let noted = context.store.note_run(run, account, update, by)?;
        self.registry.note_annotated(run);
        Ok(noted)
    }

    /// Changes the annotation of a stored result. Returns the annotation, or `None` if the result is unknown or the run
    /// is deleted or of another account.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn annotate(
        &self,
        run: RunId,
        result: u32,
        account: AccountId,
        update: &AnnotationUpdate,
        by: &Origin,
    ) -> Result<Option<Annotation>, StorageError> {
        let context = &self.context;
        let noted = context.store.annotate(run, result, account, update, by)?;
        self.registry.note_annotated(run);
        Ok(noted)
    }
}
