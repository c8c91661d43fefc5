//! The thread that takes one run from its start to its end: dispatch checks, receive what they come to,
//! store results, publish them, checkpoint, finish.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::{error, warn};

use super::browsing::Share;
use super::courtesy::{Admission, Permit, Waker};
use super::ending::{self, Retry};
use super::findings::Findings;
use super::health::Lessons;
use super::journal::{Batch, Ending, Write};
use super::lanes::{Lane, Lanes};
use super::live::{LiveRun, Stopped};
use super::run::{ModuleReport, Status};
use super::scheduler::Job;
use super::workshop::Workshop;
use crate::modules::module::Module;
use crate::modules::outcome::{Evidence, Outcome, RETRY_AFTER, Report};
use crate::modules::query::Query;
use crate::modules::terms::Terms;

/// How often a driver checkpoints, renews its lease and tells readers which results have changed.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
/// Why a module was not asked any more, or not to the end: the run's ceiling had come.
pub(super) const RUN_DEADLINE: &str = "run_deadline";
/// Why a module was not asked: no browser is configured.
const NO_BROWSER: &str = "unavailable";
/// How long checks may outlive the run's ceiling before they are given up.
const CEILING_GRACE: Duration = Duration::from_secs(5);
/// Drives a run to its end, or until it is stopped.
pub fn drive(workshop: &Arc<Workshop>, job: &Job) {
    let run = &job.run;
    let mut driver = Driver::new(workshop, job);
    driver.skip_unsuitable(&job.gone);
    while run.stopped().is_none() && !driver.is_finished() && !driver.store_refuses() {
        driver.dispatch();
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

/// Ends a run that cannot be driven; its readers are told, its credits come back.
pub fn fail(workshop: &Workshop, run: &LiveRun, message: &str) {
    ending::store(workshop, run, ending::failed(workshop, "internal_error", message));
}

struct Driver<'a> {
    workshop: &'a Arc<Workshop>,
    run: &'a Arc<LiveRun>,
    query: Arc<Query>,
    lanes: Lanes,
    under_way: HashMap<usize, UnderWay>,
    in_tail: usize,
    in_browser: usize,
    /// This run's share of the browsers, as long as it has checks for them.
    share: Option<Share<'a>>,
    sender: Sender<Message>,
    receiver: Receiver<Message>,
    waker: Waker,
    not_before: Option<Instant>,
    ceiling: Instant,
    /// When the newest check ended: results are dated by it, so that their dates follow their ids.
    newest: Timestamp,
    found: Findings,
    lessons: Lessons,
    /// Whether a module that asks sites, not lists alone, came to nothing.
    site_failed: bool,
    reports: Vec<ModuleReport>,
    retry: Retry,
    checkpoint_at: Instant,
}

struct UnderWay {
    module: Arc<Module>,
    lane: Lane,
    since: Instant,
}

enum Message {
    Ended {
        place: usize,
        report: Box<Report>,
        took: Duration,
        at: Timestamp,
    },
    /// A host may have a place, or the run was stopped: look again.
    Wake,
}

impl<'a> Driver<'a> {
    fn new(workshop: &'a Arc<Workshop>, job: &'a Job) -> Self {
        let run = &job.run;
        let (sender, receiver) = channel();
        let wake = sender.clone();
        // A driver that has ended needs no waking.
        let waker: Waker = Arc::new(move || drop(wake.send(Message::Wake)));
        run.set_driver(Arc::clone(&waker));
        let now = Instant::now();
        let lanes = Lanes::new(job.modules.clone(), &workshop.health);
        Self {
            workshop,
            run,
            query: Arc::new(job.query.clone()),
            share: lanes.has_browser().then(|| workshop.browsing.share()),
            lanes,
            under_way: HashMap::new(),
            in_tail: 0,
            in_browser: 0,
            sender,
            receiver,
            waker,
            not_before: None,
            ceiling: now + workshop.limits.run_timeout,
            newest: workshop.clock.now(),
            found: Findings::of(run),
            lessons: Lessons::new(job.earlier.site_concluded),
            site_failed: job.earlier.site_failed,
            reports: Vec::new(),
            retry: Retry::default(),
            checkpoint_at: now + CHECKPOINT_EVERY,
        }
    }

    fn is_finished(&self) -> bool {
        self.lanes.left() == 0
            && self.under_way.is_empty()
            && self.found.is_empty()
            && self.reports.is_empty()
    }

    /// Modules that this query cannot be asked of end at once, without a worker.
    fn skip_unsuitable(&mut self, gone: &[String]) {
        self.reports.extend(gone.iter().map(|module| ModuleReport {
            module: module.clone(),
            platform: module.clone(),
            status: Outcome::Skipped,
            reason: Some("disabled".to_owned()),
            http_status: None,
            elapsed_ms: 0,
        }));
        for (place, module) in self.lanes.all() {
            if let Some(reason) = self.why_skipped(&module) {
                self.lanes.take(place);
                self.note(&module, bare_report(Outcome::Skipped, reason), Duration::ZERO);
            }
        }
        self.record();
    }

    fn why_skipped(&self, module: &Module) -> Option<&'static str> {
        let reason = module.why_skipped(&self.query, self.workshop.checker.keys());
        let lacks_browser = module.is_premium() && !self.workshop.browsing.is_configured();
        reason.or_else(|| lacks_browser.then_some(NO_BROWSER))
    }

    fn dispatch(&mut self) {
        self.not_before = None;
        if Instant::now() >= self.ceiling {
            for module in self.lanes.drain() {
                self.note(&module, bare_report(Outcome::Timeout, RUN_DEADLINE), Duration::ZERO);
            }
            return;
        }
        let window = self.workshop.window();
        self.fill(Lane::Tail, window, window / 4);
        self.fill(Lane::Front, window, window);
        self.fill(Lane::Browser, window, self.workshop.browsing.window());
        if self.in_browser == 0 && !self.lanes.has_browser() {
            self.share = None;
        }
    }

    fn is_full(&self, lane: Lane, window: usize, share: usize) -> bool {
        let in_window = self.under_way.len() - self.in_browser;
        match lane {
            Lane::Front => in_window >= window,
            Lane::Tail => in_window >= window || self.in_tail >= share,
            Lane::Browser => self.in_browser >= share,
        }
    }

    fn fill(&mut self, lane: Lane, window: usize, share: usize) {
        if self.is_full(lane, window, share) || self.lanes.left() == 0 {
            return;
        }
        for (place, module) in self.lanes.waiting(lane) {
            match self.admit(&module) {
                Admission::Granted(permit) => self.start(place, module, lane, permit),
                Admission::HostBusy => {}
                Admission::NotBefore(at) => {
                    self.not_before = Some(self.not_before.map_or(at, |known| known.min(at)));
                }
                Admission::DailyLimit => self.pass_over(place, &module, Outcome::Skipped, "daily_limit"),
                Admission::Paused => self.pass_over(place, &module, Outcome::RateLimited, RETRY_AFTER),
            }
            if self.is_full(lane, window, share) {
                return;
            }
        }
    }

    fn pass_over(&mut self, place: usize, module: &Module, outcome: Outcome, reason: &str) {
        self.lanes.take(place);
        self.note(module, bare_report(outcome, reason), Duration::ZERO);
    }

    fn admit(&self, module: &Module) -> Admission {
        self.workshop.courtesy.admit_check(&self.workshop.checker, module, &self.query, &self.waker)
    }

    fn start(&mut self, place: usize, module: Arc<Module>, lane: Lane, permit: Permit) {
        self.lanes.take(place);
        self.in_tail += usize::from(lane == Lane::Tail);
        self.in_browser += usize::from(lane == Lane::Browser);
        self.under_way.insert(place, UnderWay { module: Arc::clone(&module), lane, since: Instant::now() });
        let (workshop, query) = (Arc::clone(self.workshop), Arc::clone(&self.query));
        let (sender, ceiling, run) = (self.sender.clone(), self.ceiling, Arc::clone(self.run));
        let job = move || {
            if run.stopped().is_some() {
                // It waited for a worker meanwhile; nobody wants to know any more.
                return;
            }
            let began = Instant::now();
            let report = Box::new(check_guarded(&workshop, &module, &query, ceiling));
            if !workshop.simulated {
                workshop.courtesy.pause(&report.pauses, Instant::now());
            }
            // The host is free for others before the driver gets round to the answer.
            drop(permit);
            // The driver may have given the check up.
            let (took, at) = (began.elapsed(), workshop.clock.now());
            let _ = sender.send(Message::Ended { place, report, took, at });
        };
        match lane {
            Lane::Browser => self.workshop.browsing.execute(job),
            Lane::Front | Lane::Tail => self.workshop.pool.execute(job),
        }
    }

    /// Waits for something to do, then takes all that has come.
    fn receive(&mut self) {
        if self.lanes.left() == 0 && self.under_way.is_empty() && self.found.is_empty() {
            return;
        }
        let mut until = self.checkpoint_at;
        let ceiling = if self.lanes.left() > 0 {
            Some(self.ceiling)
        } else {
            (!self.under_way.is_empty()).then_some(self.ceiling + CEILING_GRACE)
        };
        let retry = (!self.found.is_empty()).then(|| self.retry.at()).flatten();
        for moment in [ceiling, self.not_before, retry].into_iter().flatten() {
            until = until.min(moment);
        }
        let wait = until.saturating_duration_since(Instant::now());
        match self.receiver.recv_timeout(wait) {
            Ok(message) => self.take(message),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(message) = self.receiver.try_recv() {
            self.take(message);
        }
    }

    fn take(&mut self, message: Message) {
        let Message::Ended { place, report, took, at } = message else { return };
        self.newest = self.newest.max(at);
        if let Some(check) = self.end_of(place) {
            self.lessons.take(&self.workshop.health, check.module.id(), &report, took, at);
            self.note(&check.module, *report, took);
        }
    }

    fn end_of(&mut self, place: usize) -> Option<UnderWay> {
        let check = self.under_way.remove(&place)?;
        self.in_tail -= usize::from(check.lane == Lane::Tail);
        self.in_browser -= usize::from(check.lane == Lane::Browser);
        Some(check)
    }

    /// Checks end by their own deadline. One that does not must not hold up the run.
    fn give_up_late(&mut self) {
        if self.under_way.is_empty() || Instant::now() < self.ceiling + CEILING_GRACE {
            return;
        }
        let places: Vec<usize> = self.under_way.keys().copied().collect();
        for place in places {
            if let Some(check) = self.end_of(place) {
                warn!("run {}: module {} outlived its deadline", self.run.id(), check.module.id());
                self.note(&check.module, bare_report(Outcome::Timeout, RUN_DEADLINE), check.since.elapsed());
            }
        }
    }

    /// Numbers and merges the findings, and keeps everything for [`Self::record`].
    fn note(&mut self, module: &Module, report: Report, took: Duration) {
        self.site_failed |= report.outcome.is_failure() && !module.reads_lists_alone();
        self.reports.push(ModuleReport {
            module: module.id().to_string(),
            platform: module.platform().to_owned(),
            status: report.outcome,
            reason: report.reason,
            http_status: report.evidence.http_status,
            elapsed_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
        self.workshop.figures.note_check(self.query.search_type(), report.outcome, took);
        for finding in report.findings {
            self.found.take(self.run, module.id(), finding, self.newest);
        }
    }

    /// Stores what has been noted, then publishes it. While the store does not take results, they are
    /// kept, and nobody sees them.
    fn record(&mut self) {
        if !self.found.is_empty() {
            if !self.retry.is_due() {
                return;
            }
            let batch = self.found.next_try();
            let added = batch.added.len() as u64;
            match self.workshop.journal.add_results(self.run.id(), self.run.lease(), batch) {
                Ok(Write::Done) => {
                    self.retry = Retry::default();
                    self.workshop.figures.results.add(added);
                }
                Ok(Write::LeaseLost) => return self.run.lose(),
                Err(error) => return self.retry.again(self.run, &error),
            }
        }
        self.run.publish(self.found.stored(), std::mem::take(&mut self.reports));
    }

    fn checkpoint_if_due(&mut self) {
        if Instant::now() >= self.checkpoint_at {
            self.run.announce_changes();
            self.checkpoint();
            self.checkpoint_at = Instant::now() + CHECKPOINT_EVERY;
        }
    }

    fn checkpoint(&self) {
        let workshop = self.workshop;
        let checkpoint = self.run.checkpoint();
        let holds = workshop.limits.lease;
        match workshop.journal.checkpoint(self.run.id(), self.run.lease(), &checkpoint, holds) {
            Ok(Write::Done) => {}
            Ok(Write::LeaseLost) => self.run.lose(),
            Err(error) => warn!("run {}: no checkpoint: {error}", self.run.id()),
        }
    }

    /// Whether what was found can no longer be stored: then the run ends as failed.
    fn store_refuses(&self) -> bool {
        let is_idle = self.under_way.is_empty() && self.lanes.left() == 0;
        let patience = if is_idle { self.workshop.limits.store_patience } else { Duration::MAX };
        self.retry.is_hopeless(patience)
    }

    fn finish(mut self) {
        let ending = if self.store_refuses() {
            self.run.publish(Batch::default(), std::mem::take(&mut self.reports));
            ending::not_stored(self.workshop)
        } else if self.run.summary().coverage.conclusive == 0 {
            ending::failed(self.workshop, "no_conclusion", "not one module came to a conclusion")
        } else if self.site_failed && !self.lessons.has_conclusion() {
            // What lists at hand say is shown, and not worth the price of a search.
            ending::failed(self.workshop, "no_conclusion", "not one site that was asked gave a conclusion")
        } else {
            Ending { status: Status::Completed, error: None, completed_at: self.workshop.clock.now() }
        };
        ending::store(self.workshop, self.run, ending);
    }
}

fn check_guarded(workshop: &Workshop, module: &Module, query: &Query, ceiling: Instant) -> Report {
    let now = Instant::now();
    if now >= ceiling {
        return bare_report(Outcome::Timeout, RUN_DEADLINE);
    }
    let own_deadline = now + workshop.limits.check_timeout;
    let deadline = ceiling.min(own_deadline);
    let terms = Terms { deadline, ceiling, paused: &workshop.courtesy };
    // A panic is that module's error and nothing more. What a check shares with others (the checker's
    // caches) is behind locks that do not poison.
    let check = AssertUnwindSafe(|| workshop.checker.check(module, query, terms));
    let mut report = catch_unwind(check).unwrap_or_else(|_| {
        error!("module {} panicked", module.id());
        bare_report(Outcome::Error, "panic")
    });
    // With its whole time the site might have answered.
    if report.outcome == Outcome::Timeout && deadline < own_deadline {
        report.reason = Some(RUN_DEADLINE.to_owned());
    }
    report
}

/// A report on a check that was not made, or came to nothing.
pub(super) fn bare_report(outcome: Outcome, reason: &str) -> Report {
    Report {
        outcome,
        reason: Some(reason.to_owned()),
        evidence: Evidence::default(),
        findings: Vec::new(),
        pauses: Vec::new(),
    }
}
