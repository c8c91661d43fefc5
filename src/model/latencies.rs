//! [`Latencies`]: how long the conclusive answers of a module take, and the deadline of its checks that follows from it.
//!
//! The durations are counted in buckets, each of which ends 19% above the previous one. Each further duration
//! multiplies the weights of the earlier ones by `KEPT`, so that about the last fifty count. The deadline is twice the
//! duration that 99% of them do not exceed, and half a second. Thus the slowest of about the last thirty decides.
//!
//! A check that ended without a conclusion after a long time shows only that its answer takes longer, if there is one. The
//! next deadline is therefore more than twice as long, and a site that became three times slower is found again by the
//! second search. If there was no answer in the longer time either, it is not tried again soon: the site has no answer
//! for some names.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

/// The weight below which a weight counts as zero. PostgreSQL refuses to store numbers that underflow.
pub const NOTHING: f64 = 1e-9;

/// The factor by which a duration reduces the weights of earlier ones.
const KEPT: f64 = 0.98;

/// The number of checks without which no deadline is learnt: conclusive answers, or waits in vain.
const ENOUGH: usize = 5;

/// The age in hours, 30 days, above which checks do not count.
pub const FORGOTTEN_HOURS: i64 = 30 * 24;

/// The share of durations that do not exceed the one on which the deadline depends.
const SHARE: f64 = 0.99;

/// The shortest deadline that is learnt.
const SHORTEST: Duration = Duration::from_secs(2);

/// The time that is added to twice the duration of slow answers.
const MARGIN: Duration = Duration::from_millis(500);

/// The end of the first bucket in seconds.
const FIRST_END: f64 = 0.1;

/// The number of buckets in which the duration doubles.
const PER_DOUBLING: f64 = 4.0;

/// The weight up to which a wait in vain is forgotten, after about thirty further checks.
pub const FORGOTTEN: f64 = 0.5;

/// The last bucket. It ends at 205 seconds and also contains all longer durations.
const LAST: u8 = 44;

/// The durations of a module's conclusive answers. The default contains none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latencies {
    /// The number of durations that were counted.
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

impl Latencies {
    /// Creates the latencies of one conclusive answer that ended at `at`.
    pub fn answer(took: Duration, at: Timestamp) -> Self {
        let weights = BTreeMap::from([(bucket(took), 1.0)]);
        Self { counted: 1, weights, answered_at: vec![at.as_millisecond()], ..Self::default() }
    }

    /// Creates the latencies of one check that had no conclusion when it ended after a long time.
    pub fn no_answer(waited: Duration) -> Self {
        let in_vain = BTreeMap::from([(bucket(waited), 1.0)]);
        Self { counted: 1, in_vain, is_waiting: true, ..Self::default() }
    }

    /// Adds newer durations.
    #[must_use]
    pub fn then(&self, newer: &Self) -> Self {
        let kept = KEPT.powf(newer.counted as f64);
        let sum = |older: &BTreeMap<u8, f64>, newer: &BTreeMap<u8, f64>| {
            let mut weights = newer.clone();
            for (bucket, older) in older {
                if older * kept >= NOTHING {
                    *weights.entry(*bucket).or_default() += older * kept;
                }
            }
            weights
        };
        let mut answered_at = [&*newer.answered_at, &*self.answered_at].concat();
        answered_at.sort_unstable_by(|one, other| other.cmp(one));
        answered_at.truncate(ENOUGH);
        Self {
            counted: self.counted.saturating_add(newer.counted),
            weights: sum(&self.weights, &newer.weights),
            in_vain: sum(&self.in_vain, &newer.in_vain),
            is_waiting: if newer.counted > 0 { newer.is_waiting } else { self.is_waiting },
            answered_at,
        }
    }

    /// Returns the deadline of a check at `now`, at most `longest`. Returns `None` if there were not enough checks.
    pub fn deadline(&self, now: Timestamp, longest: Duration) -> Option<Duration> {
        let forgotten = now.saturating_sub(FORGOTTEN_HOURS.hours()).unwrap_or(Timestamp::MIN);
        let answers = self.answered_at.iter().filter(|at| **at >= forgotten.as_millisecond()).count();
        let waits = self.in_vain.values().filter(|weight| **weight > FORGOTTEN);
        let has_enough = answers as f64 + waits.sum::<f64>() > ENOUGH as f64 - FORGOTTEN;
        let usual = match self.slow().filter(|_| answers > 0) {
            Some(slow) if has_enough => twice(slow),
            None if has_enough => SHORTEST,
            _ => return None,
        };
        let waited =
            self.in_vain.iter().rfind(|(_, weight)| **weight > FORGOTTEN).map(|(bucket, _)| end(*bucket));
        let longer = waited.filter(|waited| self.is_waiting && *waited < longest.min(2 * usual)).map(twice);
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

/// Returns the deadline for answers that may take this long.
fn twice(slow: Duration) -> Duration {
    (2 * slow + MARGIN).max(SHORTEST)
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
    use proptest::prelude::{any as any_of, *};

    const LONGEST: Duration = Duration::from_secs(10);

    fn now() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    fn millis(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    fn sum(times: &[Latencies]) -> Latencies {
        times.iter().fold(Latencies::default(), |sum, one| sum.then(one))
    }

    fn answers(times: &[u64]) -> Latencies {
        sum(&times.iter().map(|time| Latencies::answer(millis(*time), now())).collect::<Vec<_>>())
    }

    fn are_near(one: &Latencies, other: &Latencies) -> bool {
        let weight = |times: &Latencies, bucket| times.weights.get(&bucket).copied().unwrap_or_default();
        (one.counted, &one.answered_at) == (other.counted, &other.answered_at)
            && (0..=LAST).all(|bucket| (weight(one, bucket) - weight(other, bucket)).abs() < 1e-6)
    }

    fn any() -> impl Strategy<Value = Latencies> {
        (0u64..200_000, 0i64..60 * 24, any_of::<bool>()).prop_map(|(time, hours_ago, is_answer)| {
            match is_answer {
                true => Latencies::answer(millis(time), now() - hours_ago.hours()),
                false => Latencies::no_answer(millis(time)),
            }
        })
    }

    proptest! {
        /// Checks that the division of a sequence of times into batches makes no difference.
        #[test]
        fn batches_add_up(times in prop::collection::vec(any(), 0..200), cuts in prop::collection::vec(0usize..200, 0..5)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(times.len())).collect();
            cuts.extend([0, times.len()]);
            cuts.sort_unstable();
            let batches: Vec<Latencies> = cuts.windows(2).map(|cut| sum(&times[cut[0]..cut[1]])).collect();
            prop_assert!(are_near(&sum(&batches), &sum(&times)));
        }

        #[test]
        fn a_deadline_is_within_its_bounds_and_needs_five_checks(
            times in prop::collection::vec(any(), 0..60),
            longest in 500u64..120_000,
        ) {
            let longest = millis(longest);
            let all = sum(&times);
            let deadline = all.deadline(now(), longest);
            prop_assert!(deadline.is_none() || times.len() >= ENOUGH);
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
                all = all.then(&Latencies::no_answer(deadline));
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
            let slower = 3 * millis(*times.iter().rev().take(30).max().unwrap());
            let first = all.deadline(now(), LONGEST).unwrap();
            let second = all.then(&Latencies::no_answer(first)).deadline(now(), LONGEST).unwrap();
            prop_assert!(first >= slower || second >= slower, "{:?}, {:?} of {:?}", first, second, slower);
        }

        #[test]
        fn the_size_is_bounded(times in prop::collection::vec(any(), 0..500)) {
            let all = sum(&times);
            prop_assert!(all.weights.len() <= usize::from(LAST) + 1 && all.answered_at.len() <= ENOUGH);
            prop_assert!(all.weights.values().sum::<f64>() <= 50.0 + 1e-9);
        }

        #[test]
        fn it_is_read_as_it_was_written(times in prop::collection::vec(any(), 0..100)) {
            let all = sum(&times);
            let text = serde_json::to_string(&all).unwrap();
            prop_assert_eq!(serde_json::from_str::<Latencies>(&text).unwrap(), all);
        }
    }

    #[test]
    fn the_deadline_is_about_twice_the_time_of_slow_answers() {
        assert_eq!(answers(&[100; 4]).deadline(now(), LONGEST), None);
        assert_eq!(answers(&[100; 5]).deadline(now(), LONGEST), Some(SHORTEST));
        assert_eq!(answers(&[9_000; 5]).deadline(now(), LONGEST), Some(LONGEST));
        for time in [1000u64, 1700, 3000] {
            let deadline = answers(&vec![time; 50]).deadline(now(), LONGEST).unwrap().as_secs_f64();
            let want = 2.0 * time as f64 / 1000.0 + 0.5;
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
        let one_more = all.then(&Latencies::answer(millis(100), later));
        assert_eq!(one_more.deadline(later, LONGEST), None, "one answer is not enough");
    }

    #[test]
    fn an_empty_document_contains_no_answers() {
        assert_eq!(serde_json::from_str::<Latencies>("{}").unwrap(), Latencies::default());
        assert_eq!(Latencies::default().deadline(now(), LONGEST), None);
    }
}
