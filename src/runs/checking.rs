//! One check of a run, with its deadlines.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use log::error;

use super::context::RunContext;
use super::host_limiter::Permit;
use super::live::LiveRun;
use super::shared_answers::Checked;
use super::time_limit::TimeLimit;
use crate::modules::module::Module;
use crate::modules::outcome::{Evidence, Outcome, Report};
use crate::modules::probe::Answered;
use crate::modules::query::Query;
use crate::modules::reason::Reason;
use crate::modules::terms::{Denial, Terms};

/// Makes a check, unless another run is making it or has made it.
pub(super) fn check_guarded(
    context: &RunContext,
    run: &LiveRun,
    module: &Module,
    query: &Query,
    permit: &Permit,
    limit: TimeLimit,
) -> Checked {
    let (now, ceiling) = (Instant::now(), limit.at);
    if now >= ceiling {
        return Checked { report: bare_report(Outcome::Timeout, limit.reason).into(), is_shared: false };
    }
    let own_deadline = now + context.limits.check_timeout;
    let deadline = ceiling.min(own_deadline);
    let is_patient = run.options().patient;
    let learnt = (!is_patient).then(|| context.health.deadline(module, context.clock.now())).flatten();
    // A panic is an error of this module only. The parts that a check shares with others, such as the checker's
    // caches, are behind locks that are not poisoned.
    let check = AssertUnwindSafe(|| {
        // The wait for another run is no part of the learnt deadline.
        let answer_by = learnt.map_or(deadline, |learnt| deadline.min(Instant::now() + learnt));
        let terms = Terms { answer_by, deadline, ceiling, hosts: permit, trial: permit.module_trial() };
        Arc::new(context.checker.check(module, query, terms))
    });
    let had_full_time = deadline == own_deadline;
    let mut checked = context.shared_answers.get_or_check(run, module, query, deadline, || {
        let report = catch_unwind(check).unwrap_or_else(|_| {
            error!("module {} panicked", module.id());
            bare_report(Outcome::Error, Reason::Panic).into()
        });
        (report, had_full_time)
    });
    if !had_full_time {
        let report = Arc::make_mut(&mut checked.report);
        // The site might have answered within the check's full time.
        report.evidence.contacts.retain(|contact| contact.answer != Answered::TooLate);
        if report.outcome == Outcome::Timeout && report.reason != Some(Reason::LearntDeadline) {
            report.reason = Some(limit.reason);
        }
    }
    checked
}

/// Makes the control check of a module before it is needed.
pub(super) fn control_guarded(
    context: &RunContext,
    module: &Module,
    query: &Query,
    permit: &Permit,
    ceiling: Instant,
) {
    let deadline = ceiling.min(Instant::now() + context.limits.check_timeout);
    let terms = Terms { answer_by: deadline, deadline, ceiling, hosts: permit, trial: None };
    let control = AssertUnwindSafe(|| context.checker.control_early(module, query, terms));
    match catch_unwind(control) {
        Ok((evidence, pauses)) => {
            permit.note_evidence(module, &evidence);
            context.note_pauses(&pauses);
        }
        Err(_) => error!("module {} panicked in its control check", module.id()),
    }
}

/// Creates the report of a check that was not made because of a host or a quarantine.
pub(super) fn denied_report(denial: Denial) -> Report {
    let mut report = bare_report(denial.outcome(), denial.reason());
    report.evidence.circuit = denial.circuit();
    report
}

/// Creates the report of a check that was not made or had no conclusion.
pub(super) fn bare_report(outcome: Outcome, reason: Reason) -> Report {
    Report {
        outcome,
        reason: Some(reason),
        evidence: Evidence::default(),
        findings: Vec::new(),
        pauses: Vec::new(),
    }
}
