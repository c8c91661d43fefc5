//! [`SharedAnswers`]: the answers that the searches of one account for the same query share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::live::{LiveRun, Stopped};
use crate::base::cache::{Bounds, Cache, Computed};
use crate::base::ids::{AccountId, RunId};
use crate::modules::module::Module;
use crate::modules::outcome::{Evidence, Finding, Outcome, Report};
use crate::modules::query::Query;
use crate::modules::reason::Reason;

/// The bounds of the answers in memory: their number, and their estimated bytes.
const BOUNDS: Bounds = Bounds { entries: 20_000, weight: 16 * 1024 * 1024 };
/// The estimated bytes of an answer without its findings.
const ANSWER_BYTES: usize = 512;

/// The account, the module and the normal form of the query. Answers are not shared between accounts, because an answer
/// without a request would tell an account that another one searches for the same query.
type Key = (AccountId, Arc<str>, String);

/// A conclusive answer, and the run that asked for it.
#[derive(Clone)]
struct Answer {
    run: RunId,
    report: Arc<Report>,
}

/// The conclusive answers of the last time, in memory. Runs of one account that ask a module the same query at the same
/// time share one check.
///
/// Only complete conclusive answers are shared. A block, a limit, an error or a timeout is never shared: a run that
/// waited for such a check makes the check itself.
pub struct SharedAnswers {
    ttl: Duration,
    cache: Cache<Key, Answer>,
}

/// The report of a check.
pub(super) struct Checked {
    pub(super) report: Arc<Report>,
    /// Whether the check sent no request because the run waited for that of another run.
    pub(super) is_shared: bool,
}

impl SharedAnswers {
    /// Creates an empty cache whose answers are shared for `ttl`. If it is zero, nothing is shared.
    pub fn new(ttl: Duration) -> Self {
        Self { ttl, cache: Cache::new(BOUNDS) }
    }

    /// Returns the answer that an earlier check got.
    pub(super) fn get(&self, run: &LiveRun, module: &Module, query: &Query) -> Option<Report> {
        if self.ttl.is_zero() {
            return None;
        }
        self.cache.get(&key(run, module, query)).map(|answer| without_requests(&answer.report))
    }

    /// Returns the answer of an earlier check, the answer to the check that another run is making, or the report of
    /// `check`. Waits for the other run until `deadline` at most.
    ///
    /// `check` also returns whether it had its full time.
    pub(super) fn get_or_check(
        &self,
        run: &LiveRun,
        module: &Module,
        query: &Query,
        deadline: Instant,
        check: impl FnOnce() -> (Arc<Report>, bool),
    ) -> Checked {
        if self.ttl.is_zero() {
            return Checked { report: check().0, is_shared: false };
        }
        let mut own = None;
        let answer = self.cache.get_or_compute(&key(run, module, query), deadline, || {
            let (report, had_full_time) = check();
            own = Some(Arc::clone(&report));
            let is_deleted = run.signals.stopped() == Some(Stopped::Deleted);
            let ttl =
                if had_full_time && is_complete(&report) && !is_deleted { self.ttl } else { Duration::ZERO };
            let weight = weight(&report);
            Computed { value: Answer { run: run.id(), report }, ttl, weight }
        });
        own.map_or_else(|| of_another_run(answer), |report| Checked { report, is_shared: false })
    }

    /// Removes the answers that a deleted run asked for.
    pub(super) fn forget(&self, run: RunId) {
        self.cache.retain(|_, answer| answer.run != run);
    }

    /// Removes all answers.
    pub(super) fn clear(&self) {
        self.cache.retain(|_, _| false);
    }

    /// Removes the answers that have expired at `now`.
    pub(super) fn sweep(&self, now: Instant) {
        self.cache.sweep(now);
    }
}

fn key(run: &LiveRun, module: &Module, query: &Query) -> Key {
    (run.opening().account, Arc::clone(module.id()), query.normal().to_owned())
}

/// Returns whether another check would most likely give the same findings.
fn is_complete(report: &Report) -> bool {
    report.outcome.is_conclusive() && matches!(report.reason, None | Some(Reason::Weak))
}

/// Returns the report for a run that sent no request itself.
fn without_requests(report: &Report) -> Report {
    let evidence = Evidence {
        http_status: report.evidence.http_status,
        final_host: report.evidence.final_host.clone(),
        matcher: report.evidence.matcher.clone(),
        rules: report.evidence.rules,
        partial: report.evidence.partial,
        ..Evidence::default()
    };
    let (outcome, reason, findings) = (report.outcome, report.reason, report.findings.clone());
    Report { outcome, reason, evidence, findings, pauses: Vec::new() }
}

/// Returns the report of a run that waited for the check of another run; `None` is that it waited until its own deadline.
///
/// It is not inlined, so that its variables do not lie on the stack of each check that waits for its own answer.
#[inline(never)]
fn of_another_run(answer: Option<Answer>) -> Checked {
    let report = match answer {
        Some(answer) => without_requests(&answer.report),
        None => Report::bare(Outcome::Timeout, Reason::Deadline),
    };
    Checked { report: report.into(), is_shared: true }
}

/// Estimates the bytes of an answer.
fn weight(report: &Report) -> usize {
    let bytes = |finding: &Finding| {
        let metadata = serde_json::to_vec(&finding.metadata).map_or(0, |json| json.len());
        ANSWER_BYTES + finding.value.as_ref().map_or(0, String::len) + 3 * metadata
    };
    ANSWER_BYTES + report.findings.iter().map(bytes).sum::<usize>()
}
