//! The modules that a run asks. They wait and run in the scheduler.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::warn;

use super::{Asked, Driver, Message, TimeLimit};
use crate::base::threads;
use crate::model::run::RunSummary;
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::probe::Answered;
use crate::modules::query::Query;
use crate::modules::reason::Reason;
use crate::modules::terms::{FAIR_TRY, Terms};
use crate::runs::live::{LiveRun, Stopped};
use crate::runs::scheduler::{Feedback, Kind, Permit, Task, Turn, Work, denied_report};
use crate::runs::service::Runs;

/// The time for which a run waits for a trial if nothing else is left to wait for.
const PATIENCE_WITH_TRIALS: Duration = Duration::from_secs(1);
/// The least expected duration of a check whose control check does not wait for a hit.
const SLOW: Duration = Duration::from_millis(1500);

impl Driver<'_> {
    /// Asks modules. Those that do not accept their query end at once.
    pub(super) fn ask(&mut self, round: Vec<Asked>) {
        let mut tasks = Vec::with_capacity(round.len());
        let over = self.why_over();
        // The others end before the slowest check even if they need a control check, which is an additional request, and a
        // site takes a little longer than expected.
        let longest = round.iter().map(|asked| self.runs.health.expected(asked.module.id())).max();
        let slow = SLOW.max(longest.unwrap_or_default() / 3);
        for asked in round {
            let skipped = self.why_skipped(&asked).map(|reason| (Outcome::Skipped, reason));
            if let Some((outcome, reason)) = skipped.or(over) {
                self.note(&asked, Report::bare(outcome, reason), Duration::ZERO);
                continue;
            }
            tasks.push(self.task(&asked, slow));
            self.open.insert(self.places, asked);
            self.places += 1;
        }
        self.runs.scheduler.add(self.group.id, tasks);
    }

    /// Returns why a module is not asked this query at all.
    fn why_skipped(&self, Asked { module, query, .. }: &Asked) -> Option<Reason> {
        let reason = module.why_skipped(query, &self.runs.checker.keys);
        let lacks_browser = module.is_premium() && self.runs.browsers.sessions() == 0;
        reason.or_else(|| lacks_browser.then_some(Reason::Unavailable))
    }

    fn task(&self, Asked { module, query, .. }: &Asked, slow: Duration) -> (Task, Work) {
        let (runs, RunSummary { account, options, .. }) = (self.runs, &self.run.opening.summary);
        let expected = runs.health.expected(module.id());
        let check = Check {
            runs: Arc::clone(runs),
            run: Arc::clone(self.run),
            limit: self.limit,
            module: Arc::clone(module),
            query: Arc::clone(query),
            controls_early: expected >= slow,
            place: self.places,
        };
        // A search that keeps evidence needs the answers themselves. Local lists are at hand.
        let question = runs.scheduler.answers.question(*account, module, query);
        let question = question.filter(|(account, ..)| account.is_none() || !options.evidence);
        let task = Task { question, expected, ..Task::of(module, query) };
        (task, Box::new(|turn| check.take(turn)))
    }

    /// Returns the moment at which checks must be given up without a message, if some are left.
    pub(super) fn checks_due(&self) -> Option<Instant> {
        if self.open.is_empty() {
            return None;
        }
        let has_waiting = self.open.values().any(|asked| asked.begun.is_none());
        let end = if has_waiting { self.limit.at } else { self.limit.abandon_at };
        Some(self.trials_end().map_or(end, |trials| trials.min(end)))
    }

    /// Returns the moment until which the run waits for trials, if nothing else is left to wait for.
    fn trials_end(&self) -> Option<Instant> {
        let begun = |asked: &Asked| asked.begun.as_ref().and_then(|(at, trial)| trial.as_ref().map(|_| *at));
        let begun: Option<Vec<Instant>> = self.open.values().map(begun).collect();
        begun?.into_iter().max().map(|last| last + PATIENCE_WITH_TRIALS)
    }

    /// Gives up the checks that wait at the end of the run's time, those that run and exceed it, and trials when nothing
    /// else is awaited. A run that was stopped gives up all.
    pub(super) fn give_up(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let (now, is_stopped) = (Instant::now(), self.run.stopped_at().is_some());
        if let Some((outcome, reason)) = self.why_over() {
            self.group.cancel();
            let is_abandoned = is_stopped || now >= self.limit.abandon_at;
            let given_up = self.open.extract_if(|_, asked| is_abandoned || asked.begun.is_none());
            for (_, asked) in given_up.collect::<Vec<_>>() {
                // Zero is the duration of checks that were not started.
                let took = asked.begun.as_ref().map(|(at, _)| at.elapsed().max(Duration::from_millis(1)));
                if took.is_some() && reason == Reason::RunDeadline {
                    let (run, module) = (self.run.id(), asked.module.id());
                    warn!("run {run}: module {module} exceeded its deadline and is abandoned");
                }
                self.note(&asked, Report::bare(outcome, reason), took.unwrap_or_default());
            }
        }
        if self.trials_end().is_none_or(|end| now < end) {
            return;
        }
        // Only trials of hosts with an open circuit are left. They go on without the run: a success closes the circuit for
        // the next search.
        for asked in std::mem::take(&mut self.open).into_values() {
            let Some((at, trial)) = &asked.begun else { continue };
            // Without a denial, the trial has just succeeded.
            let denial = trial.as_ref().and_then(|host| self.runs.health.circuits.denial(host));
            let report =
                denial.map_or_else(|| Report::bare(Outcome::Timeout, Reason::CircuitOpen), denied_report);
            self.note(&asked, report, at.elapsed());
        }
    }

    /// Returns how checks end that have not begun, if none may begin any more.
    pub(super) fn why_over(&self) -> Option<(Outcome, Reason)> {
        if self.run.stopped_at().is_some() {
            return Some((Outcome::Skipped, Reason::Stopped));
        }
        (Instant::now() >= self.limit.at).then_some((Outcome::Timeout, self.limit.reason))
    }
}

/// One check of a run.
struct Check {
    runs: Arc<Runs>,
    run: Arc<LiveRun>,
    limit: TimeLimit,
    module: Arc<Module>,
    query: Arc<Query>,
    /// Whether its control check begins with it.
    controls_early: bool,
    place: usize,
}

impl Check {
    fn take(self, turn: Turn) {
        match turn {
            Ok(permit) => self.make(*permit),
            // It is the answer to another check, or says why none is made.
            Err(report) => {
                if report.outcome.is_conclusive() {
                    self.runs.figures.shared_answers.one();
                    self.run.health_updates.lock().has_conclusion = true;
                }
                let (report, at) = ((*report).into(), self.runs.clock.now());
                self.send(Message::Ended { place: self.place, report, took: Duration::ZERO, at });
            }
        }
    }

    fn make(self, permit: Permit) {
        let Self { runs, run, module, .. } = &self;
        if run.wants_no_checks() {
            return;
        }
        self.send(Message::Begun { place: self.place, trial: permit.first_trial().cloned() });
        let began = Instant::now();
        if self.controls_early {
            self.control_early(&permit, began);
        }
        let (report, had_full_time) = self.checked(&permit, began);
        let (took, at) = (began.elapsed(), runs.clock.now());
        self.run.health_updates.lock().take(&runs.health, module, &report, took, at);
        runs.note_pauses(&report.pauses);
        let is_shareable = had_full_time && run.stopped() != Some(Stopped::Deleted);
        // The host becomes free before the driver handles the report.
        permit.end(Feedback::of(&report), is_shareable.then(|| (run.id(), &report)));
        self.send(Message::Ended { place: self.place, report, took, at });
    }

    /// Makes the check, which was started at `since`. Returns its report, and whether it had its full time.
    fn checked(&self, permit: &Permit, since: Instant) -> (Arc<Report>, bool) {
        let Self { runs, run, limit, module, query, .. } = self;
        if since >= limit.at {
            return (bare(Outcome::Timeout, limit.reason), false);
        }
        let own_deadline = since + runs.config.check_timeout;
        let deadline = limit.at.min(own_deadline);
        // A trial has a separate time, which grows until a host that became slow is found again.
        let is_patient = run.opening.summary.options.patient || permit.first_trial().is_some();
        let learned = (!is_patient).then(|| runs.health.deadline(module, runs.clock.now())).flatten();
        let answer_by = learned.map_or(deadline, |learned| deadline.min(since + learned));
        let (ceiling, trial) = (limit.at, permit.module_trial);
        let keeps = run.opening.summary.options.evidence;
        let terms = Terms { since, answer_by, deadline, ceiling, hosts: permit, keeps, trial };
        // A panic is an error of this module only. The parts that a check shares with others, such as the checker's
        // caches, are behind locks that are not poisoned.
        let mut report = bare(Outcome::Error, Reason::Panic);
        let check = || report = Arc::from(runs.checker.check(module, query, terms));
        threads::guard(format_args!("module {}", module.id()), check);
        let had_full_time = deadline == own_deadline;
        if !had_full_time {
            note_limit(&mut report, limit.reason, runs.health.expected(module.id()) + FAIR_TRY);
        }
        (report, had_full_time)
    }

    /// Sends a message to the driver, which may have ended without the check.
    fn send(&self, message: Message) {
        let _ = self.run.driver.send(message);
    }

    /// Starts the control check that a hit of this check, which began at `began`, would wait for. Otherwise such a hit takes
    /// twice as long as the site. It does not wait for a host: it is only worth a request that delays no other check.
    fn control_early(&self, permit: &Permit, began: Instant) {
        let (runs, entry) = (Arc::clone(&self.runs), self.module.entry());
        let has_rate = entry.every_ms.is_some() || entry.per_day.is_some();
        if has_rate || self.module.is_premium() || !self.module.is_controlled() {
            return;
        }
        let (run, ceiling) = (Arc::clone(&self.run), self.limit.at);
        let (module, query) = (Arc::clone(&self.module), Arc::clone(&self.query));
        let work = move |turn: Turn| {
            if let Some(permit) = turn.ok().filter(|_| !run.wants_no_checks()) {
                let deadline = ceiling.min(Instant::now() + runs.config.check_timeout);
                let terms = Terms { since: began, ceiling, hosts: &*permit, ..deadline.into() };
                let (evidence, pauses) = runs.checker.control_early(&module, &query, terms);
                runs.health.note_evidence(&module, &evidence);
                runs.note_pauses(&pauses);
            }
        };
        let task = Task::of(&self.module, &self.query);
        let task = Task { kind: Kind::IfFree, ..task };
        self.runs.scheduler.add(permit.group, vec![(task, Box::new(work))]);
    }
}

// Hundreds of threads wait below `Check::checked`. What is done before and after the wait is not inlined, so that its
// variables do not lie on their stacks.

#[inline(never)]
fn bare(outcome: Outcome, reason: Reason) -> Arc<Report> {
    Report::bare(outcome, reason).into()
}

/// Changes the report of a check that did not have its full time because of a limit with this reason. `fair` is a time within
/// which its site would probably have answered.
#[inline(never)]
fn note_limit(report: &mut Arc<Report>, reason: Reason, fair: Duration) {
    if report.reason == Some(Reason::LearntDeadline) {
        return;
    }
    let report = Arc::make_mut(report);
    // The site might have answered within the check's full time.
    report.evidence.contacts.retain(|contact| contact.answer != Answered::TooLate || contact.took >= fair);
    if report.outcome == Outcome::Timeout {
        report.reason = Some(reason);
    }
}
