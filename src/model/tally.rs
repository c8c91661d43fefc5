//! [`Tally`]: the outcomes and durations of a module's checks, of which old ones count less, and the deadline of its next
//! check that follows from them.
//!
//! The durations of conclusive answers are counted in buckets, each of which ends 19% above the previous one. About the
//! last fifty count. The deadline is the duration that 99% of them do not exceed, and as long again, but at most two
//! seconds or half of it: a run waits that long for a site which has no answer for some names. Half a second is added.
//! Thus the slowest of about the last thirty decides.
//!
//! A check that ended without a conclusion after a long time shows only that its answer takes longer, if there is one. The
//! next deadline is therefore more than twice as long, and a site that became three times slower is found again by the
//! second search. If there was no answer in the longer time either, it is not tried again soon: the site has no answer
//! for some names.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::fmt::serde::timestamp::millisecond::optional as millis;
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

use crate::modules::outcome::{ByOutcome, Outcome};

/// The factors by which a check reduces the weights of earlier outcomes and latencies: about the last twenty and the last
/// five count.
const KEPT: [f64; 2] = [0.95, 0.8];

/// The factor by which a duration reduces the weights of earlier ones: about the last fifty count.
const KEPT_DURATIONS: f64 = 0.98;

/// The weight below which a weight counts as zero.
const NOTHING: f64 = 1e-9;

/// The number of checks without which no deadline is learned: conclusive answers, or waits in vain.
const ENOUGH: usize = 5;

/// The age in hours, 30 days, above which checks do not count.
pub const FORGOTTEN_HOURS: i64 = 30 * 24;

/// The share of durations that do not exceed the one on which the deadline depends.
const SHARE: f64 = 0.99;

/// The shortest deadline that is learned.
const SHORTEST: Duration = Duration::from_secs(2);

/// The time that is added to a multiple of the duration of slow answers.
const MARGIN: Duration = Duration::from_millis(500);

/// The end of the first bucket in seconds.
const FIRST_END: f64 = 0.1;

/// The number of buckets in which the duration doubles.
const PER_DOUBLING: f64 = 4.0;

/// The weight up to which a wait in vain is forgotten, after about thirty further checks.
const FORGOTTEN: f64 = 0.5;

/// The last bucket. It ends at 205 seconds and also contains all longer durations.
const LAST: u8 = 44;

/// The weighted counts of one module's checks. The default contains no checks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// The number of all checks.
    pub checks: u64,
    /// The weight of each outcome.
    pub outcomes: ByOutcome<f64>,
    /// The weighted sum of latencies in seconds, and the sum of their weights.
    pub latency: [f64; 2],
    /// The time at which the last check ended.
    #[serde(with = "millis")]
    pub last_checked: Option<Timestamp>,
    /// The time of the last hit.
    #[serde(with = "millis")]
    pub last_hit: Option<Timestamp>,
    /// The time of the last hit or miss.
    #[serde(with = "millis")]
    pub last_conclusive: Option<Timestamp>,
    /// The number of durations that were counted: of conclusive answers, and of waits in vain.
    counted: u64,
    /// The weights of the buckets that are not empty, by the number of the bucket.
    weights: BTreeMap<u8, f64>,
    /// The weights of the buckets of the checks that waited in vain.
    in_vain: BTreeMap<u8, f64>,
    /// Whether the last check waited in vain.
    is_waiting: bool,
    /// The moments of the last conclusive answers in milliseconds since 1970, the newest first.
    answered_at: Vec<i64>,
}

impl Tally {
    /// Creates the tally of one check.
    pub fn one(outcome: Outcome, took: Duration, at: Timestamp) -> Self {
        let mut tally = Self {
            checks: 1,
            latency: [took.as_secs_f64(), 1.0],
            last_checked: Some(at),
            last_hit: (outcome == Outcome::Hit).then_some(at),
            ..Self::default()
        };
        // A check that was not made says nothing about the module.
        if outcome != Outcome::Skipped {
            tally.outcomes[outcome] = 1.0;
        }
        if outcome.is_conclusive() {
            tally.last_conclusive = Some(at);
            (tally.counted, tally.answered_at) = (1, vec![at.as_millisecond()]);
            tally.weights.insert(bucket(took), 1.0);
        }
        tally
    }

    /// Creates a tally that contains no check, but that a check had no conclusion when it ended after a long time.
    pub fn no_answer(waited: Duration) -> Self {
        let in_vain = BTreeMap::from([(bucket(waited), 1.0)]);
        Self { counted: 1, in_vain, is_waiting: true, ..Self::default() }
    }

    /// Adds newer checks.
    #[must_use]
    pub fn then(&self, newer: &Self) -> Self {
        let mut all = newer.clone();
        let [outcomes, latency] = KEPT.map(|kept| kept.powf(newer.checks as f64));
        for (outcome, older) in self.outcomes.iter() {
            all.outcomes[outcome] += faded(*older, outcomes);
        }
        for (sum, older) in all.latency.iter_mut().zip(self.latency) {
            *sum += faded(older, latency);
        }
        let durations = KEPT_DURATIONS.powf(newer.counted as f64);
        for (sums, older) in [(&mut all.weights, &self.weights), (&mut all.in_vain, &self.in_vain)] {
            for (bucket, older) in older.iter().filter(|(_, older)| faded(**older, durations) > 0.0) {
                *sums.entry(*bucket).or_default() += faded(*older, durations);
            }
        }
        if newer.counted == 0 {
            all.is_waiting = self.is_waiting;
        }
        all.answered_at.extend(&self.answered_at);
        all.answered_at.sort_unstable_by(|one, other| other.cmp(one));
        all.answered_at.truncate(ENOUGH);
        Self {
            checks: self.checks.saturating_add(newer.checks),
            counted: self.counted.saturating_add(newer.counted),
            last_checked: self.last_checked.max(newer.last_checked),
            last_hit: self.last_hit.max(newer.last_hit),
            last_conclusive: self.last_conclusive.max(newer.last_conclusive),
            ..all
        }
    }

    /// Forgets the durations from which the deadline follows. Returns `false` if there were none.
    pub fn forget_durations(&mut self) -> bool {
        let had_any = self.counted > 0;
        let Self { checks, outcomes, latency, last_checked, last_hit, last_conclusive, .. } = *self;
        *self =
            Self { checks, outcomes, latency, last_checked, last_hit, last_conclusive, ..Self::default() };
        had_any
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

    /// Returns the deadline of a check at `now`, at most `longest`. Returns `None` if there were not enough checks.
    pub fn deadline(&self, now: Timestamp, longest: Duration) -> Option<Duration> {
        let forgotten = now.saturating_sub(FORGOTTEN_HOURS.hours()).unwrap_or(Timestamp::MIN);
        let answers = self.answered_at.iter().filter(|at| **at >= forgotten.as_millisecond()).count();
        let waits = self.in_vain.values().filter(|weight| **weight > FORGOTTEN);
        let has_enough = answers as f64 + waits.sum::<f64>() > ENOUGH as f64 - FORGOTTEN;
        let usual = match self.slow().filter(|_| answers > 0) {
            Some(slow) if has_enough => (slow + slow.min(SHORTEST).max(slow / 2) + MARGIN).max(SHORTEST),
            None if has_enough => SHORTEST,
            _ => return None,
        };
        let waited =
            self.in_vain.iter().rfind(|(_, weight)| **weight > FORGOTTEN).map(|(bucket, _)| end(*bucket));
        let longer = waited.filter(|waited| self.is_waiting && *waited < longest.min(2 * usual));
        let longer = longer.map(|waited| 2 * waited + MARGIN);
        Some(longer.unwrap_or_default().max(usual).min(longest))
    }

    /// Returns the duration that [`SHARE`] of the answers do not exceed, rounded up to the end of its bucket.
    fn slow(&self) -> Option<Duration> {
        let wanted = self.weights.values().sum::<f64>() * SHARE;
        let mut sum = 0.0;
        let found = self.weights.iter().find(|(_, weight)| {
            sum += **weight;
            sum >= wanted
        });
        found.or_else(|| self.weights.last_key_value()).map(|(bucket, _)| end(*bucket))
    }
}

/// Returns a reduced weight, or 0 if it is nearly 0.
fn faded(weight: f64, kept: f64) -> f64 {
    let left = weight * kept;
    if left < NOTHING { 0.0 } else { left }
}

/// Returns the first bucket that ends at the time or later.
fn bucket(time: Duration) -> u8 {
    (0..LAST).find(|bucket| time <= end(*bucket)).unwrap_or(LAST)
}

fn end(bucket: u8) -> Duration {
    Duration::from_secs_f64(FIRST_END * (f64::from(bucket.min(LAST)) / PER_DOUBLING).exp2())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LONGEST: Duration = Duration::from_secs(10);

    fn now() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    fn sum(tallies: &[Tally]) -> Tally {
        tallies.iter().fold(Tally::default(), |sum, one| sum.then(one))
    }

    /// Returns the tally of conclusive answers that took these times in milliseconds.
    fn answers(times: &[u64]) -> Tally {
        let one = |time: &u64| Tally::one(Outcome::Miss, Duration::from_millis(*time), now());
        sum(&times.iter().map(one).collect::<Vec<_>>())
    }

    fn are_near(one: &Tally, other: &Tally) -> bool {
        let numbers = |tally: &Tally| {
            let durations =
                [&tally.weights, &tally.in_vain].map(|sums| (0..=LAST).map(|at| sums.get(&at).copied()));
            let durations = durations.into_iter().flatten().map(Option::unwrap_or_default);
            tally
                .outcomes
                .iter()
                .map(|(_, weight)| *weight)
                .chain(tally.latency)
                .chain(durations)
                .collect::<Vec<_>>()
        };
        let whole = |tally: &Tally| {
            let times = (tally.last_checked, tally.last_hit, tally.last_conclusive);
            (tally.checks, times, tally.counted, tally.is_waiting, tally.answered_at.clone())
        };
        whole(one) == whole(other)
            && numbers(one).iter().zip(numbers(other)).all(|(one, other)| (one - other).abs() < 1e-6)
    }

    fn one() -> impl Strategy<Value = Tally> {
        // The last outcome is not counted.
        let outcomes = 0..Outcome::ALL.len() - 1;
        (outcomes, 0u64..200_000, 0i64..60 * 24).prop_map(|(outcome, took, hours_ago)| {
            let (took, at) = (Duration::from_millis(took), now() - hours_ago.hours());
            match Outcome::ALL[outcome] {
                Outcome::Timeout => Tally::no_answer(took).then(&Tally::one(Outcome::Timeout, took, at)),
                Outcome::Error => Tally::no_answer(took),
                outcome => Tally::one(outcome, took, at),
            }
        })
    }

    proptest! {
        /// Checks that the division of a sequence of checks into batches makes no difference.
        #[test]
        fn partial_tallies_add_up_to_the_whole(
            checks in prop::collection::vec(one(), 0..120),
            cuts in prop::collection::vec(0usize..120, 0..5),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(checks.len())).collect();
            cuts.extend([0, checks.len()]);
            cuts.sort_unstable();
            let portions: Vec<Tally> = cuts.windows(2).map(|cut| sum(&checks[cut[0]..cut[1]])).collect();
            prop_assert!(are_near(&sum(&portions), &sum(&checks)));
        }

        #[test]
        fn rates_are_shares_and_the_size_is_bounded(checks in prop::collection::vec(one(), 0..300)) {
            let all = sum(&checks);
            let total: f64 = Outcome::ALL.iter().map(|outcome| all.rate(&[*outcome])).sum();
            prop_assert!(all.checks == 0 && total == 0.0 || (total - 1.0).abs() < 1e-9);
            prop_assert!(all.sample() <= 20.0 + 1e-9 && all.weights.values().sum::<f64>() <= 50.0 + 1e-9);
            prop_assert!(all.weights.len() <= usize::from(LAST) + 1 && all.answered_at.len() <= ENOUGH);
            let text = serde_json::to_string(&all).unwrap();
            prop_assert_eq!(serde_json::from_str::<Tally>(&text).unwrap(), all, "it is read as it was written");
        }

        #[test]
        fn a_deadline_is_within_its_bounds_and_needs_five_checks(
            checks in prop::collection::vec(one(), 0..60),
            longest in 500u64..120_000,
        ) {
            let longest = Duration::from_millis(longest);
            let deadline = sum(&checks).deadline(now(), longest);
            prop_assert!(deadline.is_none() || checks.len() >= ENOUGH);
            if let Some(deadline) = deadline {
                prop_assert!(SHORTEST.min(longest) <= deadline && deadline <= longest, "{:?}", deadline);
            }
        }

        #[test]
        fn a_longer_deadline_is_tried_once(
            times in prop::collection::vec(1u64..12_000, 5..200),
            waits in 1usize..20,
        ) {
            let mut all = answers(&times);
            let mut deadline = all.deadline(now(), LONGEST).unwrap();
            let usual = deadline;
            for wait in 0..waits {
                all = all.then(&Tally::no_answer(deadline));
                deadline = all.deadline(now(), LONGEST).unwrap();
                match wait {
                    0 => prop_assert!(deadline >= (2 * usual).min(LONGEST * 4 / 5), "{:?} after {:?}", deadline, usual),
                    _ => prop_assert!(deadline <= usual.max(SHORTEST), "{:?} after {:?}", deadline, usual),
                }
            }
        }

        #[test]
        fn a_site_that_became_three_times_slower_is_found_by_the_second_search(
            times in prop::collection::vec(50u64..3_300, 5..300),
        ) {
            let all = answers(&times);
            // The slowest answer may have been forgotten, but not the slowest of the last thirty.
            let slower = 3 * Duration::from_millis(*times.iter().rev().take(30).max().unwrap());
            let first = all.deadline(now(), LONGEST).unwrap();
            let second = all.then(&Tally::no_answer(first)).deadline(now(), LONGEST).unwrap();
            prop_assert!(first >= slower || second >= slower, "{:?}, {:?} of {:?}", first, second, slower);
        }
    }

    #[test]
    fn old_checks_fade_to_zero() {
        let hit = Tally::one(Outcome::Hit, Duration::from_secs(9), now());
        let all = hit.then(&answers(&[1000; 1000]));
        assert_eq!((all.checks, all.rate(&[Outcome::Hit]).to_bits()), (1001, 0f64.to_bits()));
        assert_eq!(all.latency(), Some(Duration::from_secs(1)));
        assert_eq!(Tally::default().latency(), None);
    }

    #[test]
    fn the_deadline_is_about_twice_the_time_of_slow_answers_or_half_as_long_again_as_very_slow_ones() {
        assert_eq!(answers(&[100; 4]).deadline(now(), LONGEST), None);
        assert_eq!(answers(&[100; 5]).deadline(now(), LONGEST), Some(SHORTEST));
        assert_eq!(answers(&[9_000; 5]).deadline(now(), LONGEST), Some(LONGEST));
        for (time, want) in [(1000, 2.5), (1700, 3.9), (3000, 5.5), (6000, 9.5)] {
            let deadline = answers(&vec![time; 50]).deadline(now(), LONGEST).unwrap().as_secs_f64();
            assert!((want..1.2 * want).contains(&deadline), "{deadline} for {want}");
        }
        let one_is_slow = [&[2_000][..], &[100; 20]].concat();
        assert!(answers(&one_is_slow).deadline(now(), LONGEST).unwrap() > 2 * SHORTEST);
        let was_slow = [&[2_000][..], &[100; 60]].concat();
        assert_eq!(answers(&was_slow).deadline(now(), LONGEST), Some(SHORTEST), "it is forgotten");
    }

    #[test]
    fn answers_are_forgotten_after_thirty_days() {
        let all = answers(&[100; 10]);
        for (days, is_known) in [(29, true), (31, false)] {
            let later = now() + (24 * days).hours();
            assert_eq!(all.deadline(later, LONGEST).is_some(), is_known, "{days}");
        }
        let later = now() + (24 * 31).hours();
        let one_more = all.then(&Tally::one(Outcome::Miss, Duration::from_millis(100), later));
        assert_eq!(one_more.deadline(later, LONGEST), None, "one answer is not enough");
    }
}
