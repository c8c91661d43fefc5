//! The modules that a run asks. They wait and run in the scheduler.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use log::{error, warn};

use super::recorder::{Answer, Asked};
use super::{Driver, Message, TimeLimit};
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::probe::Answered;
use crate::modules::query::Query;
use crate::modules::reason::Reason;
use crate::modules::terms::Terms;
use crate::runs::context::RunContext;
use crate::runs::live::{LiveRun, Stopped};
use crate::runs::scheduler::task::{Kind, Task};
use crate::runs::scheduler::{Feedback, Permit, Turn, Work, denied_report};
use crate::runs::shared_answers;

/// The least expected duration of a check whose control check does not wait for a hit.
const SLOW: Duration = Duration::from_millis(1500);

impl Driver<'_> {
    /// Asks modules. Those that do not accept their query end at once.
    pub(super) fn ask(&mut self, round: Vec<Asked>) {
        let mut tasks = Vec::with_capacity(round.len());
        let over = self.why_over();
        // The others end before the slowest check even if they need a control check, which is an additional request.
        let longest = round.iter().map(|asked| self.context.health.expected(asked.module.id())).max();
        let slow = SLOW.max(longest.unwrap_or_default() / 2);
        for asked in round {
            let skipped = self.why_skipped(&asked).map(|reason| (Outcome::Skipped, reason));
            if let Some((outcome, reason)) = skipped.or(over) {
                self.recorder.note(&asked, Report::bare(outcome, reason), Duration::ZERO);
                continue;
            }
            tasks.push(self.task(&asked, slow));
            self.open.insert(self.places, asked);
            self.places += 1;
        }
        self.group.add(tasks);
    }

    /// Returns why a module is not asked this query at all.
    fn why_skipped(&self, Asked { module, query, .. }: &Asked) -> Option<Reason> {
        let reason = module.why_skipped(query, self.context.checker.keys());
        let lacks_browser = module.is_premium() && !self.context.browsing.is_configured();
        reason.or_else(|| lacks_browser.then_some(Reason::Unavailable))
    }

    fn task(&self, Asked { module, query, .. }: &Asked, slow: Duration) -> (Task, Work) {
        let (context, account) = (self.context, self.run.opening().account);
        let expected = context.health.expected(module.id());
        let check = Check {
            context: Arc::clone(context),
            run: Arc::clone(self.run),
            limit: self.limit,
            module: Arc::clone(module),
            query: Arc::clone(query),
            controls_early: expected >= slow,
            place: self.places,
            sender: self.sender.clone(),
        };
        let question = context.scheduler.answers().question(account, module, query);
        let task = Task { question, expected, ..Task::of(module, query, self.places) };
        (task, Box::new(|turn| check.take(turn)))
    }

    /// Returns the moment at which checks must be given up without a message, if some are left.
    pub(super) fn checks_due(&self) -> Option<Instant> {
        if self.open.is_empty() {
            return None;
        }
        let look = self.group.look();
        let end = if look.has_waiting { self.limit.at } else { self.limit.abandon_at };
        Some(look.trials_end.map_or(end, |trials| trials.min(end)))
    }

    /// Gives up the checks that wait at the end of the run's time, those that run and exceed it, and trials when nothing
    /// else is awaited. A run that was stopped gives up all.
    pub(super) fn give_up(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let (now, is_stopped) = (Instant::now(), self.run.stopped_at().is_some());
        let look = self.group.look();
        if let Some((outcome, reason)) = self.why_over() {
            let waiting = if look.has_waiting { self.group.cancel() } else { Vec::new() };
            if is_stopped || now >= self.limit.abandon_at {
                return self.abandon(outcome, reason);
            }
            for asked in waiting.into_iter().filter_map(|place| self.open.remove(&place)) {
                self.recorder.note(&asked, Report::bare(outcome, reason), Duration::ZERO);
            }
        }
        if look.trials_end.is_some_and(|end| end <= now) {
            self.abandon_trials();
        }
    }

    /// Returns how checks end that have not begun, if none may begin any more.
    pub(super) fn why_over(&self) -> Option<(Outcome, Reason)> {
        if self.run.stopped_at().is_some() {
            return Some((Outcome::Skipped, Reason::Stopped));
        }
        (Instant::now() >= self.limit.at).then_some((Outcome::Timeout, self.limit.reason))
    }

    /// Gives up all checks.
    fn abandon(&mut self, outcome: Outcome, reason: Reason) {
        let begun = self.group.abandon();
        let begun: HashMap<usize, Instant> = begun.into_iter().map(|one| (one.place, one.since)).collect();
        for (place, asked) in self.open.drain() {
            // Zero is the duration of checks that were not started.
            let took = begun.get(&place).map(|since| since.elapsed().max(Duration::from_millis(1)));
            if took.is_some() && reason == Reason::RunDeadline {
                let (run, module) = (self.run.id(), asked.module.id());
                warn!("run {run}: module {module} exceeded its deadline and is abandoned");
            }
            self.recorder.note(&asked, Report::bare(outcome, reason), took.unwrap_or_default());
        }
    }

    /// Gives up the trials of hosts whose circuit is open, if only they are left. They go on without the run: a success
    /// closes the circuit for the next search.
    fn abandon_trials(&mut self) {
        for one in self.group.abandon() {
            let Some(asked) = self.open.remove(&one.place) else { continue };
            // Without a denial, the trial has just succeeded.
            let denial = one.trial.and_then(|host| self.context.health.circuits.denial(&host));
            let report =
                denial.map_or_else(|| Report::bare(Outcome::Timeout, Reason::CircuitOpen), denied_report);
            self.recorder.note(&asked, report, one.since.elapsed());
        }
    }
}

/// One check of a run.
struct Check {
    context: Arc<RunContext>,
    run: Arc<LiveRun>,
    limit: TimeLimit,
    module: Arc<Module>,
    query: Arc<Query>,
    /// Whether its control check begins with it.
    controls_early: bool,
    place: usize,
    sender: Sender<Message>,
}

impl Check {
    fn take(self, turn: Turn) {
        match turn {
            Ok(permit) => self.make(*permit),
            Err(report) => self.end((*report).into(), true, Duration::ZERO),
        }
    }

    fn make(self, permit: Permit) {
        let Self { context, run, module, .. } = &self;
        if run.wants_no_checks() {
            return;
        }
        if permit.first_trial().is_some() {
            self.send(Message::Other);
        }
        let (began, began_at) = (Instant::now(), context.clock.now());
        if self.controls_early {
            self.control_early(&permit, began);
        }
        let (mut report, had_full_time) = self.checked(&permit, began);
        permit.note_report(module, &report);
        context.health.note_further_failures(run.id(), &mut report, began_at);
        context.note_pauses(&report.pauses);
        let is_shareable = had_full_time && run.stopped() != Some(Stopped::Deleted);
        let shared = is_shareable.then(|| shared_answers::Answer::of(run.id(), &report)).flatten();
        // The host becomes free before the driver handles the report.
        permit.end(Feedback::of(&report), shared);
        self.end(report, false, began.elapsed());
    }

    /// Makes the check, which was started at `since`. Returns its report, and whether it had its full time.
    fn checked(&self, permit: &Permit, since: Instant) -> (Arc<Report>, bool) {
        let Self { context, run, limit, module, query, .. } = self;
        if since >= limit.at {
            return (bare(Outcome::Timeout, limit.reason), false);
        }
        let own_deadline = since + context.limits.check_timeout;
        let deadline = limit.at.min(own_deadline);
        // A trial has a separate time, which grows until a host that became slow is found again.
        let is_patient = run.opening().options.patient || permit.first_trial().is_some();
        let learned = (!is_patient).then(|| context.health.deadline(module, context.clock.now())).flatten();
        let answer_by = learned.map_or(deadline, |learned| deadline.min(since + learned));
        let (ceiling, trial) = (limit.at, permit.module_trial());
        let terms = Terms { since, answer_by, deadline, ceiling, hosts: permit, trial };
        // A panic is an error of this module only. The parts that a check shares with others, such as the checker's
        // caches, are behind locks that are not poisoned.
        let check = AssertUnwindSafe(|| Arc::from(context.checker.check(module, query, terms)));
        let mut report = catch_unwind(check).unwrap_or_else(|_| {
            error!("module {} panicked", module.id());
            bare(Outcome::Error, Reason::Panic)
        });
        let had_full_time = deadline == own_deadline;
        if !had_full_time {
            note_limit(&mut report, limit.reason);
        }
        (report, had_full_time)
    }

    fn end(&self, report: Arc<Report>, is_shared: bool, took: Duration) {
        let answer = Answer { report, is_shared, took, at: self.context.clock.now() };
        self.send(Message::Ended { place: self.place, answer });
    }

    /// Sends a message to the driver, which may have ended without the check.
    fn send(&self, message: Message) {
        let _ = self.sender.send(message);
    }

    /// Starts the control check that a hit of this check, which began at `began`, would wait for. Otherwise such a hit takes twice as long as
    /// the site. It does not wait for a host: it is only worth a request that delays no other check.
    fn control_early(&self, permit: &Permit, began: Instant) {
        let (context, entry) = (Arc::clone(&self.context), self.module.entry());
        let has_rate = entry.every_ms.is_some() || entry.per_day.is_some();
        let is_needed = context.checker.needs_control(&self.module, &self.query, began);
        if has_rate || self.module.is_premium() || !is_needed {
            return;
        }
        let (run, ceiling) = (Arc::clone(&self.run), self.limit.at);
        let (module, query) = (Arc::clone(&self.module), Arc::clone(&self.query));
        let work = move |turn: Turn| {
            // Checks of other runs may have begun it since. To wait for theirs would hold a place of the host.
            if let Ok(permit) = turn
                && !run.wants_no_checks()
                && context.checker.needs_control(&module, &query, began)
            {
                let deadline = ceiling.min(Instant::now() + context.limits.check_timeout);
                let hosts = &*permit;
                let terms =
                    Terms { since: began, answer_by: deadline, deadline, ceiling, hosts, trial: None };
                let control = AssertUnwindSafe(|| context.checker.control_early(&module, &query, terms));
                match catch_unwind(control) {
                    Ok((evidence, pauses)) => {
                        permit.note_evidence(&module, &evidence);
                        context.note_pauses(&pauses);
                    }
                    Err(_) => error!("module {} panicked in its control check", module.id()),
                }
            }
        };
        let task = Task::of(&self.module, &self.query, self.place);
        let task = Task { kind: Kind::IfFree, ..task };
        self.context.scheduler.add(permit.group, vec![(task, Box::new(work))]);
    }
}

// Hundreds of threads wait below `Check::checked`. What is done before and after the wait is not inlined, so that its
// variables do not lie on their stacks.

#[inline(never)]
fn bare(outcome: Outcome, reason: Reason) -> Arc<Report> {
    Report::bare(outcome, reason).into()
}

/// Changes the report of a check that did not have its full time because of a limit with this reason.
#[inline(never)]
fn note_limit(report: &mut Arc<Report>, reason: Reason) {
    let report = Arc::make_mut(report);
    // The site might have answered within the check's full time.
    report.evidence.contacts.retain(|contact| contact.answer != Answered::TooLate);
    if report.outcome == Outcome::Timeout && report.reason != Some(Reason::LearntDeadline) {
        report.reason = Some(reason);
    }
}
