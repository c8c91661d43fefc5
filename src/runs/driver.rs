//! The thread that drives a run from start to end: it dispatches checks, receives their outcomes, stores results,
//! publishes them, writes checkpoints, and ends the run.
//!
//! | file | holds |
//! |---|---|
//! | `dispatch` | starting checks |
//! | `running` | the checks that have begun, and whether another one may |
//! | `turns` | the modules that wait for a host |
//! | `lookups` | the rounds of look-ups, and the searches of leads |
//! | `pictures` | fetching profile pictures |

mod dispatch;
mod lookups;
mod pictures;
mod running;
mod turns;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::{error, log, warn};

use super::browsing::Share;
use super::context::RunContext;
use super::coverage::Cut;
use super::ending::{self, Retry};
use super::health::HealthUpdates;
use super::health::circuits::OnOpenCircuit;
use super::job::Job;
use super::journal::{Batch, Ending, Write};
use super::lanes::Lanes;
use super::live::{LiveRun, Stopped};
use super::pictures::avatar::Avatar;
use super::pictures::queue::Pictures;
use super::run::{ModuleReport, Status};
use super::time_limit::TimeLimit;
use super::unstored_results::UnstoredResults;
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::query::Query;
use crate::modules::reason::Reason;
use running::RunningChecks;
use turns::Turns;

/// The interval at which a driver writes a checkpoint, renews its lease and publishes changed results.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);

/// Drives a run until it ends or is stopped. A panic ends it as failed.
pub(super) fn drive(context: &Arc<RunContext>, job: &Job) {
    let of_batch = usize::from(job.run.batch().is_some());
    context.driving.fetch_add(1, Ordering::Relaxed);
    context.driving_batches.fetch_add(of_batch, Ordering::Relaxed);
    if catch_unwind(AssertUnwindSafe(|| drive_to_its_end(context, job))).is_err() {
        error!("run {}: its driver panicked", job.run.id());
        let ending = ending::failed(context, "internal_error", "the search broke");
        ending::store(context, &job.run, ending);
    }
    context.driving_batches.fetch_sub(of_batch, Ordering::Relaxed);
    context.driving.fetch_sub(1, Ordering::Relaxed);
}

fn drive_to_its_end(context: &Arc<RunContext>, job: &Job) {
    let run = &job.run;
    let mut driver = Driver::new(context, job);
    driver.skip_unsuitable(&job.gone);
    while run.stopped().is_none() && !driver.store_refuses() {
        if driver.is_finished() && !driver.look_up_next() {
            break;
        }
        driver.dispatch();
        driver.fetch_pictures();
        driver.receive();
        driver.give_up_late();
        driver.record();
        driver.checkpoint_if_due();
    }
    match run.stopped() {
        None => driver.finish(),
        Some(Stopped::Shutdown) => driver.checkpoint(),
        Some(Stopped::Deleted | Stopped::LeaseLost) => {}
    }
}

struct Driver<'a> {
    context: &'a Arc<RunContext>,
    run: &'a Arc<LiveRun>,
    /// The query of the run.
    query: Arc<Query>,
    lanes: Lanes,
    /// What the modules in the lanes are asked for.
    subjects: Vec<Subject>,
    running: RunningChecks,
    /// The run's share of the browsers. It has one as long as it has checks for them.
    share: Option<Share<'a>>,
    sender: Sender<Message>,
    receiver: Receiver<Message>,
    turns: Turns,
    limit: TimeLimit,
    /// The time at which the latest check ended. Results are dated by it, so that their dates are in the order of
    /// their ids.
    newest: Timestamp,
    found: UnstoredResults,
    /// The look-ups that have ended since results were last stored.
    ended_lookups: Vec<EndedLookup>,
    pictures: Pictures,
    health_updates: HealthUpdates,
    on_open_circuit: OnOpenCircuit,
    /// Whether a module that queries a site, rather than a local list, had no conclusion for any reason.
    site_failed: bool,
    reports: Vec<ModuleReport>,
    retry: Retry,
    checkpoint_at: Instant,
}

/// What a module is asked for.
#[derive(Clone)]
struct Subject {
    query: Arc<Query>,
    /// The index of the look-up, or `None` for a module of the run's own search.
    lookup: Option<usize>,
}

/// The end of a look-up. It is recorded after its results were stored.
struct EndedLookup {
    place: usize,
    outcome: Outcome,
    reason: Option<Reason>,
}

enum Message {
    Ended {
        place: usize,
        report: Arc<Report>,
        is_shared: bool,
        took: Duration,
        at: Timestamp,
    },
    /// A module's turn at a host has come.
    Turn(usize),
    /// A picture was fetched, or is given up.
    Picture {
        result: u32,
        avatar: Option<Avatar>,
    },
    /// A host that a picture waits for is free.
    PictureTurn,
    /// The run was stopped.
    Stop,
}

impl<'a> Driver<'a> {
    fn new(context: &'a Arc<RunContext>, job: &'a Job) -> Self {
        let run = &job.run;
        let (sender, receiver) = channel();
        let stop = sender.clone();
        // A driver that has ended needs no wake-up.
        run.set_driver(Arc::new(move || drop(stop.send(Message::Stop))));
        let now = Instant::now();
        let lanes = Lanes::new(job.modules.clone(), &context.health);
        let query = Arc::new(job.query.clone());
        let subjects = vec![Subject { query: Arc::clone(&query), lookup: None }; job.modules.len()];
        Self {
            context,
            run,
            query,
            subjects,
            share: lanes.has_browser().then(|| context.browsing.share()),
            lanes,
            running: RunningChecks::default(),
            sender,
            receiver,
            turns: Turns::default(),
            limit: TimeLimit::of(run, context.limits.run_timeout),
            newest: context.clock.now(),
            found: UnstoredResults::of(run),
            ended_lookups: Vec::new(),
            pictures: Pictures::of(run),
            health_updates: HealthUpdates::new(run.id(), job.earlier.site_concluded),
            on_open_circuit: if run.options().named { OnOpenCircuit::Ask } else { OnOpenCircuit::Skip },
            site_failed: job.earlier.site_failed,
            reports: Vec::new(),
            retry: Retry::default(),
            checkpoint_at: now + CHECKPOINT_EVERY,
        }
    }

    fn is_finished(&self) -> bool {
        self.has_no_checks() && !self.has_unrecorded() && self.pictures.are_over()
    }

    fn has_unrecorded(&self) -> bool {
        !self.found.is_empty() || !self.reports.is_empty() || !self.ended_lookups.is_empty()
    }

    fn has_no_checks(&self) -> bool {
        self.lanes.left() == 0 && self.running.is_empty()
    }

    /// Ends the modules that do not accept this query at once, without a worker.
    fn skip_unsuitable(&mut self, gone: &[String]) {
        let gone = gone.iter().map(|module| ModuleReport::skipped(module, module, Reason::Disabled));
        self.reports.extend(gone);
        for (place, module) in self.lanes.all() {
            if let Some(reason) = self.why_skipped(&module) {
                self.lanes.take(place);
                self.note(place, &module, Report::bare(Outcome::Skipped, reason), Duration::ZERO);
            }
        }
        self.record();
    }

    fn why_skipped(&self, module: &Module) -> Option<Reason> {
        let reason = module.why_skipped(&self.query, self.context.checker.keys());
        let lacks_browser = module.is_premium() && !self.context.browsing.is_configured();
        reason.or_else(|| lacks_browser.then_some(Reason::Unavailable))
    }

    /// Waits for a message, then handles all that have arrived.
    fn receive(&mut self) {
        if self.has_no_checks() && self.found.is_empty() && self.pictures.are_over() {
            return;
        }
        let mut until = self.checkpoint_at;
        let end = if self.lanes.left() > 0 {
            Some(self.limit.at)
        } else {
            (!self.running.is_empty()).then_some(self.limit.abandon_at)
        };
        let now = Instant::now();
        // What was noted without a message, such as an answer that an earlier search got, is recorded at once.
        let record = self.has_unrecorded().then(|| self.retry.at().unwrap_or(now));
        for moment in [end, self.turns.not_before(), record, self.pictures.end()].into_iter().flatten() {
            until = until.min(moment);
        }
        let wait = until.saturating_duration_since(now);
        match self.receiver.recv_timeout(wait) {
            Ok(message) => self.take(message),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(message) = self.receiver.try_recv() {
            self.take(message);
        }
    }

    fn take(&mut self, message: Message) {
        let (place, report, is_shared, took, at) = match message {
            Message::Ended { place, report, is_shared, took, at } => (place, report, is_shared, took, at),
            Message::Turn(place) => return self.turns.come(place),
            Message::Picture { result, avatar } => return self.take_picture(result, avatar),
            Message::PictureTurn | Message::Stop => return,
        };
        self.newest = self.newest.max(at);
        if let Some(check) = self.running.end(place) {
            match is_shared {
                true => self.note_shared(place, &check.module, &report),
                false => self.health_updates.take(&self.context.health, &check.module, &report, took, at),
            }
            self.note(place, &check.module, Arc::unwrap_or_clone(report), took);
        }
    }

    /// Abandons checks that exceed their deadlines, which must not block the run. A run that was stopped abandons all.
    fn give_up_late(&mut self) {
        let is_stopped = self.run.stopped_at().is_some();
        if self.running.is_empty() || !is_stopped && Instant::now() < self.limit.abandon_at {
            return;
        }
        for (place, check) in self.running.abandon() {
            let (outcome, reason) = match is_stopped {
                true => (Outcome::Skipped, Reason::Stopped),
                false => (Outcome::Timeout, self.limit.reason),
            };
            if reason == Reason::RunDeadline {
                let (run, module) = (self.run.id(), check.module.id());
                warn!("run {run}: module {module} exceeded its deadline and is abandoned");
            }
            self.note(place, &check.module, Report::bare(outcome, reason), check.since.elapsed());
        }
    }

    /// Numbers and merges the findings of a module, and keeps them for [`Self::record`].
    fn note(&mut self, place: usize, module: &Module, report: Report, took: Duration) {
        if let Some(at) = self.subjects[place].lookup {
            return self.note_lookup(at, module, report, took);
        }
        self.context.figures.note_check(module, &report, took, self.context.clock.now());
        let came_to_nothing =
            report.outcome.is_failure() || report.reason.is_some_and(Reason::is_local_fault);
        self.site_failed |= came_to_nothing && !module.reads_only_feeds();
        self.reports.push(ModuleReport {
            module: module.id().to_string(),
            platform: module.platform().to_owned(),
            status: report.outcome,
            reason: report.reason,
            http_status: report.evidence.http_status,
            elapsed_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            circuit: report.evidence.circuit.filter(|_| report.reason.is_some_and(Reason::has_circuit)),
            rules: report.evidence.rules,
            partial: report.evidence.partial,
        });
        if let Some(cut) = report.reason.and_then(Cut::of) {
            self.context.figures.note_cut(cut);
        }
        for finding in report.findings {
            self.found.take(self.run, module.id(), finding, self.newest);
        }
    }

    /// Stores the noted results, then publishes them. While the store fails they are kept, and no reader sees them.
    fn record(&mut self) {
        if !self.found.is_empty() {
            if !self.retry.is_due() {
                return;
            }
            let batch = self.found.next_try();
            let added = batch.added.len() as u64;
            match self.context.journal.add_results(self.run.id(), self.run.lease(), batch) {
                Ok(Write::Done | Write::Stopped(_)) => {
                    self.retry = Retry::default();
                    self.context.figures.results.add(added);
                }
                Ok(Write::LeaseLost) => return self.run.lose(),
                Err(error) => return self.retry.again(self.run, &error),
            }
        }
        self.record_lookups();
        let stored = self.found.stored();
        self.pictures.take(&stored);
        self.run.publish(stored, std::mem::take(&mut self.reports));
    }

    fn checkpoint_if_due(&mut self) {
        if Instant::now() >= self.checkpoint_at || self.run.take_checkpoint_request() {
            self.run.announce_changes();
            // The checks before them in a queue may have ended without taking their turns.
            self.turns.try_all();
            self.checkpoint();
            self.checkpoint_at = Instant::now() + CHECKPOINT_EVERY;
        }
    }

    fn checkpoint(&self) {
        let context = self.context;
        let checkpoint = self.run.checkpoint();
        let holds = context.limits.lease;
        match context.journal.checkpoint(self.run.id(), self.run.lease(), &checkpoint, holds) {
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
        let patience = if self.has_no_checks() { self.context.limits.store_patience } else { Duration::MAX };
        self.retry.is_hopeless(patience)
    }

    fn finish(mut self) {
        let ending = if self.store_refuses() {
            self.run.publish(Batch::default(), std::mem::take(&mut self.reports));
            ending::not_stored(self.context)
        } else if let Some(message) = self.failure() {
            match self.run.stopped_at() {
                Some(_) => ending::stopped(self.context),
                None => ending::failed(self.context, "no_conclusion", message),
            }
        } else {
            self.start_children();
            Ending { status: Status::Completed, error: None, completed_at: self.context.clock.now() }
        };
        ending::store(self.context, self.run, ending);
    }

    /// Returns why the run fails if its own modules have ended, or `None` if it is worth its price.
    fn failure(&self) -> Option<&'static str> {
        if self.run.summary().coverage.conclusive() == 0 {
            return Some("no module came to a conclusion");
        }
        // Results from local lists are shown, but they alone do not justify the price of a search.
        let has_only_lists = self.site_failed && !self.health_updates.has_conclusion();
        has_only_lists.then_some("no site that was asked gave a conclusion")
    }
}
