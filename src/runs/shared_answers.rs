//! [`SharedAnswers`]: the answers that the searches of one account for the same query share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::cache::{Bounds, Cache, Computed};
use crate::base::ids::{AccountId, RunId};
use crate::modules::module::Module;
use crate::modules::outcome::{Evidence, Finding, Report};
use crate::modules::query::Query;
use crate::modules::reason::Reason;

/// The bounds of the answers in memory: their number, and their estimated bytes.
const BOUNDS: Bounds = Bounds { entries: 20_000, weight: 16 * 1024 * 1024 };
/// The estimated bytes of an answer without its findings.
const ANSWER_BYTES: usize = 512;

/// The account, the module and the normal form of the query. Answers are not shared between accounts, because an answer
/// without a request would tell an account that another one searches for the same query. Modules that only read a feed have
/// its address instead: one check fetches it, and those that have waited read it for their own queries.
pub type Question = (Option<AccountId>, Arc<str>, String);

/// The conclusive answers of the last time, in memory. Runs of one account that ask a module the same query at the same
/// time share one check.
pub struct SharedAnswers {
    ttl: Duration,
    /// The answers, each with the run that asked for it.
    cache: Cache<Question, (RunId, Arc<Report>)>,
}

impl SharedAnswers {
    /// Creates an empty cache whose answers are shared for `ttl`. If it is zero, nothing is shared.
    pub fn new(ttl: Duration) -> Self {
        Self { ttl, cache: Cache::new(BOUNDS) }
    }

    /// Returns the question of a check, unless it shares nothing.
    pub fn question(&self, account: AccountId, module: &Module, query: &Query) -> Option<Question> {
        if let Some(feed) = module.entry().probes.first().filter(|_| module.reads_only_feeds()) {
            return Some((None, Arc::default(), feed.url.to_string()));
        }
        (!self.ttl.is_zero()).then(|| (Some(account), Arc::clone(module.id()), query.normal().to_owned()))
    }

    /// Returns the answer that an earlier check got, as the report of a check that sent no request.
    pub fn get(&self, question: &Question) -> Option<Report> {
        self.cache.get(question).map(|(_, report)| without_requests(&report))
    }

    /// Adds the report of the check of `run` if it is a complete conclusive answer. A block, a limit, an error or a timeout
    /// is never shared: a run that waited for such a check makes the check itself.
    pub(super) fn insert(&self, question: &Question, run: RunId, report: &Arc<Report>) {
        // Another check would most likely give the same findings.
        let is_certain = report.outcome.is_conclusive() && matches!(report.reason, None | Some(Reason::Weak));
        if is_certain && question.0.is_some() {
            let (value, weight) = ((run, Arc::clone(report)), weight(report));
            self.cache.insert(question, Computed { value, ttl: self.ttl, weight });
        }
    }

    /// Removes the answers that a deleted run asked for.
    pub(super) fn forget(&self, run: RunId) {
        self.cache.retain(|_, (asked_by, _)| *asked_by != run);
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

/// Returns the report for a run that sent no request itself.
fn without_requests(report: &Report) -> Report {
    let evidence = Evidence {
        http_status: report.evidence.http_status,
        final_host: report.evidence.final_host.clone(),
        matcher: report.evidence.matcher.clone(),
        rules: report.evidence.rules.clone(),
        confidence: report.evidence.confidence,
        partial: report.evidence.partial,
        ..Evidence::default()
    };
    let (outcome, reason, findings) = (report.outcome, report.reason, report.findings.clone());
    Report { outcome, reason, evidence, findings, pauses: Vec::new(), kept: None }
}

/// Estimates the bytes of an answer.
fn weight(report: &Report) -> usize {
    let bytes = |finding: &Finding| {
        let metadata = serde_json::to_vec(&finding.metadata).map_or(0, |json| json.len());
        ANSWER_BYTES + finding.value.len() + 3 * metadata
    };
    ANSWER_BYTES + report.findings.iter().map(bytes).sum::<usize>()
}
