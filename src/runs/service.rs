//! What can be done with runs: start, read, wait, follow, delete.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jiff::{Timestamp, ToSpan};
use parking_lot::{Condvar, Mutex, RwLock};
use uuid::Uuid;

use super::browsing::Browsing;
use super::courtesy::Courtesy;
use super::doubt::{Doubt, Doubts};
use super::earlier::Earlier;
use super::figures::Figures;
use super::follow::Follower;
use super::health::HealthTable;
use super::hearing::Attention;
use super::journal::{InstanceId, Journal, NewRun, Started};
use super::live::LiveRun;
use super::news::Board;
pub use super::order::{Order, OrderError, Receipt};
use super::pool::CheckPool;
use super::run::{ModuleReport, ResultRecord, RunSummary, Status};
use super::scheduler::{Job, Scheduler};
use super::suppression::Suppressed;
use super::upkeep::Agenda;
use super::workshop::{Limits, Workshop};
use crate::account::audit::Origin;
use crate::base::clock::Clock;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::modules::catalog::{Catalog, Choice, ChoiceError, Selection};
use crate::modules::check::Checker;
use crate::modules::module::Module;
use crate::modules::probe::Browsers;
use crate::modules::query::{Query, SearchType};

/// Results read from the store at once.
const PAGE: usize = 1000;

/// How runs are run.
#[derive(Debug, Clone, Copy)]
pub struct RunsConfig {
    /// Check workers, shared by all runs.
    pub check_workers: usize,
    /// Runs driven at once.
    pub max_runs: usize,
    /// Runs that may wait for a driver; beyond them a search is refused.
    pub max_waiting: usize,
    /// Deadlines.
    pub limits: Limits,
    /// How long a run that has ended stays in memory, for its last readers.
    pub keep_ended: Duration,
    /// Whether sign-in-page checks take part.
    pub discovery: bool,
    /// Whether the checker asks the simulated web. Runs of the other web are never gone on with.
    pub simulated: bool,
}

/// How many modules a search asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleCounts {
    /// In a standard search of each type.
    pub standard: BTreeMap<SearchType, usize>,
    /// More in a premium search for a username.
    pub premium: usize,
}

/// A run, wherever it is.
pub enum Found {
    /// Live here.
    Live(Arc<LiveRun>),
    /// In the store alone.
    Stored(Box<RunSummary>),
}

impl Found {
    /// `run_id`.
    pub fn id(&self) -> RunId {
        match self {
            Self::Live(run) => run.id(),
            Self::Stored(summary) => summary.id,
        }
    }

    /// Where it stands now, or stood when the store was asked.
    pub fn status(&self) -> Status {
        match self {
            Self::Live(run) => run.summary().status,
            Self::Stored(summary) => summary.status,
        }
    }
}

/// The use cases of this room. One for a process; shared.
pub struct Runs {
    pub(super) workshop: Arc<Workshop>,
    pub(super) scheduler: Arc<Scheduler>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) config: RunsConfig,
    pub(super) live: RwLock<HashMap<RunId, Arc<LiveRun>>>,
    pub(super) board: Board,
    pub(super) attention: Attention,
    pub(super) shutdown: Mutex<bool>,
    pub(super) duty: Condvar,
    /// Whether there is something to do before its time.
    pub(super) called: AtomicBool,
    pub(super) agenda: Mutex<Agenda>,
    suppressed: RwLock<Arc<Suppressed>>,
    pub(super) doubts: Doubts,
    forgetting: OnceLock<Forget>,
}

/// Forgets what else this process keeps of a run.
pub type Forget = Box<dyn Fn(RunId) + Send + Sync>;

impl Runs {
    /// Starts the check workers, and reads what checks taught before; no run yet.
    pub fn new(
        journal: Arc<dyn Journal>,
        catalog: Arc<Catalog>,
        checker: Arc<Checker>,
        browsers: Arc<dyn Browsers>,
        clock: Arc<dyn Clock>,
        config: RunsConfig,
    ) -> Arc<Self> {
        let workshop = Arc::new(Workshop {
            journal,
            checker,
            pool: CheckPool::new(config.check_workers),
            browsing: Browsing::new(browsers),
            courtesy: Courtesy::default(),
            health: Arc::new(HealthTable::default()),
            figures: Figures::default(),
            clock,
            instance: InstanceId(Uuid::new_v4()),
            limits: config.limits,
            simulated: config.simulated,
            driving: AtomicUsize::new(0),
        });
        let runs = Arc::new(Self {
            scheduler: Arc::new(Scheduler::new(Arc::clone(&workshop), config.max_runs, config.max_waiting)),
            workshop,
            catalog,
            config,
            live: RwLock::default(),
            board: Board::default(),
            attention: Attention::default(),
            shutdown: Mutex::new(false),
            duty: Condvar::new(),
            called: AtomicBool::new(false),
            agenda: Mutex::new(Agenda::new()),
            suppressed: RwLock::default(),
            doubts: Doubts::default(),
            forgetting: OnceLock::new(),
        });
        runs.share_health();
        runs
    }

    /// The modules that a search asks.
    ///
    /// # Errors
    /// A choice that cannot be met.
    pub fn modules_for(
        &self,
        query: &Query,
        premium: bool,
        choice: &Choice,
    ) -> Result<Vec<Arc<Module>>, ChoiceError> {
        let switches = Selection {
            search_type: query.search_type(),
            premium,
            discovery: self.config.discovery,
            nsfw: choice.nsfw,
        };
        self.catalog.choose(&switches, choice)
    }

    /// From now on these are never searched. What is under way goes on to its end.
    pub fn suppress(&self, list: Suppressed) {
        *self.suppressed.write() = Arc::new(list);
    }

    /// Whether this is never searched.
    pub fn is_suppressed(&self, query: &Query) -> bool {
        let list = Arc::clone(&self.suppressed.read());
        list.holds(query)
    }

    /// Charges and starts a search.
    ///
    /// # Errors
    /// [`OrderError::Suppressed`] before anything is looked at;
    /// [`OrderError::Overloaded`], [`OrderError::Choice`] and [`OrderError::NoBrowser`] before anything is charged; the store's failure.
    pub fn start(&self, order: Order) -> Result<Receipt, OrderError> {
        if self.is_suppressed(&order.query) {
            return Err(OrderError::Suppressed);
        }
        if !self.scheduler.has_room() {
            return self.known_order(&order, OrderError::Overloaded);
        }
        let modules = match self.modules_for(&order.query, order.premium, &order.choice) {
            Ok(modules) => modules,
            Err(error) => return self.known_order(&order, OrderError::Choice(error)),
        };
        if order.premium && !self.can_browse() {
            return self.known_order(&order, OrderError::NoBrowser);
        }
        let ids: Vec<String> = modules.iter().map(|module| module.id().to_string()).collect();
        let now = self.workshop.clock.now();
        let new = NewRun {
            id: RunId::new(),
            account: order.account,
            search_type: order.query.search_type(),
            query: order.query.raw().to_owned(),
            premium: order.premium,
            simulated: self.config.simulated,
            modules: ids.clone(),
            created_at: now,
            owner: self.workshop.instance,
            holds: self.workshop.limits.lease,
            idempotency: order.idempotency,
            origin: order.origin,
        };
        let credits = order.charge.credits;
        let opening = RunSummary::opening(&new, credits);
        let run = Arc::new(LiveRun::new(opening, new.owner.lease(0), ids));
        // Known here before it is committed: whoever learns its id finds it live.
        self.hold(&run);
        let job = Job {
            run: Arc::clone(&run),
            query: order.query,
            modules,
            gone: Vec::new(),
            earlier: Earlier::default(),
        };
        let started = self.clear_up(&job, self.workshop.journal.start(&new, &order.charge));
        if self.is_shutting_down() && matches!(started, Ok(Started::Created)) {
            // It may have been committed after all leases were released.
            self.release_leases();
        }
        if !matches!(started, Ok(Started::Created)) {
            self.live.write().remove(&new.id);
        }
        let started = match started {
            Err(error) if error.is_in_doubt() => {
                self.keep_in_doubt(Doubt::new(job, new.idempotency.is_some()));
                return Err(OrderError::Storage(error));
            }
            started => started.map_err(OrderError::Storage)?,
        };
        Ok(match started {
            Started::Created => {
                self.workshop.figures.note_start(new.search_type, credits);
                self.scheduler.submit(job);
                Receipt::Started(run)
            }
            Started::Repeated(id) => Receipt::Repeated(id),
            Started::Mismatch => Receipt::Mismatch,
            Started::UnknownAccount => Receipt::UnknownAccount,
            Started::InsufficientCredits { used } => Receipt::InsufficientCredits { used },
        })
    }

    /// What cannot be had any more may have been ordered before: from another catalogue, with a browser there, when
    /// there was room.
    fn known_order(&self, order: &Order, error: OrderError) -> Result<Receipt, OrderError> {
        let Some(idempotency) = &order.idempotency else { return Err(error) };
        match self.workshop.journal.known_request(order.account, idempotency).map_err(OrderError::Storage)? {
            Some(Started::Repeated(id)) => Ok(Receipt::Repeated(id)),
            Some(Started::Mismatch) => Ok(Receipt::Mismatch),
            _ => Err(error),
        }
    }

    pub(super) fn is_shutting_down(&self) -> bool {
        *self.shutdown.lock()
    }

    /// Waits until a run ends, wherever it is driven, at most until the given moment; then it is
    /// [`Found::Live`] and ended, [`Found::Stored`] and ended, or still running. `None`: it was deleted meanwhile.
    ///
    /// # Errors
    /// The store's failure.
    pub fn wait_for_end(&self, found: Found, until: Instant) -> Result<Option<Found>, StorageError> {
        let mut summary = match found {
            Found::Live(run) if run.wait_for_end(until) || Instant::now() >= until => {
                return Ok(Some(Found::Live(run)));
            }
            Found::Live(run) => Box::new(run.summary()),
            Found::Stored(summary) => summary,
        };
        let watch = self.board.watch(summary.id);
        while !summary.status.is_terminal() {
            let seen = watch.count();
            match self.workshop.journal.run(summary.id, summary.account)? {
                Some(newer) => *summary = newer,
                None => return Ok(None),
            }
            // The last look comes after the last wait.
            if Instant::now() >= until || self.is_shutting_down() {
                break;
            }
            self.wait_for_news(&watch, seen, until);
        }
        Ok(Some(Found::Stored(summary)))
    }

    /// A run of that account. `None`: unknown, foreign or deleted.
    ///
    /// # Errors
    /// The store's failure.
    pub fn find(&self, id: RunId, account: AccountId) -> Result<Option<Found>, StorageError> {
        if let Some(run) = self.live(id) {
            return Ok((run.account() == account).then_some(Found::Live(run)));
        }
        Ok(self.workshop.journal.run(id, account)?.map(|summary| Found::Stored(Box::new(summary))))
    }

    /// All results of a stored run.
    ///
    /// # Errors
    /// The store's failure.
    pub fn stored_results(&self, id: RunId) -> Result<Vec<ResultRecord>, StorageError> {
        let mut results: Vec<ResultRecord> = Vec::new();
        loop {
            let after = results.last().map_or(0, |last| last.id);
            let page = self.workshop.journal.results(id, after, PAGE)?;
            let whole = page.len() < PAGE;
            results.extend(page);
            if whole {
                return Ok(results);
            }
        }
    }

    /// The modules of a run that ended so far.
    ///
    /// # Errors
    /// The store's failure.
    pub fn reports(&self, found: &Found) -> Result<Vec<ModuleReport>, StorageError> {
        match found {
            Found::Live(run) => Ok(run.reports()),
            Found::Stored(summary) => self.workshop.journal.modules(summary.id),
        }
    }

    /// Follows a run, leaving out results up to `after`.
    pub fn follow(self: &Arc<Self>, found: Found, after: u32) -> Follower {
        match found {
            Found::Live(run) => Follower::live(Arc::clone(self), run, after),
            Found::Stored(summary) => Follower::stored(Arc::clone(self), *summary, after),
        }
    }

    /// Forgets a run; a running one stops first. `false`: unknown, foreign or deleted before.
    ///
    /// # Errors
    /// The store's failure.
    pub fn delete(&self, id: RunId, account: AccountId, by: &Origin) -> Result<bool, StorageError> {
        let known = self.workshop.journal.delete(id, account, self.workshop.clock.now(), by)?;
        if known {
            self.stop_deleted(id);
            self.board.tell(id);
            if let Some(forget) = self.forgetting.get() {
                forget(id);
            }
        }
        Ok(known)
    }

    /// From now on this is called for each run that is deleted through this process. To be set once.
    pub fn on_deletion(&self, forget: Forget) {
        let _ = self.forgetting.set(forget);
    }

    /// Storage, for followers.
    pub(super) fn journal(&self) -> &dyn Journal {
        &*self.workshop.journal
    }

    /// The catalogue in force.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// How many modules a search without a choice asks.
    pub fn module_counts(&self) -> ModuleCounts {
        let count = |search_type, premium| {
            let discovery = self.config.discovery;
            self.catalog.select(&Selection { search_type, premium, discovery, nsfw: false }).len()
        };
        let standard: BTreeMap<_, _> =
            SearchType::ALL.into_iter().map(|kind| (kind, count(kind, false))).collect();
        let usernames = standard.get(&SearchType::Username).copied().unwrap_or_default();
        ModuleCounts { premium: count(SearchType::Username, true) - usernames, standard }
    }

    /// What real runs have taught about the modules.
    pub fn module_health(&self) -> &HealthTable {
        &self.workshop.health
    }

    /// Runs that are driven and runs that wait.
    pub fn counts(&self) -> (usize, usize) {
        self.scheduler.counts()
    }

    /// What was done here since the start.
    pub fn figures(&self) -> &Figures {
        &self.workshop.figures
    }

    /// Checks that wait for a worker.
    pub fn checks_waiting(&self) -> usize {
        self.workshop.pool.waiting()
    }

    /// Whether premium searches can be run now: a browser answers.
    pub fn can_browse(&self) -> bool {
        self.workshop.browsing.is_available()
    }

    /// Checks that are under way in browsers, and how many can be at once.
    pub fn browsers(&self) -> (usize, usize) {
        self.workshop.browsing.load()
    }

    /// Check workers that work now, and all there are.
    pub fn workers(&self) -> (usize, usize) {
        (self.workshop.pool.busy(), self.workshop.pool.workers())
    }
}

/// Idempotency keys noted before this moment are forgotten: 24 hours ago.
pub fn idempotency_valid_since(now: Timestamp) -> Timestamp {
    now.saturating_sub(24.hours()).unwrap_or(now)
}
