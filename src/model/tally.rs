//! [`Tally`]: the outcomes and durations of a module's checks, of which old ones count less.

use std::time::Duration;

use jiff::Timestamp;

use crate::model::latencies::{Latencies, NOTHING};
use crate::modules::outcome::{ByOutcome, Outcome};

/// The factor by which a check reduces the weights of earlier outcomes.
const KEPT_OUTCOMES: f64 = 0.95;

/// The factor by which a check reduces the weights of earlier latencies. About the last five checks count.
const KEPT_LATENCIES: f64 = 0.8;

/// The weighted counts of one module's checks. The default contains no checks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// The number of all checks.
    pub checks: u64,
    /// The weight of each outcome, in the order of [`Outcome::ALL`].
    pub outcomes: ByOutcome<f64>,
    /// The weighted sum of latencies in seconds, and the sum of their weights.
    pub latency: [f64; 2],
    /// The latencies of conclusive answers, from which a deadline is learnt.
    pub latencies: Latencies,
    /// The time at which the last check ended.
    pub last_checked: Option<Timestamp>,
    /// The time of the last hit.
    pub last_hit: Option<Timestamp>,
    /// The time of the last hit or miss.
    pub last_conclusive: Option<Timestamp>,
}

impl Tally {
    /// Creates the tally of one check.
    pub fn one(outcome: Outcome, took: Duration, at: Timestamp) -> Self {
        let when = |holds: bool| holds.then_some(at);
        let mut outcomes = ByOutcome::default();
        if let Some(counted) = outcome.health_outcome() {
            outcomes[counted] = 1.0;
        }
        Self {
            checks: 1,
            outcomes,
            latency: [took.as_secs_f64(), 1.0],
            latencies: match outcome.is_conclusive() {
                true => Latencies::answer(took, at),
                false => Latencies::default(),
            },
            last_checked: Some(at),
            last_hit: when(outcome == Outcome::Hit),
            last_conclusive: when(outcome.is_conclusive()),
        }
    }

    /// Creates a tally that contains no check, but that a check had no answer when it ended at its deadline.
    pub fn no_answer(waited: Duration) -> Self {
        Self { latencies: Latencies::no_answer(waited), ..Self::default() }
    }

    /// Adds newer checks.
    #[must_use]
    pub fn then(&self, newer: &Self) -> Self {
        let [outcomes, latencies] = [KEPT_OUTCOMES, KEPT_LATENCIES].map(|factor| newer.decay(factor));
        let mut all = newer.clone();
        all.checks = self.checks.saturating_add(newer.checks);
        for (outcome, older) in self.outcomes.iter() {
            all.outcomes[outcome] += decayed(*older, outcomes);
        }
        for (sum, older) in all.latency.iter_mut().zip(self.latency) {
            *sum += decayed(older, latencies);
        }
        all.latencies = self.latencies.then(&newer.latencies);
        all.last_checked = self.last_checked.max(newer.last_checked);
        all.last_hit = self.last_hit.max(newer.last_hit);
        all.last_conclusive = self.last_conclusive.max(newer.last_conclusive);
        all
    }

    /// Returns the factor by which these checks reduce older weights, if one check reduces them by `factor`.
    fn decay(&self, factor: f64) -> f64 {
        factor.powf(self.checks as f64)
    }

    /// Returns the number of checks on which the rates depend: at most about twenty.
    pub fn sample(&self) -> f64 {
        self.outcomes.iter().map(|(_, weight)| weight).sum()
    }

    /// Returns the share of these outcomes, or 0.0 if there are no checks.
    pub fn rate(&self, wanted: &[Outcome]) -> f64 {
        let sample = self.sample();
        if sample < NOTHING {
            return 0.0;
        }
        wanted.iter().map(|outcome| self.outcomes[*outcome]).sum::<f64>() / sample
    }

    /// Returns the moving mean of the latency.
    pub fn latency(&self) -> Option<Duration> {
        let [seconds, weight] = self.latency;
        if weight < NOTHING { None } else { Duration::try_from_secs_f64(seconds / weight).ok() }
    }
}

/// Returns a reduced weight, or 0 if it is nearly 0.
fn decayed(weight: f64, factor: f64) -> f64 {
    let left = weight * factor;
    if left < NOTHING { 0.0 } else { left }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn checks() -> impl Strategy<Value = Vec<Tally>> {
        // The last outcome is not counted.
        let one =
            (0..Outcome::ALL.len() - 1, 0u64..20_000, 0i64..1_000_000).prop_map(|(outcome, took, at)| {
                let at = Timestamp::from_millisecond(at).unwrap_or_default();
                let took = Duration::from_millis(took);
                match Outcome::ALL[outcome] {
                    Outcome::Timeout => Tally::no_answer(took).then(&Tally::one(Outcome::Timeout, took, at)),
                    outcome => Tally::one(outcome, took, at),
                }
            });
        prop::collection::vec(one, 0..80)
    }

    fn sum(tallies: &[Tally]) -> Tally {
        tallies.iter().fold(Tally::default(), |sum, one| sum.then(one))
    }

    fn are_near(one: &Tally, other: &Tally) -> bool {
        let numbers = |tally: &Tally| {
            tally.outcomes.iter().map(|(_, weight)| *weight).chain(tally.latency).collect::<Vec<_>>()
        };
        let deadline =
            |tally: &Tally| tally.latencies.deadline(Timestamp::UNIX_EPOCH, Duration::from_secs(60));
        one.checks == other.checks
            && deadline(one) == deadline(other)
            && (one.last_checked, one.last_hit, one.last_conclusive)
                == (other.last_checked, other.last_hit, other.last_conclusive)
            && numbers(one).iter().zip(numbers(other)).all(|(one, other)| (one - other).abs() < 1e-6)
    }

    proptest! {
        /// Checks that the division of a sequence of checks into batches makes no difference.
        #[test]
        fn partial_tallies_add_up_to_the_whole(checks in checks(), cuts in prop::collection::vec(0usize..80, 0..5)) {
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
    fn old_checks_fade_to_zero() {
        let now = Timestamp::UNIX_EPOCH;
        let hit = Tally::one(Outcome::Hit, Duration::from_secs(9), now);
        let misses = vec![Tally::one(Outcome::Miss, Duration::from_secs(1), now); 1000];
        let all = hit.then(&sum(&misses));
        assert_eq!((all.checks, all.rate(&[Outcome::Hit]).to_bits()), (1001, 0f64.to_bits()));
        assert_eq!(all.latency(), Some(Duration::from_secs(1)));
        assert_eq!(Tally::default().latency(), None);
    }
}
