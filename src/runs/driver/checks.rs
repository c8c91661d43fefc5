//! [`Checks`]: the modules that a run asks, and starting their checks.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use log::warn;

use super::message::Message;
use super::recorder::{Answer, Asked, Recorder};
use super::running::RunningChecks;
use super::turns::Turns;
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::query::Query;
use crate::modules::reason::Reason;
use crate::runs::adaptive_limit::Feedback;
use crate::runs::browsing::Share;
use crate::runs::checking::{check_guarded, control_guarded, denied_report};
use crate::runs::context::RunContext;
use crate::runs::health::circuits::OnOpenCircuit;
use crate::runs::host_limiter::{Admission, Permit, Requester, Waker};
use crate::runs::lanes::{Lane, Lanes};
use crate::runs::live::LiveRun;
use crate::runs::shared_answers::Checked;
use crate::runs::time_limit::TimeLimit;

/// The expected duration of a check from which on its control check does not wait for a hit.
const SLOW: Duration = Duration::from_millis(1500);

/// The modules that a run asks: those that wait, and those whose checks run.
pub(super) struct Checks<'a> {
    context: &'a Arc<RunContext>,
    run: &'a Arc<LiveRun>,
    limit: TimeLimit,
    on_open_circuit: OnOpenCircuit,
    sender: Sender<Message>,
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

/// Returns who asks for a turn at a host.
pub(super) fn requester<'w>(run: &LiveRun, waker: &'w Waker) -> Requester<'w> {
    Requester { waker, account: Some(run.opening().account), is_of_batch: run.opening().batch.is_some() }
}

impl<'a> Checks<'a> {
    pub(super) fn new(
        context: &'a Arc<RunContext>,
        run: &'a Arc<LiveRun>,
        limit: TimeLimit,
        modules: Vec<Arc<Module>>,
        query: Arc<Query>,
        sender: Sender<Message>,
    ) -> Self {
        let subjects = vec![Subject { query, lookup: None }; modules.len()];
        let lanes = Lanes::new(modules, &context.health);
        Self {
            context,
            run,
            limit,
            on_open_circuit: if run.opening().options.named {
                OnOpenCircuit::Ask
            } else {
                OnOpenCircuit::Skip
            },
            sender,
            share: lanes.has_browser().then(|| context.browsing.share()),
            lanes,
            subjects,
            running: RunningChecks::default(),
            turns: Turns::default(),
        }
    }

    /// Asks further modules, after all have ended. Returns `false` if there are none.
    pub(super) fn begin_round(&mut self, round: Round) -> bool {
        let (modules, subjects) = round.into_iter().unzip();
        self.lanes = Lanes::new(modules, &self.context.health);
        self.subjects = subjects;
        self.lanes.left() > 0
    }

    /// Returns whether no module waits and no check runs.
    pub(super) fn are_over(&self) -> bool {
        self.lanes.left() == 0 && self.running.is_empty()
    }

    /// Returns the moment at which there is something to do without a message, if there is one.
    pub(super) fn due(&self) -> Option<Instant> {
        let end = if self.lanes.left() > 0 {
            Some(self.limit.at)
        } else {
            (!self.running.is_empty()).then_some(self.limit.abandon_at)
        };
        end.into_iter().chain(self.turns.not_before()).min()
    }

    /// Ends the modules that do not accept this query at once, without a worker.
    pub(super) fn skip_unsuitable(&mut self, recorder: &mut Recorder) {
        for (place, module) in self.lanes.all() {
            if let Some(reason) = self.why_skipped(&module, &self.subjects[place].query) {
                self.pass_over(place, module, Report::bare(Outcome::Skipped, reason), recorder);
            }
        }
    }

    fn why_skipped(&self, module: &Module, query: &Query) -> Option<Reason> {
        let reason = module.why_skipped(query, self.context.checker.keys());
        let lacks_browser = module.is_premium() && !self.context.browsing.is_configured();
        reason.or_else(|| lacks_browser.then_some(Reason::Unavailable))
    }

    /// Starts as many checks as the window, the hosts and the browsers allow.
    pub(super) fn dispatch(&mut self, recorder: &mut Recorder) {
        self.turns.forget_times();
        if self.run.signals.stopped_at().is_some() {
            return self.end_all(Outcome::Skipped, Reason::Stopped, recorder);
        }
        if Instant::now() >= self.limit.at {
            return self.end_all(Outcome::Timeout, self.limit.reason, recorder);
        }
        self.take_turns(recorder);
        let window = self.context.window(self.run.opening().batch.is_some(), self.running.in_window());
        self.fill(Lane::Tail, window, window / 4, recorder);
        self.fill(Lane::Front, window, window, recorder);
        self.fill(Lane::Browser, window, self.context.browsing.window(), recorder);
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
        if let Some(report) = self.context.shared_answers.get(self.run, &module, &query) {
            let (report, at) = (report.into(), self.context.clock.now());
            let answer = Answer { report, is_shared: true, took: Duration::ZERO, at };
            return recorder.take(&self.remove(place, module), answer);
        }
        let waker = self.turns.waker(place, || {
            let sender = self.sender.clone();
            Arc::new(move || drop(sender.send(Message::Turn(place))))
        });
        match self.admit(&module, &query, &waker) {
            Admission::Granted(permit) => self.start(place, module, query, lane, permit),
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

    fn admit(&self, module: &Module, query: &Query, waker: &Waker) -> Admission {
        let Self { context, run, on_open_circuit, .. } = self;
        let requester = requester(run, waker);
        context.host_limiter.admit_check(&context.checker, module, query, *on_open_circuit, requester)
    }

    fn start(&mut self, place: usize, module: Arc<Module>, query: Arc<Query>, lane: Lane, permit: Permit) {
        let asked = self.remove(place, Arc::clone(&module));
        self.running.begin(place, asked, lane);
        if self.context.health.expected(module.id()) >= SLOW {
            self.control_early(&module, &query);
        }
        let (context, run) = (Arc::clone(self.context), Arc::clone(self.run));
        let (sender, limit) = (self.sender.clone(), self.limit);
        let job = move || {
            if run.signals.wants_no_checks() {
                // The driver has abandoned the check while it waited for a worker.
                return;
            }
            let began = Instant::now();
            let Checked { report, is_shared } =
                check_guarded(&context, &run, &module, &query, &permit, limit);
            if !is_shared {
                permit.note_evidence(&module, &report.evidence);
            }
            context.note_pauses(&report.pauses);
            // The host becomes free before the driver handles the report.
            permit.end(if is_shared { Feedback::Neutral } else { Feedback::of(&report) });
            let (took, at) = (began.elapsed(), context.clock.now());
            // The driver may have abandoned the check.
            let _ = sender.send(Message::Ended { place, answer: Answer { report, is_shared, took, at } });
        };
        match lane {
            Lane::Browser => self.context.browsing.execute(job),
            Lane::Front | Lane::Tail => self.context.pool.execute(job),
        }
    }

    /// Starts the control check that a hit of a slow module would wait for. Otherwise such a hit takes twice as long as
    /// the site.
    fn control_early(&self, module: &Arc<Module>, query: &Arc<Query>) {
        let (context, entry) = (Arc::clone(self.context), module.entry());
        let has_rate = entry.every_ms.is_some() || entry.per_day.is_some();
        if has_rate || module.is_premium() || !context.checker.needs_control(module, query) {
            return;
        }
        // It does not wait for a host: it is only worth a request that delays no other check.
        let no_waker: Waker = Arc::new(|| {});
        let Admission::Granted(permit) = self.admit(module, query, &no_waker) else { return };
        let (module, query) = (Arc::clone(module), Arc::clone(query));
        let (run, ceiling) = (Arc::clone(self.run), self.limit.at);
        self.context.pool.execute(move || {
            if !run.signals.wants_no_checks() {
                control_guarded(&context, &module, &query, &permit, ceiling);
            }
        });
    }

    /// Removes a check that has ended. Returns `None` if it was abandoned before.
    pub(super) fn end(&mut self, place: usize) -> Option<Asked> {
        self.running.end(place)
    }

    /// Abandons checks that exceed their deadlines, which must not block the run. A run that was stopped abandons all.
    pub(super) fn give_up_late(&mut self, recorder: &mut Recorder) {
        let is_stopped = self.run.signals.stopped_at().is_some();
        if self.running.is_empty() || !is_stopped && Instant::now() < self.limit.abandon_at {
            return;
        }
        for (asked, since) in self.running.abandon() {
            let (outcome, reason) = match is_stopped {
                true => (Outcome::Skipped, Reason::Stopped),
                false => (Outcome::Timeout, self.limit.reason),
            };
            if reason == Reason::RunDeadline {
                let (run, module) = (self.run.id(), asked.module.id());
                warn!("run {run}: module {module} exceeded its deadline and is abandoned");
            }
            recorder.note(&asked, Report::bare(outcome, reason), since.elapsed());
        }
    }
}
