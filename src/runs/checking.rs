//! One check of a run, with its deadlines, and [`TimeLimit`]: the end of a run's time, by the deadline of all runs or by its own
//! time budget.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::error;

use super::context::RunContext;
use super::live::LiveRun;
use super::scheduler::Permit;
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::probe::Answered;
use crate::modules::query::Query;
use crate::modules::reason::Reason;
use crate::modules::terms::Terms;

/// The time for which checks may continue after the deadline of all runs before they are abandoned.
const DEADLINE_GRACE: Duration = Duration::from_secs(5);
/// The time for which checks may continue after the run's time budget, so that those that end by then report their
/// evidence.
const BUDGET_GRACE: Duration = Duration::from_millis(200);

/// The end of a run's time.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeLimit {
    /// The moment from which no check is started, and by which checks in progress must have their answers.
    pub(super) at: Instant,
    /// The moment at which checks in progress are abandoned.
    pub(super) abandon_at: Instant,
    /// The reason of the checks that are cut.
    pub(super) reason: Reason,
}

impl TimeLimit {
    /// Returns the limit of a run. Both the deadline and the time budget count from the moment when the run was first
    /// driven, by this process or another.
    pub(super) fn of(run: &LiveRun, run_timeout: Duration) -> Self {
        let budget = run.opening().options.time_budget.map(Duration::from);
        let (time, grace, reason) = match budget.filter(|budget| *budget < run_timeout) {
            Some(budget) => (budget, BUDGET_GRACE, Reason::TimeBudget),
            None => (run_timeout, DEADLINE_GRACE, Reason::RunDeadline),
        };
        let at = run.driven_until(time);
        Self { at, abandon_at: at + grace, reason }
    }
}

/// Makes a check that was started at `since`. Returns its report, and whether it had its full time.
pub(super) fn check_guarded(
    context: &RunContext,
    run: &LiveRun,
    module: &Module,
    query: &Query,
    permit: &Permit,
    limit: TimeLimit,
    since: Instant,
) -> (Arc<Report>, bool) {
    let ceiling = limit.at;
    if since >= ceiling {
        return (bare(Outcome::Timeout, limit.reason), false);
    }
    let own_deadline = since + context.limits.check_timeout;
    let deadline = ceiling.min(own_deadline);
    // A trial has a separate time, which grows until a host that became slow is found again.
    let is_patient = run.opening().options.patient || permit.first_trial().is_some();
    let learnt = (!is_patient).then(|| context.health.deadline(module, context.clock.now())).flatten();
    let answer_by = learnt.map_or(deadline, |learnt| deadline.min(since + learnt));
    let trial = permit.module_trial();
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

// Hundreds of threads wait below `check_guarded`. What is done before and after the wait is not inlined, so that its
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

/// Makes the control check of a check that was started at `since`, before it is needed.
pub(super) fn control_guarded(
    context: &RunContext,
    module: &Module,
    query: &Query,
    permit: &Permit,
    ceiling: Instant,
    since: Instant,
) {
    let deadline = ceiling.min(Instant::now() + context.limits.check_timeout);
    let terms = Terms { since, answer_by: deadline, deadline, ceiling, hosts: permit, trial: None };
    let control = AssertUnwindSafe(|| context.checker.control_early(module, query, terms));
    match catch_unwind(control) {
        Ok((evidence, pauses)) => {
            permit.note_evidence(module, &evidence);
            context.note_pauses(&pauses);
        }
        Err(_) => error!("module {} panicked in its control check", module.id()),
    }
}
