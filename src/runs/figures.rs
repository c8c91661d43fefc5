//! [`Figures`]: the totals of this process since its start: searches, checks, results, charges and refunds.

use std::time::Duration;

use crate::base::count::{Counter, DurationHistogram};
use crate::model::coverage::Cut;
use crate::modules::module::Module;
use crate::modules::outcome::{ByOutcome, Outcome, Report};
use crate::modules::query::SearchType;

/// The totals of this process since its start.
#[derive(Default)]
pub struct Figures {
    started: [Counter; SearchType::ALL.len()],
    /// The number of searches that were completed by this process.
    pub completed: Counter,
    /// The number of searches that failed in this process, each of which was refunded.
    pub failed: Counter,
    /// The number of interrupted searches that were taken over.
    pub taken_over: Counter,
    /// The durations of the searches that ended in this process, from their first start.
    pub run_durations: DurationHistogram,
    /// The times that searches waited for their first driver, if that driver was in this process.
    pub queue_durations: DurationHistogram,
    /// The number of results that were stored.
    pub results: Counter,
    checks: [ByOutcome<Counter>; SearchType::ALL.len()],
    /// The number of modules that ended with an answer to another search.
    pub shared_answers: Counter,
    cuts: [Counter; Cut::ALL.len()],
    /// The durations of the checks that sent a request.
    pub check_durations: DurationHistogram,
    /// The number of charges.
    pub charges: Counter,
    /// The credits charged.
    pub credits_charged: Counter,
    /// The credits refunded.
    pub credits_refunded: Counter,
}

impl Figures {
    /// Records that a search was charged and started.
    pub(super) fn note_start(&self, search_type: SearchType, credits: u64) {
        self.started[search_type as usize].one();
        self.charges.one();
        self.credits_charged.add(credits);
    }

    /// Records that a search failed and its credits were refunded.
    pub(super) fn note_failure(&self, credits: u64) {
        self.failed.one();
        self.credits_refunded.add(credits);
    }

    /// Records that a module ended. A duration of zero means that the module was not queried.
    pub(super) fn note_check(&self, module: &Module, report: &Report, took: Duration) {
        self.checks[module.search_type() as usize][report.outcome].one();
        if !took.is_zero() {
            self.check_durations.note(took);
        }
    }

    /// Records that a module was cut.
    pub(super) fn note_cut(&self, cut: Cut) {
        self.cuts[cut as usize].one();
    }

    /// Returns the number of modules that were cut, by reason.
    pub fn cuts(&self) -> impl Iterator<Item = (Cut, u64)> {
        Cut::ALL.into_iter().zip(self.cuts.iter().map(Counter::get))
    }

    /// Returns the number of started searches by type.
    pub fn started(&self) -> impl Iterator<Item = (SearchType, u64)> {
        SearchType::ALL.into_iter().zip(self.started.iter().map(Counter::get))
    }

    /// Returns the number of modules that ended, by type of search and outcome.
    pub fn checks(&self) -> impl Iterator<Item = (SearchType, Outcome, u64)> {
        SearchType::ALL.into_iter().zip(&self.checks).flat_map(|(search_type, outcomes)| {
            outcomes.iter().map(move |(outcome, count)| (search_type, outcome, count.get()))
        })
    }
}
