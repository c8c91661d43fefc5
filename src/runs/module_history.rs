//! [`ModuleHistories`]: how the checks of each module ended since the start of this process, and its last failures.
//!
//! It holds neither queries nor results. It is kept in memory only, and bounded by the number of modules.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::modules::outcome::{ByOutcome, Outcome, Report};
use crate::modules::reason::Reason;

/// The number of failures of a module that are kept.
const MOST_FAILURES: usize = 10;

/// A check that came to no conclusion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastFailure {
    /// The end of the check.
    pub at: Timestamp,
    /// The outcome of the check.
    pub outcome: Outcome,
    /// The reason of the outcome.
    pub reason: Option<Reason>,
    /// The last HTTP status received.
    pub http_status: Option<u16>,
}

/// The checks of one module since the start of this process.
#[derive(Debug, Clone, Default)]
pub struct ModuleHistory {
    /// The number of checks by outcome.
    pub counts: ByOutcome<u64>,
    /// The last failures, newest first.
    pub failures: VecDeque<PastFailure>,
}

/// The histories of all modules. There is one value for each process.
#[derive(Debug, Default)]
pub struct ModuleHistories(Mutex<HashMap<Arc<str>, ModuleHistory>>);

impl ModuleHistories {
    /// Records the end of a check.
    pub(super) fn note(&self, module: &Arc<str>, report: &Report, at: Timestamp) {
        let mut histories = self.0.lock();
        let history = histories.entry(Arc::clone(module)).or_default();
        history.counts[report.outcome] += 1;
        if report.outcome.is_failure() {
            history.failures.truncate(MOST_FAILURES - 1);
            history.failures.push_front(PastFailure {
                at,
                outcome: report.outcome,
                reason: report.reason,
                http_status: report.evidence.http_status,
            });
        }
    }

    /// Returns the history of a module, which is empty if no check of it has ended.
    pub fn of(&self, module: &str) -> ModuleHistory {
        self.0.lock().get(module).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_last_failures_are_kept_and_all_checks_counted() {
        let (histories, module): (_, Arc<str>) = (ModuleHistories::default(), "m".into());
        let note = |outcome, reason, secs| {
            let at = Timestamp::from_second(secs).unwrap();
            histories.note(&module, &Report::bare(outcome, reason), at);
        };
        for secs in 0..15 {
            note(Outcome::Blocked, Reason::Captcha, secs);
        }
        note(Outcome::Miss, Reason::Weak, 15);
        note(Outcome::Skipped, Reason::Stopped, 16);
        let history = histories.of("m");
        let counts =
            [Outcome::Blocked, Outcome::Miss, Outcome::Skipped].map(|outcome| history.counts[outcome]);
        assert_eq!(counts, [15, 1, 1]);
        let seconds: Vec<i64> = history.failures.iter().map(|failure| failure.at.as_second()).collect();
        assert_eq!(seconds, (5..15).rev().collect::<Vec<i64>>());
        assert_eq!(history.failures[0].reason, Some(Reason::Captcha));
        assert!(histories.of("other").failures.is_empty());
    }
}
