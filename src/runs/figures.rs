//! What this process has done since its start, counted: searches, checks, results, what was charged and given back.

use std::time::Duration;

use crate::base::count::{Counter, Durations};
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;

/// All of it.
#[derive(Default)]
pub struct Figures {
    started: [Counter; SearchType::ALL.len()],
    /// Searches that came to their end here.
    pub completed: Counter,
    /// Searches that ended as failed here.
    pub failed: Counter,
    /// Interrupted searches that were taken over.
    pub taken_over: Counter,
    /// Results that were stored.
    pub results: Counter,
    checks: [[Counter; Outcome::ALL.len()]; SearchType::ALL.len()],
    /// How long checks took, those alone that asked something.
    pub check_durations: Durations,
    /// Charges booked.
    pub charges: Counter,
    /// Credits that they cost.
    pub credits_charged: Counter,
    /// Refunds booked.
    pub refunds: Counter,
    /// Credits that they gave back.
    pub credits_refunded: Counter,
}

impl Figures {
    /// A search was charged and started.
    pub(super) fn note_start(&self, search_type: SearchType, credits: u64) {
        self.started[place(search_type)].one();
        self.charges.one();
        self.credits_charged.add(credits);
    }

    /// A search ended as failed, which gave its credits back.
    pub(super) fn note_failure(&self, credits: u64) {
        self.failed.one();
        self.refunds.one();
        self.credits_refunded.add(credits);
    }

    /// A module ended; [`Duration::ZERO`]: it was not asked.
    pub(super) fn note_check(&self, search_type: SearchType, outcome: Outcome, took: Duration) {
        let outcomes = &self.checks[place(search_type)];
        if let Some(at) = Outcome::ALL.iter().position(|known| *known == outcome) {
            outcomes[at].one();
        }
        if !took.is_zero() {
            self.check_durations.note(took);
        }
    }

    /// Searches that were charged and started, by type.
    pub fn started(&self) -> impl Iterator<Item = (SearchType, u64)> {
        SearchType::ALL.into_iter().zip(self.started.iter().map(Counter::get))
    }

    /// Modules that ended, by type of search and outcome.
    pub fn checks(&self) -> impl Iterator<Item = (SearchType, Outcome, u64)> {
        SearchType::ALL.into_iter().zip(&self.checks).flat_map(|(search_type, outcomes)| {
            let cells = Outcome::ALL.into_iter().zip(outcomes);
            cells.map(move |(outcome, count)| (search_type, outcome, count.get()))
        })
    }
}

fn place(search_type: SearchType) -> usize {
    SearchType::ALL.iter().position(|known| *known == search_type).unwrap_or_default()
}
