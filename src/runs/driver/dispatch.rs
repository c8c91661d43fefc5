//! Starting the checks of a run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Driver, Message};
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::query::Query;
use crate::modules::reason::Reason;
use crate::runs::adaptive_limit::Feedback;
use crate::runs::checking::{check_guarded, control_guarded, denied_report};
use crate::runs::host_limiter::{Admission, Permit, Requester, Waker};
use crate::runs::lanes::Lane;
use crate::runs::shared_answers::Checked;

/// The expected duration of a check from which on its control check does not wait for a hit.
const SLOW: Duration = Duration::from_millis(1500);

impl Driver<'_> {
    /// Starts as many checks as the window, the hosts and the browsers allow.
    pub(super) fn dispatch(&mut self) {
        self.turns.forget_times();
        if self.run.stopped_at().is_some() {
            return self.end_all(Outcome::Skipped, Reason::Stopped);
        }
        if Instant::now() >= self.limit.at {
            return self.end_all(Outcome::Timeout, self.limit.reason);
        }
        self.take_turns();
        let window = self.context.window(self.run.batch().is_some(), self.running.in_window());
        self.fill(Lane::Tail, window, window / 4);
        self.fill(Lane::Front, window, window);
        self.fill(Lane::Browser, window, self.context.browsing.window());
        if self.running.in_browser() == 0 && !self.lanes.has_browser() {
            self.share = None;
        }
    }

    /// Ends all modules that have not been started.
    fn end_all(&mut self, outcome: Outcome, reason: Reason) {
        for (place, module) in self.lanes.drain() {
            self.note(place, &module, Report::bare(outcome, reason), Duration::ZERO);
        }
    }

    fn fill(&mut self, lane: Lane, window: usize, share: usize) {
        if self.running.is_full(lane, window, share) || self.lanes.left() == 0 {
            return;
        }
        for (place, module) in self.lanes.waiting(lane) {
            if !self.turns.is_awaited(place) {
                self.try_to_start(place, module, lane);
            }
            if self.running.is_full(lane, window, share) {
                return;
            }
        }
    }

    /// Starts the modules whose turn at a host has come, even if the window is full: other runs wait for the host, and
    /// the next turn may be far.
    fn take_turns(&mut self) {
        for place in self.turns.take() {
            // A module that needs a browser waits for one, too.
            if let Some(module) = self.lanes.get(place).filter(|module| !module.is_premium()) {
                self.try_to_start(place, module, Lane::Front);
            }
        }
    }

    fn try_to_start(&mut self, place: usize, module: Arc<Module>, lane: Lane) {
        let query = Arc::clone(&self.subjects[place].query);
        if let Some(report) = self.context.shared_answers.get(self.run, &module, &query) {
            return self.share(place, &module, report);
        }
        let waker = self.turns.waker(place, || {
            let sender = self.sender.clone();
            Arc::new(move || drop(sender.send(Message::Turn(place))))
        });
        match self.admit(&module, &query, &waker) {
            Admission::Granted(permit) => self.start(place, module, lane, permit),
            Admission::HostBusy => self.turns.wait(place, waker),
            Admission::NotBefore(at) => self.turns.wait_until(at),
            Admission::DailyLimit => {
                self.pass_over(place, &module, Report::bare(Outcome::Skipped, Reason::DailyLimit));
            }
            Admission::Denied(denial) => self.pass_over(place, &module, denied_report(denial)),
        }
    }

    /// Removes a module that has been started or has ended.
    fn remove(&mut self, place: usize) {
        self.lanes.take(place);
        self.turns.remove(place);
    }

    fn pass_over(&mut self, place: usize, module: &Module, report: Report) {
        self.remove(place);
        self.note(place, module, report, Duration::ZERO);
    }

    /// Ends a module with the answer to an earlier check.
    fn share(&mut self, place: usize, module: &Module, report: Report) {
        self.remove(place);
        self.newest = self.newest.max(self.context.clock.now());
        self.note_shared(place, module, &report);
        self.note(place, module, report, Duration::ZERO);
    }

    pub(super) fn note_shared(&mut self, place: usize, module: &Module, report: &Report) {
        if report.outcome.is_conclusive() {
            self.context.figures.shared_answers.one();
            if !module.reads_only_feeds() && self.subjects[place].lookup.is_none() {
                self.health_updates.note_conclusion();
            }
        }
    }

    fn admit(&self, module: &Module, query: &Query, waker: &Waker) -> Admission {
        let Self { context, on_open_circuit, .. } = self;
        let requester = self.requester(waker);
        context.host_limiter.admit_check(&context.checker, module, query, *on_open_circuit, requester)
    }

    pub(super) fn requester<'w>(&self, waker: &'w Waker) -> Requester<'w> {
        Requester { waker, account: Some(self.run.account()), is_of_batch: self.run.batch().is_some() }
    }

    fn start(&mut self, place: usize, module: Arc<Module>, lane: Lane, permit: Permit) {
        self.remove(place);
        self.running.begin(place, Arc::clone(&module), lane);
        if self.context.health.expected(module.id()) >= SLOW {
            self.control_early(&module, place);
        }
        let (context, query) = (Arc::clone(self.context), Arc::clone(&self.subjects[place].query));
        let (sender, limit, run) = (self.sender.clone(), self.limit, Arc::clone(self.run));
        let job = move || {
            if run.stopped().is_some() || run.stopped_at().is_some() {
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
            // The driver may have abandoned the check.
            let (took, at) = (began.elapsed(), context.clock.now());
            let _ = sender.send(Message::Ended { place, report, is_shared, took, at });
        };
        match lane {
            Lane::Browser => self.context.browsing.execute(job),
            Lane::Front | Lane::Tail => self.context.pool.execute(job),
        }
    }

    /// Starts the control check that a hit of a slow module would wait for. Otherwise such a hit takes twice as long as
    /// the site.
    fn control_early(&self, module: &Arc<Module>, place: usize) {
        let query = Arc::clone(&self.subjects[place].query);
        let (context, entry) = (Arc::clone(self.context), module.entry());
        let has_rate = entry.every_ms.is_some() || entry.per_day.is_some();
        if has_rate || module.is_premium() || !context.checker.needs_control(module, &query) {
            return;
        }
        // It does not wait for a host: it is only worth a request that delays no other check.
        let no_waker: Waker = Arc::new(|| {});
        let Admission::Granted(permit) = self.admit(module, &query, &no_waker) else { return };
        let module = Arc::clone(module);
        let (run, ceiling) = (Arc::clone(self.run), self.limit.at);
        self.context.pool.execute(move || {
            if run.stopped().is_none() && run.stopped_at().is_none() {
                control_guarded(&context, &module, &query, &permit, ceiling);
            }
        });
    }
}
