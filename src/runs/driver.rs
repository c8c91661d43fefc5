//! The thread that drives a run from start to end: it dispatches checks, receives their outcomes, saves what they have found,
//! publishes it, and ends the run.
//!
//! | file | holds |
//! |---|---|
//! | `checks` | the modules that the run asks |
//! | `pictures` | fetching profile pictures |
//! | `findings` | findings and ended modules, until they are saved |
//! | `lookups` | the rounds of look-ups, and the searches of leads |

mod checks;
mod findings;
mod lookups;
mod pictures;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::{error, info};
use parking_lot::MutexGuard;

use super::ending::{self, Failure, Retry};
use super::family::advance::advance;
use super::live::{LiveRun, Message, Stopped};
use super::scheduler::Group;
use super::service::Runs;
use crate::base::threads;
use crate::model::drive::{Delta, Resumable, Write};
use crate::model::entity::EntityKey;
use crate::model::run::{ModuleReport, ResultRecord, RunSummary};
use crate::modules::module::Module;
use crate::modules::query::Query;
use crate::modules::reason::Reason;

/// The maximum number of times that a run may be taken over. A run that crashes each process that drives it, for
/// instance by its use of memory, would otherwise move from instance to instance until its configured deadline.
const MOST_TAKE_OVERS: u64 = 64;

/// The longest time until what was collected is saved. The lease is renewed as often. New results are saved at once.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// Drives a run until it ends or is stopped. A panic ends it as failed.
pub(super) fn drive(runs: &Arc<Runs>, run: &Arc<LiveRun>) {
    let mut driven = Err(("internal_error", "the search broke"));
    threads::guard(format_args!("run {}: its driver", run.id()), || driven = drive_to_its_end(runs, run));
    if let Err(failure) = driven {
        ending::store(runs, run, run.unchanged(), Some(failure));
    }
}

/// Returns the query of a run, unless it must not be searched any more.
fn query_of(runs: &Runs, run: &LiveRun) -> Result<Query, Failure> {
    let (epoch, RunSummary { search_type, query, .. }) = (run.opening.lease.epoch, &run.opening.summary);
    if epoch > MOST_TAKE_OVERS {
        error!(
            "run {}: abandoned after {MOST_TAKE_OVERS} take-overs, since it may crash the processes that drive it",
            run.id()
        );
        return Err(("internal_error", "the search was interrupted too many times and is not tried again"));
    }
    // The query was valid for the version of this program that accepted it.
    let query = Query::parse(*search_type, query)
        .map_err(|_| ("internal_error", "this version of the program cannot resume the search"))?;
    match runs.suppressed().holds(&query) {
        true => Err(("suppressed", "the query is suppressed now")),
        false => Ok(query),
    }
}

fn drive_to_its_end(runs: &Arc<Runs>, run: &Arc<LiveRun>) -> Result<(), Failure> {
    let query = Arc::new(query_of(runs, run)?);
    let mut driver = Driver::new(runs, run, Arc::clone(&query));
    let (catalog, Resumable { lease, modules, done, .. }) = (runs.catalog(), &run.opening);
    let done: HashSet<&str> = done.iter().map(|report| report.module.as_str()).collect();
    let mut round = Vec::new();
    for id in modules.iter().filter(|id| !done.contains(id.as_str())) {
        match catalog.get(id) {
            Some(module) => {
                let (module, query) = (Arc::clone(module), Arc::clone(&query));
                round.push(Asked { module, query, lookup: None, begun: None });
            }
            None => driver.unsaved.add_report(ModuleReport::skipped(id, None, Reason::Disabled)),
        }
    }
    if lease.epoch > 0 {
        info!("run {}: resumed with {} of {} modules left", run.id(), round.len(), modules.len());
    }
    driver.ask(round);
    while run.stopped().is_none() && !driver.store_refuses() {
        if driver.is_finished() && !driver.look_up_next() {
            break;
        }
        driver.receive();
        driver.give_up();
        let now = Instant::now();
        if now >= driver.save_due(now) && !driver.is_finished() && run.stopped().is_none() {
            driver.save();
        }
    }
    match run.stopped() {
        None => driver.finish(),
        Some(Stopped::Shutdown) => driver.save(),
        Some(Stopped::Deleted | Stopped::LeaseLost) => {}
    }
    Ok(())
}

/// The time for which checks may continue after the deadline of all runs before they are abandoned.
const DEADLINE_GRACE: Duration = Duration::from_secs(5);
/// The time for which checks may continue after the run's time budget, so that those that end by then report their
/// evidence.
const BUDGET_GRACE: Duration = Duration::from_millis(200);

/// The end of a run's time, by the deadline of all runs or by its own time budget.
#[derive(Clone, Copy)]
struct TimeLimit {
    /// The moment from which no check is started, and by which checks in progress must have their answers.
    at: Instant,
    /// The moment at which checks in progress are abandoned.
    abandon_at: Instant,
    /// The reason of the checks that are cut.
    reason: Reason,
}

impl TimeLimit {
    /// Returns the limit of a run. Both the deadline and the time budget count from the moment when the run was first
    /// driven, by this process or another.
    fn of(run: &LiveRun, run_timeout: Duration) -> Self {
        let budget = run.opening.summary.options.time_budget.map(|secs| Duration::from_secs(secs.into()));
        let (time, grace, reason) = match budget.filter(|budget| *budget < run_timeout) {
            Some(budget) => (budget, BUDGET_GRACE, Reason::TimeBudget),
            None => (run_timeout, DEADLINE_GRACE, Reason::RunDeadline),
        };
        // The time between two drivers counts, too.
        let at = run.began + time.saturating_sub(run.opening.ran_for);
        Self { at, abandon_at: at + grace, reason }
    }
}

/// A module that is asked, and has not ended.
struct Asked {
    module: Arc<Module>,
    query: Arc<Query>,
    /// The index of the look-up, or `None` for a module of the run's own search.
    lookup: Option<usize>,
    /// When its check has begun, and the host with an open circuit that it tries.
    begun: Option<(Instant, Option<String>)>,
}

struct Driver<'a> {
    runs: &'a Arc<Runs>,
    run: &'a Arc<LiveRun>,
    query: Arc<Query>,
    limit: TimeLimit,
    messages: MutexGuard<'a, Receiver<Message>>,
    /// What the run does in the scheduler.
    group: Group,
    /// The modules that were asked and have not ended, by their places.
    open: HashMap<usize, Asked>,
    /// The number of checks so far, which is the place of the next one.
    places: usize,
    /// The number of pictures that wait or are being fetched.
    pictures: usize,
    /// The results whose pictures were fetched or tried.
    pictured: HashSet<u32>,
    /// The bytes of the evidence that was kept.
    kept_bytes: usize,
    /// When the last check ended.
    checks_end: Instant,
    /// The time at which the latest check ended. Results are dated by it, so that their dates are in the order of
    /// their ids.
    newest: Timestamp,
    /// The entities of the run.
    known: HashMap<EntityKey, u32>,
    next_id: u32,
    /// The stored results in the order of their ids, and the reports of modules.
    results: Vec<ResultRecord>,
    reports: Vec<ModuleReport>,
    /// The findings and ended modules that are not stored yet. Readers see nothing of them before.
    unsaved: Delta,
    /// Whether look-ups have ended, or were planned, since the last save.
    has_lookups: bool,
    save_at: Instant,
    retry: Retry,
}

impl<'a> Driver<'a> {
    fn new(runs: &'a Arc<Runs>, run: &'a Arc<LiveRun>, query: Arc<Query>) -> Self {
        let Resumable { summary, results, done, .. } = &run.opening;
        let mut known = HashMap::with_capacity(results.len());
        for result in results {
            // An earlier version stored equal entities as separate results. The first of them gets later sources.
            known.entry(EntityKey::of(result)).or_insert(result.id);
        }
        let mut driver = Self {
            runs,
            run,
            query,
            limit: TimeLimit::of(run, runs.config.run_timeout),
            messages: run.messages.lock(),
            group: runs.scheduler.join(Some(summary.account), summary.is_of_batch(), !summary.options.named),
            open: HashMap::new(),
            places: 0,
            pictures: 0,
            pictured: HashSet::new(),
            kept_bytes: 0,
            checks_end: Instant::now(),
            newest: runs.clock.now(),
            known,
            next_id: results.last().map_or(1, |last| last.id + 1),
            results: results.clone(),
            reports: done.clone(),
            unsaved: run.unchanged(),
            has_lookups: false,
            save_at: Instant::now() + SAVE_EVERY,
            retry: Retry::default(),
        };
        results.iter().for_each(|result| driver.fetch_picture(result));
        driver
    }

    /// Returns whether nothing more is collected, unless accounts are looked up.
    fn is_idle(&self) -> bool {
        self.open.is_empty() && self.pictures_end().is_none_or(|end| Instant::now() >= end)
    }

    /// Returns whether everything that was collected is stored.
    fn is_saved(&self) -> bool {
        self.unsaved.is_empty() && !self.has_lookups
    }

    /// Returns whether the run may end. What leads to look-ups and searches must be stored before, and pictures belong to
    /// stored results. The last reports are stored with the end.
    fn is_finished(&self) -> bool {
        let has_results = !self.unsaved.added.is_empty() || !self.unsaved.changed.is_empty();
        let follows = self.run.opening.summary.follow.is_some();
        self.is_idle() && if follows { self.is_saved() } else { !has_results }
    }

    /// Begins the next round of look-ups. Returns `false` if there is none.
    fn look_up_next(&mut self) -> bool {
        // A run that fails is refunded, so it asks nobody else.
        let may_look_up = self.run.opening.summary.follow.is_some() && self.failure().is_none();
        if !may_look_up || self.why_over().is_some() {
            return false;
        }
        // An interrupted round is continued before another one is planned.
        self.has_lookups = true;
        let mut round = self.unfinished();
        if round.is_empty() {
            self.plan();
            round = self.unfinished();
            if !round.is_empty() {
                self.save();
            }
        }
        let has_round = !round.is_empty();
        self.ask(round);
        has_round
    }

    /// Returns why the run fails if its own modules have ended, or `None` if it is worth its price.
    fn failure(&self) -> Option<&'static str> {
        if self.unsaved.coverage.conclusive == 0 {
            return Some("no module came to a conclusion");
        }
        // Results from local lists are shown, but they alone do not justify the price of a search. A module that the
        // catalogue no longer has counts as a site.
        let catalog = self.runs.catalog();
        let is_of_site = |it: &&ModuleReport| catalog.get(&it.module).is_none_or(|it| !it.reads_only_feeds());
        let of_sites = || self.reports.iter().chain(&self.unsaved.reports).filter(is_of_site);
        let has_failed =
            |it: &ModuleReport| it.status.is_failure() || it.reason.is_some_and(Reason::is_local_fault);
        let has_only_lists = of_sites().any(has_failed) && !of_sites().any(|it| it.status.is_conclusive());
        has_only_lists.then_some("no site that was asked gave a conclusion")
    }

    /// Waits for a message, then handles all that have arrived.
    fn receive(&mut self) {
        if self.is_finished() {
            return;
        }
        let now = Instant::now();
        let due = [self.checks_due(), self.pictures_end().filter(|end| *end > now)].into_iter().flatten();
        let until = due.fold(self.save_due(now), Instant::min);
        match self.messages.recv_timeout(until.saturating_duration_since(now)) {
            Ok(message) => self.take(message),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(message) = self.messages.try_recv() {
            self.take(message);
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Ended { place, report, took, at } => {
                // A check that was given up before is not open.
                if let Some(asked) = self.open.remove(&place) {
                    (self.checks_end, self.newest) = (Instant::now(), self.newest.max(at));
                    self.note(&asked, Arc::unwrap_or_clone(report), took);
                }
            }
            Message::Picture { result, picture } => {
                self.pictures -= 1;
                if let Some(picture) = picture {
                    self.add_picture(result, picture);
                }
            }
            Message::Begun { place, trial } => {
                if let Some(asked) = self.open.get_mut(&place) {
                    asked.begun = Some((Instant::now(), trial));
                }
            }
            Message::Woken => self.save_at = Instant::now(),
        }
    }

    /// Returns the moment at which the next save is due.
    fn save_due(&self, now: Instant) -> Instant {
        let is_urgent = !self.unsaved.added.is_empty() || self.is_idle() && !self.is_saved();
        self.retry.at.unwrap_or(if is_urgent { now } else { self.save_at })
    }

    /// Saves what was collected, renews the lease, and then shows readers what was saved. A later source of a result may name
    /// a picture that the first one does not.
    fn save(&mut self) {
        // A save that only renews the lease changes nothing that readers see.
        self.unsaved.revision += u64::from(!self.unsaved.is_empty());
        let (run, runs) = (self.run, self.runs);
        match runs.store.save(run.id(), run.opening.lease, &self.unsaved, runs.config.lease) {
            Ok(Write::LeaseLost) => return run.lose(),
            // Another instance got the request, and its notification may have been lost.
            Ok(Write::Stopped(at)) => run.end_early(at),
            Ok(Write::Done) => {}
            Err(error) => return self.retry.again(run, &error),
        }
        (self.retry, self.save_at, self.has_lookups) = (Retry::default(), Instant::now() + SAVE_EVERY, false);
        runs.figures.results.add(self.unsaved.added.len() as u64);
        run.publish(&self.unsaved);
        let saved = std::mem::replace(&mut self.unsaved, run.unchanged());
        saved.added.iter().chain(&saved.changed).for_each(|record| self.fetch_picture(record));
        self.results.extend(saved.added);
        self.reports.extend(saved.reports);
        for record in saved.changed {
            if let Ok(at) = place(&self.results, record.id) {
                self.results[at] = record;
            }
        }
    }

    /// Returns whether what must be stored before the end can no longer be stored. The run then ends as failed.
    fn store_refuses(&self) -> bool {
        let patience = if self.open.is_empty() { self.runs.config.store_patience } else { Duration::MAX };
        !self.is_saved() && !self.is_finished() && self.retry.is_hopeless(patience)
    }

    fn finish(mut self) {
        let failure = if self.store_refuses() {
            (self.unsaved.added, self.unsaved.changed) = (Vec::new(), Vec::new());
            (self.unsaved.thumbnails, self.unsaved.evidence) = <_>::default();
            Some(ending::NOT_STORED)
        } else if let Some(message) = self.failure() {
            let is_stopped = self.run.stopped_at().is_some();
            Some(if is_stopped { ending::STOPPED } else { ("no_conclusion", message) })
        } else {
            self.unsaved.links = self.links();
            let summary = &self.run.opening.summary;
            if summary.is_following_root() && self.run.stopped_at().is_none() {
                self.save();
                // Its readers learn of the first runs of its family before it ends.
                advance(self.runs, summary.id, summary.account, Some(summary.id));
            }
            None
        };
        ending::store(self.runs, self.run, self.unsaved, failure);
    }
}

/// Returns the place of the result with that id.
fn place(results: &[ResultRecord], id: u32) -> Result<usize, usize> {
    results.binary_search_by_key(&id, |record| record.id)
}
