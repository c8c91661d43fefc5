//! [`Checks`]: the modules that a run asks, and which of them are asked next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::warn;

use super::check_starter::CheckStarter;
use super::recorder::{Asked, Recorder};
use super::running::RunningChecks;
use super::turns::Turns;
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::query::Query;
use crate::modules::reason::Reason;
use crate::runs::browsing::Share;
use crate::runs::checking::denied_report;
use crate::runs::host_limiter::Admission;
use crate::runs::lanes::{self, Lane, Lanes};

/// The modules that a run asks: those that wait, and those whose checks run.
pub(super) struct Checks<'a> {
    starter: CheckStarter<'a>,
    lanes: Lanes,
    /// The queries for the modules in the lanes.
    subjects: Vec<Subject>,
    running: RunningChecks,
    pub(super) turns: Turns,
    /// The run's share of the browsers. It has one as long as it has checks for them.
    share: Option<Share<'a>>,
}

/// Modules that are asked after those of the search, each with its query.
pub(super) type Round = Vec<(Arc<Module>, Subject)>;

/// The query for a module.
#[derive(Clone)]
pub(super) struct Subject {
    query: Arc<Query>,
    /// The index of the look-up, or `None` for a module of the run's own search.
    lookup: Option<usize>,
}

impl Subject {
    pub(super) fn of_lookup(query: Query, at: usize) -> Self {
        Self { query: Arc::new(query), lookup: Some(at) }
    }
}

fn ordered(starter: &CheckStarter<'_>, modules: Vec<Arc<Module>>, subjects: &[Subject]) -> Lanes {
    let asked = modules.iter().zip(subjects);
    let at_once: Vec<u32> = asked.map(|(module, subject)| starter.at_once(module, &subject.query)).collect();
    Lanes::new(modules, &at_once, &starter.context.health)
}

impl<'a> Checks<'a> {
    pub(super) fn new(starter: CheckStarter<'a>, modules: Vec<Arc<Module>>, query: Arc<Query>) -> Self {
        let subjects = vec![Subject { query, lookup: None }; modules.len()];
        let lanes = ordered(&starter, modules, &subjects);
        Self {
            share: lanes.has_browser().then(|| starter.context.browsing.share()),
            starter,
            lanes,
            subjects,
            running: RunningChecks::default(),
            turns: Turns::default(),
        }
    }

    /// Asks further modules, after all have ended. Returns `false` if there are none.
    pub(super) fn begin_round(&mut self, round: Round) -> bool {
        let (modules, subjects): (_, Vec<Subject>) = round.into_iter().unzip();
        self.lanes = ordered(&self.starter, modules, &subjects);
        self.subjects = subjects;
        self.turns.next_round();
        self.lanes.left() > 0
    }

    /// Returns whether no module waits and no check runs.
    pub(super) fn are_over(&self) -> bool {
        self.lanes.left() == 0 && self.running.is_empty()
    }

    /// Returns the moment at which there is something to do without a message, if there is one.
    pub(super) fn due(&self) -> Option<Instant> {
        let end = if self.lanes.left() > 0 {
            Some(self.starter.limit.at)
        } else {
            (!self.running.is_empty()).then_some(self.starter.limit.abandon_at)
        };
        let trials = if self.lanes.left() == 0 { self.running.trials_end() } else { None };
        end.into_iter().chain(trials).chain(self.turns.not_before()).min()
    }

    /// Ends the modules that do not accept this query at once, without a worker.
    pub(super) fn skip_unsuitable(&mut self, recorder: &mut Recorder) {
        for (place, module) in self.lanes.all() {
            if let Some(reason) = self.starter.why_skipped(&module, &self.subjects[place].query) {
                self.pass_over(place, module, Report::bare(Outcome::Skipped, reason), recorder);
            }
        }
    }

    /// Starts as many checks as the window, the hosts and the browsers allow.
    pub(super) fn dispatch(&mut self, recorder: &mut Recorder) {
        self.turns.forget_times();
        let CheckStarter { context, run, limit, .. } = self.starter;
        if run.signals.stopped_at().is_some() {
            return self.end_all(Outcome::Skipped, Reason::Stopped, recorder);
        }
        if Instant::now() >= limit.at {
            return self.end_all(Outcome::Timeout, limit.reason, recorder);
        }
        self.take_turns(recorder);
        let window = context.window(run.opening().batch.is_some(), self.running.in_window());
        for (lane, share) in lanes::filling(window) {
            self.fill(lane, window, share, recorder);
        }
        self.fill(Lane::Browser, window, context.browsing.window(), recorder);
        if self.running.in_browser() == 0 && !self.lanes.has_browser() {
            self.share = None;
        }
    }

    /// Ends all modules that have not been started.
    fn end_all(&mut self, outcome: Outcome, reason: Reason, recorder: &mut Recorder) {
        for (place, module) in self.lanes.all() {
            self.pass_over(place, module, Report::bare(outcome, reason), recorder);
        }
    }

    fn fill(&mut self, lane: Lane, window: usize, share: usize, recorder: &mut Recorder) {
        if self.running.is_full(lane, window, share) || self.lanes.left() == 0 {
            return;
        }
        for (place, module) in self.lanes.waiting(lane) {
            if !self.turns.is_awaited(place) {
                self.try_to_start(place, module, lane, recorder);
            }
            if self.running.is_full(lane, window, share) {
                return;
            }
        }
    }

    /// Starts the modules whose turn at a host has come, even if the window is full: other runs wait for the host, and
    /// the next turn may be far.
    fn take_turns(&mut self, recorder: &mut Recorder) {
        for place in self.turns.take() {
            // A module that needs a browser waits for one, too.
            if let Some(module) = self.lanes.get(place).filter(|module| !module.is_premium()) {
                self.try_to_start(place, module, Lane::Front, recorder);
            }
        }
    }

    fn try_to_start(&mut self, place: usize, module: Arc<Module>, lane: Lane, recorder: &mut Recorder) {
        let query = Arc::clone(&self.subjects[place].query);
        if let Some(answer) = self.starter.shared_answer(&module, &query) {
            return recorder.take(&self.remove(place, module), answer);
        }
        let round = self.turns.round();
        let waker = self.turns.waker(place, || self.starter.waker(round, place));
        match self.starter.admit(&module, &query, &waker) {
            Admission::Granted(permit) => {
                let asked = self.remove(place, Arc::clone(&module));
                self.running.begin(place, asked, lane, permit.first_trial());
                self.starter.start([round, place], module, query, lane, permit);
            }
            Admission::HostBusy => self.turns.wait(place, waker),
            Admission::NotBefore(at) => self.turns.wait_until(at),
            Admission::DailyLimit => {
                self.pass_over(place, module, Report::bare(Outcome::Skipped, Reason::DailyLimit), recorder);
            }
            Admission::Denied(denial) => self.pass_over(place, module, denied_report(denial), recorder),
        }
    }

    /// Removes a module that is asked now or never.
    fn remove(&mut self, place: usize, module: Arc<Module>) -> Asked {
        self.lanes.take(place);
        self.turns.remove(place);
        Asked { module, lookup: self.subjects[place].lookup }
    }

    /// Ends a module that is not asked.
    fn pass_over(&mut self, place: usize, module: Arc<Module>, report: Report, recorder: &mut Recorder) {
        recorder.note(&self.remove(place, module), report, Duration::ZERO);
    }

    /// Removes a check that has ended. Returns `None` if it was abandoned before.
    pub(super) fn end(&mut self, round: usize, place: usize) -> Option<Asked> {
        if round == self.turns.round() { self.running.end(place) } else { None }
    }

    /// Abandons checks that exceed their deadlines, which must not block the run, and trials when nothing else is awaited.
    /// A run that was stopped abandons all.
    pub(super) fn give_up(&mut self, recorder: &mut Recorder) {
        self.give_up_trials(recorder);
        let CheckStarter { run, limit, .. } = self.starter;
        let is_stopped = run.signals.stopped_at().is_some();
        if self.running.is_empty() || !is_stopped && Instant::now() < limit.abandon_at {
            return;
        }
        for (asked, since) in self.running.abandon() {
            let (outcome, reason) = match is_stopped {
                true => (Outcome::Skipped, Reason::Stopped),
                false => (Outcome::Timeout, limit.reason),
            };
            if reason == Reason::RunDeadline {
                let (run, module) = (run.id(), asked.module.id());
                warn!("run {run}: module {module} exceeded its deadline and is abandoned");
            }
            // Zero is the duration of checks that were not started.
            let took = since.elapsed().max(Duration::from_millis(1));
            recorder.note(&asked, Report::bare(outcome, reason), took);
        }
    }

    /// Abandons the trials of hosts whose circuit is open, if only they are left. They go on without the run: a success
    /// closes the circuit for the next search.
    fn give_up_trials(&mut self, recorder: &mut Recorder) {
        let is_due =
            self.lanes.left() == 0 && self.running.trials_end().is_some_and(|end| end <= Instant::now());
        if !is_due {
            return;
        }
        for (asked, host, since) in self.running.abandon_trials() {
            // Without a denial, the trial has just succeeded.
            let denial = self.starter.context.health.circuits.denial(&host);
            let report =
                denial.map_or_else(|| Report::bare(Outcome::Timeout, Reason::CircuitOpen), denied_report);
            recorder.note(&asked, report, since.elapsed());
        }
    }
}
