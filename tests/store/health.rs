//! What checks taught of modules: added up, kept, and apart for each web.

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sightline::modules::outcome::Outcome;
use sightline::runs::health::Tallies;
use sightline::runs::health::tally::Tally;

use super::{at, once_connected, race};

fn moment(seconds: i64) -> Timestamp {
    at("2026-03-01T12:00:00Z") + seconds.seconds()
}

/// So many checks that ended so.
fn checks(outcome: Outcome, count: usize, second: i64) -> Tally {
    let one = Tally::one(outcome, Duration::from_millis(100), moment(second));
    (0..count).fold(Tally::default(), |sum, _| sum.then(&one))
}

fn of(tallies: Vec<(&str, Tally)>) -> Tallies {
    tallies.into_iter().map(|(module, tally)| (Arc::from(module), tally)).collect()
}

fn sorted(mut tallies: Tallies) -> Tallies {
    tallies.sort_by(|one, other| one.0.cmp(&other.0));
    tallies
}

fn are_near(one: &Tally, other: &Tally) -> bool {
    let times = |tally: &Tally| (tally.checks, tally.last_checked, tally.last_hit, tally.last_conclusive);
    let numbers = |tally: &Tally| tally.outcomes.into_iter().chain(tally.latency).collect::<Vec<_>>();
    times(one) == times(other)
        && numbers(one).into_iter().zip(numbers(other)).all(|(one, other)| (one - other).abs() < 1e-6)
}

on_both! {
    fn what_was_learnt_is_given_back_and_kept_over_a_restart(f) {
        assert_eq!(f.store.share_health(false, &Tallies::new()).unwrap(), []);
        let learnt = of(vec![
            ("github", checks(Outcome::Hit, 3, 1).then(&checks(Outcome::Blocked, 2, 5))),
            ("mastodon", checks(Outcome::Unreliable, 1, 2)),
        ]);
        assert_eq!(sorted(f.store.share_health(false, &learnt).unwrap()), learnt);
        for store in [&f.store, &f.another()] {
            assert_eq!(sorted(store.share_health(false, &Tallies::new()).unwrap()), learnt);
        }
    }

    fn every_outcome_has_its_place(f) {
        let learnt: Tallies = Outcome::ALL[..7]
            .iter()
            .map(|outcome| (Arc::from(outcome.as_str()), checks(*outcome, 2, 1)))
            .collect();
        f.store.share_health(false, &learnt).unwrap();
        assert_eq!(sorted(f.store.share_health(false, &Tallies::new()).unwrap()), sorted(learnt));
    }

    fn the_simulated_web_and_the_real_one_are_kept_apart(f) {
        let [real, played] = [Outcome::Hit, Outcome::Error].map(|outcome| of(vec![("m", checks(outcome, 4, 1))]));
        assert_eq!(f.store.share_health(false, &real).unwrap(), real);
        assert_eq!(f.store.share_health(true, &played).unwrap(), played);
        assert_eq!(f.store.share_health(false, &Tallies::new()).unwrap(), real);
    }

    fn portions_of_several_processes_add_up(f) {
        let portion = (0..7usize, 1usize..30, 0i64..1000, 0..2usize);
        let mut runner = TestRunner::new(Config { cases: 20, failure_persistence: None, ..Config::default() });
        let another = f.another();
        let case = std::cell::Cell::new(0);
        runner.run(&prop::collection::vec(portion, 1..20), |portions| {
            case.set(case.get() + 1);
            let module = format!("module-{}", case.get());
            let (mut all, mut last) = (Tally::default(), Tallies::new());
            for (outcome, count, second, process) in portions {
                let learnt = checks(Outcome::ALL[outcome], count, second);
                all = all.then(&learnt);
                last = [&f.store, &another][process].share_health(false, &of(vec![(&module, learnt)])).unwrap();
            }
            let (_, stored) = last.iter().find(|(known, _)| **known == *module).unwrap();
            prop_assert!(are_near(stored, &all), "{stored:?} is not {all:?}");
            Ok(())
        }).unwrap();
    }

    fn processes_that_write_at_once_lose_nothing_and_do_not_block_each_other(f) {
        let another = f.another();
        race(8, |index| {
            let store = if index % 2 == 0 { &f.store } else { &another };
            for _ in 0..10 {
                let learnt = (0..50).map(|number| (Arc::from(format!("m{number:02}")), checks(Outcome::Miss, 1, 1)));
                let learnt = learnt.collect();
                once_connected(|| store.share_health(false, &learnt));
            }
        });
        let all = f.store.share_health(false, &Tallies::new()).unwrap();
        assert_eq!(all.len(), 50);
        assert!(all.iter().all(|(_, tally)| tally.checks == 80 && (tally.rate(&[Outcome::Miss]) - 1.0).abs() < 1e-9));
    }

    fn a_count_that_fades_for_years_becomes_nothing_and_no_error(f) {
        f.store.share_health(false, &of(vec![("m", checks(Outcome::Hit, 1, 1))])).unwrap();
        // Each of these portions leaves next to nothing of what was before.
        for (portion, times) in [(1, 20), (350, 60), (10_000, 5), (30_000, 5), (1, 5)] {
            for _ in 0..times {
                f.store.share_health(false, &of(vec![("m", checks(Outcome::Miss, portion, 2))])).unwrap();
            }
        }
        let all = f.store.share_health(false, &Tallies::new()).unwrap();
        assert_eq!((all[0].1.rate(&[Outcome::Hit]).to_bits(), all[0].1.last_hit), (0f64.to_bits(), Some(moment(1))));
    }
}
