//! The thread that drives a run from start to end: it dispatches checks, receives their outcomes, saves what they have found,
//! publishes it, and ends the run.
//!
//! | file | holds |
//! |---|---|
//! | `checks` | the modules that the run asks |
//! | `pictures` | fetching profile pictures |
//! | `recorder` | findings and ended modules, until they are saved |
//! | `lookups` | the rounds of look-ups, and the searches of leads |

mod checks;
mod lookups;
mod pictures;
mod recorder;

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use log::{error, info};

use super::ending;
use super::live::{LiveRun, Stopped};
use super::pictures::avatar::Avatar;
use super::scheduler::Group;
use super::service::Runs;
use crate::model::drive::Ending;

use crate::modules::query::Query;
use crate::modules::reason::Reason;
use recorder::{Answer, Asked, Recorder};

/// The maximum number of times that a run may be taken over. A run that crashes each process that drives it, for
/// instance by its use of memory, would otherwise move from instance to instance until its configured deadline.
const MOST_TAKE_OVERS: u64 = 64;

/// Why a run fails: a code, and a message for its owner.
type Failure = (&'static str, &'static str);

/// Drives a run until it ends or is stopped. A panic ends it as failed.
pub(super) fn drive(runs: &Arc<Runs>, run: &Arc<LiveRun>) {
    runs.driving.fetch_add(1, Ordering::Relaxed);
    let driven = catch_unwind(AssertUnwindSafe(|| drive_to_its_end(runs, run)));
    let driven = driven.unwrap_or_else(|_| {
        error!("run {}: its driver panicked", run.id());
        Err(("internal_error", "the search broke"))
    });
    if let Err((code, message)) = driven {
        ending::store(runs, run, run.unchanged(), ending::failed(runs, code, message));
    }
    runs.driving.fetch_sub(1, Ordering::Relaxed);
}

/// Returns the query of a run, unless it must not be searched any more.
fn query_of(runs: &Runs, run: &LiveRun) -> Result<Query, Failure> {
    if run.lease().epoch > MOST_TAKE_OVERS {
        error!(
            "run {}: abandoned after {MOST_TAKE_OVERS} take-overs, since it may crash the processes that drive it",
            run.id()
        );
        return Err(("internal_error", "the search was interrupted too many times and is not tried again"));
    }
    // The query was valid for the version of this program that accepted it.
    let query = Query::parse(run.opening().search_type, &run.opening().query)
        .map_err(|_| ("internal_error", "this version of the program cannot resume the search"))?;
    match runs.suppression.get().holds(&query) {
        true => Err(("suppressed", "the query is suppressed now")),
        false => Ok(query),
    }
}

fn drive_to_its_end(runs: &Arc<Runs>, run: &Arc<LiveRun>) -> Result<(), Failure> {
    let query = Arc::new(query_of(runs, run)?);
    let mut driver = Driver::new(runs, run, Arc::clone(&query));
    let (catalog, reports) = (runs.catalog.get(), run.reports());
    let done: HashSet<&str> = reports.iter().map(|report| report.module.as_str()).collect();
    let mut round = Vec::new();
    for id in run.modules().iter().filter(|id| !done.contains(id.as_str())) {
        match catalog.get(id) {
            Some(module) => {
                let (module, query) = (Arc::clone(module), Arc::clone(&query));
                round.push(Asked::new(module, query, None));
            }
            None => driver.recorder.note_gone(id),
        }
    }
    if run.lease().epoch > 0 {
        info!("run {}: resumed with {} of {} modules left", run.id(), round.len(), run.modules().len());
    }
    driver.ask(round);
    while run.stopped().is_none() && !driver.store_refuses() {
        if driver.is_finished() && !driver.look_up_next() {
            break;
        }
        driver.receive();
        driver.give_up();
        driver.save_if_due();
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
        let budget = run.opening().options.time_budget.map(Duration::from);
        let (time, grace, reason) = match budget.filter(|budget| *budget < run_timeout) {
            Some(budget) => (budget, BUDGET_GRACE, Reason::TimeBudget),
            None => (run_timeout, DEADLINE_GRACE, Reason::RunDeadline),
        };
        let at = run.driven_until(time);
        Self { at, abandon_at: at + grace, reason }
    }
}

/// A reason for the driver to wake up.
enum Message {
    /// The check with that place has ended, or is not made.
    Ended { place: usize, answer: Answer },
    /// A picture was fetched, or is given up.
    Picture { result: u32, avatar: Option<Avatar> },
    /// The check with that place has begun. It may be a trial of a host with an open circuit.
    Begun { place: usize, trial: Option<String> },
    /// The run was stopped, or is to be saved.
    Other,
}

struct Driver<'a> {
    runs: &'a Arc<Runs>,
    run: &'a Arc<LiveRun>,
    query: Arc<Query>,
    limit: TimeLimit,
    sender: Sender<Message>,
    receiver: Receiver<Message>,
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
    /// When the last check ended.
    checks_end: Instant,
    recorder: Recorder<'a>,
}

impl<'a> Driver<'a> {
    fn new(runs: &'a Arc<Runs>, run: &'a Arc<LiveRun>, query: Arc<Query>) -> Self {
        let (sender, receiver) = channel();
        let stop = sender.clone();
        // A driver that has ended needs no wake-up.
        run.set_driver(Box::new(move || drop(stop.send(Message::Other))));
        let opening = run.opening();
        let is_of_batch = opening.batch.is_some();
        let mut driver = Self {
            runs,
            run,
            query,
            limit: TimeLimit::of(run, runs.config.limits.run_timeout),
            sender,
            receiver,
            group: runs.scheduler.join(Some(opening.account), is_of_batch, !opening.options.named),
            open: HashMap::new(),
            places: 0,
            pictures: 0,
            pictured: HashSet::new(),
            checks_end: Instant::now(),
            recorder: Recorder::new(runs, run),
        };
        run.snapshot().1.iter().for_each(|result| driver.fetch_picture(result));
        driver
    }

    /// Returns whether nothing more is collected, unless accounts are looked up.
    fn is_idle(&self) -> bool {
        self.open.is_empty() && self.pictures_end().is_none_or(|end| Instant::now() >= end)
    }

    /// Returns whether the run may end. What leads to look-ups and searches must be stored before, and pictures belong to
    /// stored results. The last reports are stored with the end.
    fn is_finished(&self) -> bool {
        let is_saved = match self.run.opening().follow {
            Some(_) => self.recorder.is_empty(),
            None => !self.recorder.has_results(),
        };
        self.is_idle() && is_saved
    }

    /// Begins the next round of look-ups. Returns `false` if there is none.
    fn look_up_next(&mut self) -> bool {
        // A run that fails is refunded, so it asks nobody else.
        let may_look_up = self.run.opening().follow.is_some() && self.recorder.failure().is_none();
        if !may_look_up || self.why_over().is_some() {
            return false;
        }
        // An interrupted round is continued before another one is planned.
        let as_of = self.recorder.newest;
        let mut round = lookups::unfinished(self.runs, self.recorder.lookups());
        if round.is_empty() {
            round = lookups::plan(self.runs, self.run, self.recorder.lookups(), as_of);
            if !round.is_empty() {
                self.save();
            }
        }
        let has_round = !round.is_empty();
        self.ask(round);
        has_round
    }

    /// Waits for a message, then handles all that have arrived.
    fn receive(&mut self) {
        if self.is_finished() {
            return;
        }
        let now = Instant::now();
        let due = [self.checks_due(), self.pictures_end().filter(|end| *end > now)].into_iter().flatten();
        let until = due.fold(self.recorder.due(self.is_idle(), now), Instant::min);
        match self.receiver.recv_timeout(until.saturating_duration_since(now)) {
            Ok(message) => self.take(message),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(message) = self.receiver.try_recv() {
            self.take(message);
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Ended { place, answer } => {
                // A check that was given up before is not open.
                if let Some(asked) = self.open.remove(&place) {
                    self.checks_end = Instant::now();
                    self.recorder.take(&asked, answer);
                }
            }
            Message::Picture { result, avatar } => {
                self.pictures -= 1;
                if let Some(avatar) = avatar {
                    self.recorder.add_avatar(result, &avatar);
                }
            }
            Message::Begun { place, trial } => {
                if let Some(asked) = self.open.get_mut(&place) {
                    asked.begun = Some((Instant::now(), trial));
                }
            }
            Message::Other => {}
        }
    }

    fn save_if_due(&mut self) {
        let now = Instant::now();
        let is_due = now >= self.recorder.due(self.is_idle(), now) && !self.is_finished();
        if self.run.take_save_request() || is_due {
            self.save();
        }
    }

    /// Saves what was collected, and then shows it to readers. A later source of a result may name a picture that the first
    /// one does not.
    fn save(&mut self) {
        if let Some(saved) = self.recorder.save() {
            saved.added.iter().chain(&saved.changed).for_each(|record| self.fetch_picture(record));
            self.run.add(saved);
        }
    }

    /// Returns whether what must be stored before the end can no longer be stored. The run then ends as failed.
    fn store_refuses(&self) -> bool {
        let patience =
            if self.open.is_empty() { self.runs.config.limits.store_patience } else { Duration::MAX };
        !self.recorder.is_empty() && !self.is_finished() && self.recorder.retry.is_hopeless(patience)
    }

    fn finish(self) {
        let has_failed = self.store_refuses();
        let ending = if has_failed {
            ending::not_stored(self.runs)
        } else if let Some(message) = self.recorder.failure() {
            match self.run.stopped_at() {
                Some(_) => ending::stopped(self.runs),
                None => ending::failed(self.runs, "no_conclusion", message),
            }
        } else {
            lookups::start_children(self.runs, self.run);
            Ending { error: None, completed_at: self.runs.clock.now() }
        };
        ending::store(self.runs, self.run, self.recorder.into_last(has_failed), ending);
    }
}
