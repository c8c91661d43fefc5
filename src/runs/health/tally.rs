//! Checks of a module, counted so that newer ones count more.
//!
//! Each further check takes `KEPT_OUTCOMES` of the weight of all before it, so about the last twenty make
//! the rates, whether they came within a minute or a month. Counts of this kind can be put together: what
//! one process has counted of its own checks, added to what all had counted before, is what one that saw
//! them all would have. Where two processes take turns, the checks of each turn count as newer than those of
//! the turn before.

use std::time::Duration;

use jiff::Timestamp;

use crate::modules::outcome::Outcome;

/// What one more check leaves of the weight of outcomes before it.
const KEPT_OUTCOMES: f64 = 0.95;
/// The same of latencies: about the last five checks count.
const KEPT_LATENCIES: f64 = 0.8;
/// Weights and factors below this are nothing. (PostgreSQL refuses products that are too small to write.)
pub const NOTHING: f64 = 1e-9;

/// Checks of one module, newer ones counting more. The first tally is the empty one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Checks in all.
    pub checks: u64,
    /// Weight of each outcome, in the order of [`Outcome::ALL`].
    pub outcomes: [f64; Outcome::ALL.len()],
    /// Seconds that checks took, weighted, and the sum of the weights.
    pub latency: [f64; 2],
    /// When the last check ended.
    pub last_checked: Option<Timestamp>,
    /// When the last hit was found.
    pub last_hit: Option<Timestamp>,
    /// When the last hit or miss was found.
    pub last_conclusive: Option<Timestamp>,
}

/// What is kept of older weights when checks are added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kept {
    /// Of outcomes.
    pub outcomes: f64,
    /// Of latencies.
    pub latencies: f64,
}

impl Tally {
    /// One check.
    pub fn one(outcome: Outcome, took: Duration, at: Timestamp) -> Self {
        let when = |holds: bool| holds.then_some(at);
        Self {
            checks: 1,
            outcomes: Outcome::ALL.map(|known| f64::from(u8::from(known == outcome))),
            latency: [took.as_secs_f64(), 1.0],
            last_checked: Some(at),
            last_hit: when(outcome == Outcome::Hit),
            last_conclusive: when(outcome.is_conclusive()),
        }
    }

    /// This, and newer checks.
    #[must_use]
    pub fn then(&self, newer: &Self) -> Self {
        let kept = newer.kept();
        let mut all = newer.clone();
        all.checks = self.checks.saturating_add(newer.checks);
        for (sum, older) in all.outcomes.iter_mut().zip(self.outcomes) {
            *sum += if older < NOTHING { 0.0 } else { older * kept.outcomes };
        }
        for (sum, older) in all.latency.iter_mut().zip(self.latency) {
            *sum += if older < NOTHING { 0.0 } else { older * kept.latencies };
        }
        all.last_checked = self.last_checked.max(newer.last_checked);
        all.last_hit = self.last_hit.max(newer.last_hit);
        all.last_conclusive = self.last_conclusive.max(newer.last_conclusive);
        all
    }

    /// What these checks leave of older weights.
    pub fn kept(&self) -> Kept {
        let power = |factor: f64| {
            let left = factor.powf(self.checks as f64);
            if left < NOTHING { 0.0 } else { left }
        };
        Kept { outcomes: power(KEPT_OUTCOMES), latencies: power(KEPT_LATENCIES) }
    }

    /// How many checks the rates rest on: at most about twenty.
    pub fn sample(&self) -> f64 {
        self.outcomes.iter().sum()
    }

    /// The share of these outcomes; 0.0 where there was no check.
    pub fn rate(&self, wanted: &[Outcome]) -> f64 {
        let sample = self.sample();
        if sample < NOTHING {
            return 0.0;
        }
        let of = self.outcomes.iter().zip(Outcome::ALL).filter(|(_, known)| wanted.contains(known));
        of.map(|(weight, _)| weight).sum::<f64>() / sample
    }

    /// Moving mean of what a check took.
    pub fn latency(&self) -> Option<Duration> {
        let [seconds, weight] = self.latency;
        if weight < NOTHING { None } else { Duration::try_from_secs_f64(seconds / weight).ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn checks() -> impl Strategy<Value = Vec<Tally>> {
        let one = (0..Outcome::ALL.len(), 0u64..20_000, 0i64..1_000_000).prop_map(|(outcome, took, at)| {
            let at = Timestamp::from_millisecond(at).unwrap_or_default();
            Tally::one(Outcome::ALL[outcome], Duration::from_millis(took), at)
        });
        prop::collection::vec(one, 0..80)
    }

    fn sum(tallies: &[Tally]) -> Tally {
        tallies.iter().fold(Tally::default(), |sum, one| sum.then(one))
    }

    fn are_near(one: &Tally, other: &Tally) -> bool {
        let numbers = |tally: &Tally| tally.outcomes.into_iter().chain(tally.latency).collect::<Vec<_>>();
        one.checks == other.checks
            && (one.last_checked, one.last_hit, one.last_conclusive)
                == (other.last_checked, other.last_hit, other.last_conclusive)
            && numbers(one).iter().zip(numbers(other)).all(|(one, other)| (one - other).abs() < 1e-6)
    }

    proptest! {
        /// Where a sequence of checks is cut into pieces makes no difference: processes may add theirs in
        /// whatever portions.
        #[test]
        fn portions_add_up(checks in checks(), cuts in prop::collection::vec(0usize..80, 0..5)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(checks.len())).collect();
            cuts.extend([0, checks.len()]);
            cuts.sort_unstable();
            let portions: Vec<Tally> = cuts.windows(2).map(|cut| sum(&checks[cut[0]..cut[1]])).collect();
            prop_assert!(are_near(&sum(&portions), &sum(&checks)));
        }

        #[test]
        fn rates_are_shares(checks in checks()) {
            let all = sum(&checks);
            let rates = Outcome::ALL.map(|outcome| all.rate(&[outcome]));
            prop_assert!(rates.iter().all(|rate| (0.0..=1.0).contains(rate)));
            let total: f64 = rates.iter().sum();
            prop_assert!(checks.is_empty() && total == 0.0 || (total - 1.0).abs() < 1e-9);
            prop_assert!(all.sample() <= 20.0 + 1e-9);
        }
    }

    #[test]
    fn what_is_long_ago_fades_to_nothing() {
        let now = Timestamp::UNIX_EPOCH;
        let hit = Tally::one(Outcome::Hit, Duration::from_secs(9), now);
        let misses = vec![Tally::one(Outcome::Miss, Duration::from_secs(1), now); 1000];
        let all = hit.then(&sum(&misses));
        assert_eq!((all.checks, all.rate(&[Outcome::Hit]).to_bits()), (1001, 0f64.to_bits()));
        assert_eq!(all.latency(), Some(Duration::from_secs(1)));
        assert_eq!(Tally::default().latency(), None);
    }
}
