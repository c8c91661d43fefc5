//! [`Runs`]: the runs of a process, as other layers use them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use uuid::Uuid;

use super::batches::feeder::Feeder;
use super::browsing::Browsing;
pub use super::context::ChargeOf;
use super::context::{Limits, RunContext};
use super::dispatcher::Dispatcher;
use super::drivers::Drivers;
use super::family::service::FamilyService;
use super::figures::Figures;
use super::health::HealthTable;
use super::lifecycle::Lifecycle;
use super::maintenance::Maintenance;
pub use super::maintenance::idempotency_valid_since;
use super::notes::notebook::Notebook;
use super::queue::Queue;
pub use super::reader::{Found, Reader};
pub use super::registry::OnRun;
use super::registry::Registry;
use super::scheduler::Scheduler;
pub use super::selector::{ModuleCounts, Selector};
use super::shared_answers::SharedAnswers;
pub use super::start_request::{StartError, StartRequest, StartResult};
pub use super::starter::Starter;
pub use super::stopper::Stopper;
use super::suppression::Suppressed;
use crate::base::clock::Clock;
use crate::base::current::Current;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::drive::InstanceId;
use crate::model::drive::{Notification, Subscriber};
use crate::modules::catalog::Catalog;
use crate::modules::checker::Checker;
use crate::modules::probe::Browsers;
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
    /// A function that is called for each run that is deleted, through this process or another one.
    pub on_deletion: OnRun,
    /// A function that is called for each run whose notes are changed, through this process or another one.
    pub on_annotation: OnRun,
    /// The charges of searches that leads and batches start. Their cost is that of a standard search.
    pub charge_of: ChargeOf,
    /// The batches of searches, if this process continues them.
    pub batches: Option<Arc<Store>>,
}

impl Default for RunHooks {
    /// Returns hooks that do nothing. Leads then start no search.
    fn default() -> Self {
        let (on_deletion, on_annotation): (OnRun, OnRun) = (Box::new(|_| {}), Box::new(|_| {}));
        Self { on_deletion, on_annotation, charge_of: Box::new(|_| Ok(None)), batches: None }
    }
}

/// The runs of a process. There is one value for each process, which all layers share.
pub struct Runs {
    /// The selector, which selects the modules of searches and knows the suppressed queries.
    pub selector: Arc<Selector>,
    /// The starter, which starts searches.
    pub starter: Starter,
    /// The component that stops searches before their end.
    pub stopper: Stopper,
    /// The reader, which finds, lists and follows runs.
    pub reader: Reader,
    /// The component that changes what is noted about runs and their results.
    pub notebook: Notebook,
    /// The component that reads families, and follows leads on request.
    pub families: FamilyService,
    /// The periodic tasks and the shutdown.
    pub maintenance: Maintenance,
    dispatcher: Arc<Dispatcher>,
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
        let RunHooks { on_deletion, on_annotation, charge_of, batches } = hooks;
        let Limits { check_timeout, host_retry, quarantine_retry, .. } = config.limits;
        let shared = Some((Arc::clone(&store), config.simulated));
        let health =
            HealthTable::new(Arc::clone(&clock), check_timeout, host_retry, quarantine_retry, shared);
        let health = Arc::new(health);
        let lifecycle = Arc::new(Lifecycle::default());
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
            lifecycle: Arc::clone(&lifecycle),
            simulated: config.simulated,
            driving: AtomicUsize::new(0),
        });
        let sharing = Arc::clone(&context);
        let on_deletion: OnRun = Box::new(move |run| {
            sharing.scheduler.answers().forget(run);
            on_deletion(run);
        });
        let registry =
            Arc::new(Registry::new(Arc::clone(&lifecycle), config.keep_ended, on_deletion, on_annotation));
        let dispatcher = Arc::new(Dispatcher {
            context: Arc::clone(&context),
            registry,
            drivers: Drivers::new(Arc::clone(&lifecycle), config.max_runs),
            queue: Queue::default(),
        });
        let selector = Arc::new(Selector::new(Arc::clone(&context)));
        let starter = || {
            let (dispatcher, selector) = (Arc::clone(&dispatcher), Arc::clone(&selector));
            Starter::new(dispatcher, selector, config.max_waiting)
        };
        let feeder =
            batches.map(|batches| Feeder::new(starter(), Arc::clone(&dispatcher), batches, config.max_runs));
        Arc::new(Self {
            starter: starter(),
            selector,
            stopper: Stopper::new(Arc::clone(&dispatcher)),
            notebook: Notebook::new(Arc::clone(&dispatcher)),
            reader: Reader::new(Arc::clone(&context), Arc::clone(&dispatcher.registry)),
            families: FamilyService::new(context),
            maintenance: Maintenance::new(Arc::clone(&dispatcher), lifecycle, feeder),
            dispatcher,
        })
    }

    /// Deletes a run and all runs that its leads and theirs have started. Returns `false` like [`Self::delete`].
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn delete_family(&self, root: RunId, account: AccountId, by: &Origin) -> Result<bool, StorageError> {
        let context = self.context();
        let deleted = context.store.delete_family(root, account, context.clock.now(), by)?;
        deleted.iter().for_each(|run| self.dispatcher.registry.note_deleted(*run));
        Ok(!deleted.is_empty())
    }

    /// Deletes a run. Stops it first if it is running. Returns `false` if the run is unknown, already deleted or of
    /// another account.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn delete(&self, id: RunId, account: AccountId, by: &Origin) -> Result<bool, StorageError> {
        let known = self.context().store.delete(id, account, self.context().clock.now(), by)?;
        if known {
            self.dispatcher.registry.note_deleted(id);
        }
        Ok(known)
    }

    /// Returns the number of runs that this process drives, and the last known number of runs of all instances that
    /// wait for a driver.
    pub fn load(&self) -> (usize, usize) {
        (self.context().driving.load(Ordering::Relaxed), self.dispatcher.queue.waiting())
    }

    /// Returns the checks of all runs, and their workers.
    pub fn scheduler(&self) -> &Scheduler {
        &self.context().scheduler
    }

    /// Returns the browsers, which run checks and print pages.
    pub fn browsing(&self) -> &Browsing {
        &self.context().browsing
    }

    /// Returns the totals since the start of the process.
    pub fn figures(&self) -> &Figures {
        &self.context().figures
    }

    /// Returns the health of the modules, as measured by real runs.
    pub fn module_health(&self) -> &HealthTable {
        &self.context().health
    }

    fn context(&self) -> &RunContext {
        &self.dispatcher.context
    }
}

impl Subscriber for Runs {
    fn notify(&self, notification: Notification) {
        self.dispatcher.registry.notify(notification);
    }
}
