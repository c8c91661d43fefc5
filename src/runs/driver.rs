//! The thread that drives a run from start to end: it dispatches checks, receives their outcomes, stores results,
//! publishes them, writes checkpoints, and ends the run.
//!
//! | file | holds |
//! |---|---|
//! | `message` | what wakes the thread |
//! | `checks` | the modules of the run |
//! | `pictures` | fetching profile pictures |
//! | `recorder` | findings and ended modules, until they are stored and published |
//! | `lookups` | the rounds of look-ups, and the searches of leads |

mod checks;
mod lookups;
mod message;
mod pictures;
mod recorder;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use log::{error, log};

use super::context::RunContext;
use super::ending;
use super::health::circuits::OnOpenCircuit;
use super::job::Job;
use super::live::{LiveRun, Stopped};
use super::time_limit::TimeLimit;
use crate::model::drive::{Delta, Ending, Write};
use crate::model::run::Status;
use checks::{Checks, Subject};
use message::Message;
use pictures::PictureFetcher;
use recorder::Recorder;

/// The interval at which a driver writes a checkpoint, renews its lease and publishes changed results.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);

/// Drives a run until it ends or is stopped. A panic ends it as failed.
pub(super) fn drive(context: &Arc<RunContext>, job: &Job) {
    context.driving.fetch_add(1, Ordering::Relaxed);
    if catch_unwind(AssertUnwindSafe(|| drive_to_its_end(context, job))).is_err() {
        error!("run {}: its driver panicked", job.run.id());
        let ending = ending::failed(context, "internal_error", "the search broke");
        ending::store(context, &job.run, ending);
    }
    context.driving.fetch_sub(1, Ordering::Relaxed);
}

fn drive_to_its_end(context: &Arc<RunContext>, job: &Job) {
    let run = &job.run;
    let mut driver = Driver::new(context, job);
    driver.recorder.note_gone(&job.gone);
    let subject = Subject { query: Arc::new(job.query.clone()), lookup: None };
    let modules = job.modules.iter().map(|module| (Arc::clone(module), subject.clone())).collect();
    driver.checks.ask(modules, &mut driver.recorder);
    driver.record();
    while run.signals.stopped().is_none() && !driver.store_refuses() {
        if driver.is_finished() && !driver.look_up_next() {
            break;
        }
        driver.pictures.set_end(driver.checks.are_over());
        driver.receive();
        driver.checks.give_up(&mut driver.recorder);
        driver.record();
        driver.checkpoint_if_due();
    }
    match run.signals.stopped() {
        None => driver.finish(),
        Some(Stopped::Shutdown) => driver.checkpoint(),
        Some(Stopped::Deleted | Stopped::LeaseLost) => {}
    }
}

struct Driver<'a> {
    context: &'a Arc<RunContext>,
    run: &'a Arc<LiveRun>,
    limit: TimeLimit,
    receiver: Receiver<Message>,
    checks: Checks<'a>,
    pictures: PictureFetcher<'a>,
    recorder: Recorder<'a>,
    checkpoint_at: Instant,
}

impl<'a> Driver<'a> {
    fn new(context: &'a Arc<RunContext>, job: &'a Job) -> Self {
        let run = &job.run;
        let (sender, receiver) = channel();
        let stop = sender.clone();
        // A driver that has ended needs no wake-up.
        run.signals.set_driver(Box::new(move || drop(stop.send(Message::Stop))));
        let query = Arc::new(job.query.clone());
        let limit = TimeLimit::of(run, context.limits.run_timeout);
        let opening = run.opening();
        let on_open_circuit = if opening.options.named { OnOpenCircuit::Ask } else { OnOpenCircuit::Skip };
        let is_of_batch = opening.batch.is_some();
        let group = Arc::new(context.scheduler.join(Some(opening.account), is_of_batch, on_open_circuit));
        Self {
            context,
            run,
            limit,
            receiver,
            checks: Checks::new(context, run, limit, sender.clone(), Arc::clone(&group)),
            pictures: PictureFetcher::new(context, run, limit, query, sender, group),
            recorder: Recorder::new(context, run, &job.earlier),
            checkpoint_at: Instant::now() + CHECKPOINT_EVERY,
        }
    }

    fn is_finished(&self) -> bool {
        self.checks.are_over() && self.recorder.is_empty() && self.pictures.are_over()
    }

    /// Begins the next round of look-ups. Returns `false` if there is none.
    fn look_up_next(&mut self) -> bool {
        let is_stopped = self.run.signals.stopped_at().is_some();
        // A run that fails is refunded, so it asks nobody else.
        let may_look_up =
            self.run.opening().follow.is_some() && !is_stopped && self.recorder.failure().is_none();
        if !may_look_up || Instant::now() >= self.limit.at {
            return false;
        }
        // An interrupted round is continued before another one is planned.
        let mut round = lookups::unfinished(self.context, self.run);
        if round.is_empty() {
            round = lookups::plan(self.context, self.run, self.recorder.newest());
            if !round.is_empty() {
                self.checkpoint();
            }
        }
        let has_round = !round.is_empty();
        self.checks.ask(round, &mut self.recorder);
        has_round
    }

    /// Waits for a message, then handles all that have arrived.
    fn receive(&mut self) {
        if self.checks.are_over() && !self.recorder.has_results() && self.pictures.are_over() {
            return;
        }
        let now = Instant::now();
        let due = [self.checks.due(), self.recorder.due(now), self.pictures.due()];
        let until = due.into_iter().flatten().fold(self.checkpoint_at, Instant::min);
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
            Message::NotMade { place, report } => {
                if let Some(asked) = self.checks.end(place) {
                    self.recorder.note(&asked, report, Duration::ZERO);
                }
            }
            Message::Picture { result, avatar } => {
                self.pictures.end();
                if let Some(avatar) = avatar {
                    self.recorder.add_avatar(result, &avatar);
                }
            }
            Message::Trial | Message::Stop => {}
        }
    }

    fn record(&mut self) {
        if let Some(stored) = self.recorder.record() {
            self.pictures.add(&stored);
            self.recorder.publish(stored);
        }
    }

    fn checkpoint_if_due(&mut self) {
        if Instant::now() >= self.checkpoint_at || self.run.signals.take_checkpoint_request() {
            self.run.published.announce_changes();
            self.checkpoint();
            self.checkpoint_at = Instant::now() + CHECKPOINT_EVERY;
        }
    }

    fn checkpoint(&self) {
        let context = self.context;
        let checkpoint = self.run.checkpoint();
        let holds = context.limits.lease;
        match context.store.checkpoint(self.run.id(), self.run.lease(), &checkpoint, holds) {
            Ok(Write::Done) => {}
            // Another instance got the request, and its notification may have been lost.
            Ok(Write::Stopped(at)) => self.run.end_early(at),
            Ok(Write::LeaseLost) => self.run.lose(),
            Err(error) => {
                log!(error.log_level(), "run {}: cannot write a checkpoint: {error}", self.run.id());
            }
        }
    }

    /// Returns whether the results can no longer be stored. The run then ends as failed.
    fn store_refuses(&self) -> bool {
        let patience =
            if self.checks.are_over() { self.context.limits.store_patience } else { Duration::MAX };
        self.recorder.is_hopeless(patience)
    }

    fn finish(mut self) {
        let ending = if self.store_refuses() {
            // The modules that have ended are published, although their results cannot be stored.
            self.recorder.publish(Delta::default());
            ending::not_stored(self.context)
        } else if let Some(message) = self.recorder.failure() {
            match self.run.signals.stopped_at() {
                Some(_) => ending::stopped(self.context),
                None => ending::failed(self.context, "no_conclusion", message),
            }
        } else {
            lookups::start_children(self.context, self.run);
            Ending { status: Status::Completed, error: None, completed_at: self.context.clock.now() }
        };
        ending::store(self.context, self.run, ending);
    }
}
