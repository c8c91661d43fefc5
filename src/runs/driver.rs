//! The thread that drives a run from start to end: it dispatches checks, receives their outcomes, saves what they have found,
//! publishes it, and ends the run.
//!
//! | file | holds |
//! |---|---|
//! | `checks` | the modules of the run |
//! | `pictures` | fetching profile pictures |
//! | `scope` | what the parts of the driver share, what wakes the thread, and the end of the run's time |
//! | `recorder` | findings and ended modules, until they are saved |
//! | `lookups` | the rounds of look-ups, and the searches of leads |

mod checks;
mod lookups;
mod pictures;
mod recorder;
mod scope;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use log::{error, info};

use super::context::RunContext;
use super::ending;
use super::live::{LiveRun, Stopped};
use crate::model::drive::Ending;
use crate::model::run::Status;
use crate::modules::query::Query;
use checks::Checks;
use pictures::PictureFetcher;
use recorder::{Asked, Recorder};
use scope::{Message, Scope, TimeLimit};

/// The maximum number of times that a run may be taken over. A run that crashes each process that drives it, for
/// instance by its use of memory, would otherwise move from instance to instance until its configured deadline.
const MOST_TAKE_OVERS: u64 = 64;

/// Why a run fails: a code, and a message for its owner.
type Failure = (&'static str, &'static str);

/// Drives a run until it ends or is stopped. A panic ends it as failed.
pub(super) fn drive(context: &Arc<RunContext>, run: &Arc<LiveRun>) {
    context.driving.fetch_add(1, Ordering::Relaxed);
    let driven = catch_unwind(AssertUnwindSafe(|| drive_to_its_end(context, run)));
    let driven = driven.unwrap_or_else(|_| {
        error!("run {}: its driver panicked", run.id());
        Err(("internal_error", "the search broke"))
    });
    if let Err((code, message)) = driven {
        ending::store(context, run, run.unchanged(), ending::failed(context, code, message));
    }
    context.driving.fetch_sub(1, Ordering::Relaxed);
}

/// Returns the query of a run, unless it must not be searched any more.
fn query_of(context: &RunContext, run: &LiveRun) -> Result<Query, Failure> {
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
    match context.suppression.get().holds(&query) {
        true => Err(("suppressed", "the query is suppressed now")),
        false => Ok(query),
    }
}

fn drive_to_its_end(context: &Arc<RunContext>, run: &Arc<LiveRun>) -> Result<(), Failure> {
    let query = Arc::new(query_of(context, run)?);
    let mut driver = Driver::new(context, run, Arc::clone(&query));
    let (catalog, reports) = (context.catalog.get(), run.reports());
    let done: HashSet<&str> = reports.iter().map(|report| report.module.as_str()).collect();
    let mut round = Vec::new();
    for id in run.modules().iter().filter(|id| !done.contains(id.as_str())) {
        match catalog.get(id) {
            Some(module) => {
                let (module, query) = (Arc::clone(module), Arc::clone(&query));
                round.push(Asked { module, query, lookup: None });
            }
            None => driver.recorder.note_gone(id),
        }
    }
    if run.lease().epoch > 0 {
        info!("run {}: resumed with {} of {} modules left", run.id(), round.len(), run.modules().len());
    }
    driver.checks.ask(round, &mut driver.recorder);
    while run.stopped().is_none() && !driver.store_refuses() {
        if driver.is_finished() && !driver.look_up_next() {
            break;
        }
        driver.pictures.set_end(driver.checks.are_over());
        driver.receive();
        driver.checks.give_up(&mut driver.recorder);
        driver.save_if_due();
    }
    match run.stopped() {
        None => driver.finish(),
        Some(Stopped::Shutdown) => driver.save(),
        Some(Stopped::Deleted | Stopped::LeaseLost) => {}
    }
    Ok(())
}

struct Driver<'a> {
    context: &'a Arc<RunContext>,
    run: &'a Arc<LiveRun>,
    limit: TimeLimit,
    receiver: Receiver<Message>,
    checks: Checks<'a>,
    pictures: PictureFetcher<'a>,
    recorder: Recorder<'a>,
}

impl<'a> Driver<'a> {
    fn new(context: &'a Arc<RunContext>, run: &'a Arc<LiveRun>, query: Arc<Query>) -> Self {
        let (sender, receiver) = channel();
        let stop = sender.clone();
        // A driver that has ended needs no wake-up.
        run.set_driver(Box::new(move || drop(stop.send(Message::Other))));
        let limit = TimeLimit::of(run, context.limits.run_timeout);
        let opening = run.opening();
        let is_of_batch = opening.batch.is_some();
        let group =
            Arc::new(context.scheduler.join(Some(opening.account), is_of_batch, !opening.options.named));
        let scope = Scope { context, run, limit, sender, group };
        Self {
            context,
            run,
            limit,
            receiver,
            checks: Checks::new(scope.clone()),
            pictures: PictureFetcher::new(scope, query),
            recorder: Recorder::new(context, run),
        }
    }

    /// Returns whether nothing more is collected, unless accounts are looked up.
    fn is_idle(&self) -> bool {
        self.checks.are_over() && self.pictures.are_over()
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
        let is_stopped = self.run.stopped_at().is_some();
        // A run that fails is refunded, so it asks nobody else.
        let may_look_up =
            self.run.opening().follow.is_some() && !is_stopped && self.recorder.failure().is_none();
        if !may_look_up || Instant::now() >= self.limit.at {
            return false;
        }
        // An interrupted round is continued before another one is planned.
        let as_of = self.recorder.newest();
        let mut round = lookups::unfinished(self.context, self.recorder.lookups());
        if round.is_empty() {
            round = lookups::plan(self.context, self.run, self.recorder.lookups(), as_of);
            if !round.is_empty() {
                self.save();
            }
        }
        let has_round = !round.is_empty();
        self.checks.ask(round, &mut self.recorder);
        has_round
    }

    /// Waits for a message, then handles all that have arrived.
    fn receive(&mut self) {
        if self.is_finished() {
            return;
        }
        let now = Instant::now();
        let due = [self.checks.due(), self.pictures.due()].into_iter().flatten();
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
                if let Some(asked) = self.checks.end(place) {
                    self.recorder.take(&asked, answer);
                }
            }
            Message::Picture { result, avatar } => {
                self.pictures.end();
                if let Some(avatar) = avatar {
                    self.recorder.add_avatar(result, &avatar);
                }
            }
            Message::Other => {}
        }
    }

    fn save_if_due(&mut self) {
        let is_due = self.recorder.is_due(self.is_idle()) && !self.is_finished();
        if self.run.take_save_request() || is_due {
            self.save();
        }
    }

    /// Saves what was collected, and then shows it to readers.
    fn save(&mut self) {
        if let Some(saved) = self.recorder.save() {
            self.pictures.add(&saved);
            self.run.add(saved);
        }
    }

    /// Returns whether what must be stored before the end can no longer be stored. The run then ends as failed.
    fn store_refuses(&self) -> bool {
        let patience =
            if self.checks.are_over() { self.context.limits.store_patience } else { Duration::MAX };
        !self.recorder.is_empty() && !self.is_finished() && self.recorder.is_hopeless(patience)
    }

    fn finish(self) {
        let has_failed = self.store_refuses();
        let ending = if has_failed {
            ending::not_stored(self.context)
        } else if let Some(message) = self.recorder.failure() {
            match self.run.stopped_at() {
                Some(_) => ending::stopped(self.context),
                None => ending::failed(self.context, "no_conclusion", message),
            }
        } else {
            lookups::start_children(self.context, self.run);
            Ending { status: Status::Completed, error: None, completed_at: self.context.clock.now() }
        };
        ending::store(self.context, self.run, self.recorder.into_last(has_failed), ending);
    }
}
