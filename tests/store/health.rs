//! The health of modules: tallies are added up, kept, and separate for the simulated web.

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use sightline::model::audit::{AuditFilter, Origin};
use sightline::model::health::{CircuitRecord, FailedControl, Learnt, Opening, Tallies};
use sightline::model::latencies::Latencies;
use sightline::model::tally::Tally;
use sightline::modules::control_check::{ControlAnswer, Direction};
use sightline::modules::outcome::Outcome;

use super::{at, once_connected, race};

fn moment(seconds: i64) -> Timestamp {
    at("2026-03-01T12:00:00Z") + seconds.seconds()
}

/// Returns a tally of that many checks with one outcome.
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
    let numbers = |tally: &Tally| {
        tally.outcomes.iter().map(|(_, weight)| *weight).chain(tally.latency).collect::<Vec<_>>()
    };
    let deadline = |tally: &Tally| tally.latencies.deadline(moment(0), Duration::from_secs(10));
    times(one) == times(other)
        && deadline(one) == deadline(other)
        && numbers(one).into_iter().zip(numbers(other)).all(|(one, other)| (one - other).abs() < 1e-6)
}

on_both! {
    fn tallies_are_returned_and_survive_a_restart(f) {
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

    fn a_deadline_is_learnt_from_the_answers_of_all_processes(f) {
        let longest = Duration::from_secs(10);
        let deadline = |tallies: &Tallies| tallies[0].1.latencies.deadline(moment(9), longest);
        let another = f.another();
        let answer = |time| {
            let time = Duration::from_secs(time);
            of(vec![("m", Tally::one(Outcome::Hit, time, moment(1)))])
        };
        for (store, time) in [(&f.store, 1), (&another, 3), (&f.store, 1), (&another, 1)] {
            assert_eq!(deadline(&store.share_health(false, &answer(time)).unwrap()), None);
        }
        let learnt = deadline(&f.store.share_health(false, &answer(1)).unwrap()).unwrap();
        assert!((6500..8000).contains(&learnt.as_millis()), "{learnt:?}");
        let cut = of(vec![("m", Tally::no_answer(learnt))]);
        assert_eq!(deadline(&another.share_health(false, &cut).unwrap()), Some(longest));
        assert_eq!(deadline(&f.store.share_health(false, &Tallies::new()).unwrap()), Some(longest));
    }

    fn a_reset_forgets_the_learnt_deadline_of_a_module_and_nothing_else(f) {
        let deadlines = |simulated| -> Vec<(String, Option<Duration>, Tally)> {
            let stored = sorted(f.store.share_health(simulated, &Tallies::new()).unwrap());
            let deadline = |tally: &Tally| tally.latencies.deadline(moment(9), Duration::from_secs(10));
            let others = |tally: &Tally| Tally { latencies: Latencies::default(), ..tally.clone() };
            stored.iter().map(|(module, it)| (module.to_string(), deadline(it), others(it))).collect()
        };
        let learnt = of(vec![("a", checks(Outcome::Hit, 5, 1)), ("b", checks(Outcome::Miss, 6, 2))]);
        f.store.share_health(false, &learnt).unwrap();
        f.store.share_health(true, &learnt).unwrap();
        let before = deadlines(false);
        assert!(before.iter().all(|(_, deadline, _)| deadline.is_some()), "{before:?}");

        let reset = |module| f.store.reset(Learnt::Deadlines, module, moment(10), &Origin::CLI).unwrap();
        assert_eq!(reset(Some("c")), [""; 0]);
        assert_eq!(reset(Some("a")), ["a"]);
        for simulated in [false, true] {
            let after = deadlines(simulated);
            assert_eq!([after[0].1, after[1].1], [None, before[1].1]);
            assert_eq!((&after[0].2, &after[1].2), (&before[0].2, &before[1].2), "other counts stay");
        }
        assert_eq!(reset(Some("a")), [""; 0]);
        assert_eq!(reset(None), ["b"]);
        assert!(deadlines(false).iter().all(|(_, deadline, _)| deadline.is_none()));
        let noted = f.store.audit(&AuditFilter::default(), 1000).unwrap();
        let noted: Vec<_> = noted.iter().filter(|entry| entry.action == "deadlines.reset").collect();
        let details: Vec<String> = noted.iter().map(|entry| json!(entry.detail).to_string()).collect();
        assert_eq!(details, [r#"{"module":"a"}"#, r#"{"modules":1}"#]);

        let four = of(vec![("a", checks(Outcome::Hit, 4, 11))]);
        f.store.share_health(false, &four).unwrap();
        assert_eq!(deadlines(false)[0].1, None, "five new answers are needed");
        f.store.share_health(false, &of(vec![("a", checks(Outcome::Hit, 1, 11))])).unwrap();
        assert!(deadlines(false)[0].1.is_some());
    }

    fn the_latest_change_of_a_quarantine_is_valid(f) {
        let record = |name: &str, second, failures| CircuitRecord {
            name: name.to_owned(),
            changed_at: moment(second),
            opening: (failures > 0).then(|| Opening {
                cause: FailedControl {
                    direction: Direction::MadeUp,
                    failures,
                    after: ControlAnswer { http_status: Some(200), matcher: Some("hit[0]: \"é\"".to_owned()) },
                    before: Some(ControlAnswer::default()),
                    entry: "0123456789abcdef".to_owned(),
                },
                since: moment(1),
                wait: Duration::from_millis(600_001),
                next_try: moment(601),
            }),
        };
        let share = |simulated, changed: &[_]| f.store.share_quarantines(simulated, changed).unwrap();
        let all = [record("a", 1, 2), record("b", 2, 3)];
        assert_eq!(share(false, &all), all);
        assert_eq!(share(false, &[record("a", 0, 9), record("b", 3, 0)]), [record("a", 1, 2), record("b", 3, 0)]);
        assert_eq!(share(true, &[record("a", 5, 4)]), [record("a", 5, 4)], "the simulated web has its own");
        assert_eq!(f.another().share_quarantines(false, &[]).unwrap()[0], record("a", 1, 2));

        let reset = |module| f.store.reset(Learnt::Quarantines, module, moment(9), &Origin::CLI).unwrap();
        assert_eq!(reset(Some("b")), [""; 0]);
        assert_eq!(reset(Some("a")), ["a"]);
        assert_eq!(share(false, &[])[0], record("a", 9, 0));
        assert_eq!(share(true, &[])[0], record("a", 9, 0));
        let noted = f.store.audit(&AuditFilter::default(), 1000).unwrap();
        let noted: Vec<_> = noted.iter().filter(|entry| entry.action == "quarantine.reset").collect();
        let details: Vec<String> = noted.iter().map(|entry| json!(entry.detail).to_string()).collect();
        assert_eq!(details, [r#"{"module":"a"}"#]);

        let week = 7 * 24 * 60 * 60;
        assert_eq!(share(false, &[record("c", 10 + week, 2)]), [record("c", 10 + week, 2)], "old ones are forgotten");
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
        // Each of these tallies leaves next to nothing of the previous counts.
        for (portion, times) in [(1, 20), (350, 60), (10_000, 5), (30_000, 5), (1, 5)] {
            for _ in 0..times {
                f.store.share_health(false, &of(vec![("m", checks(Outcome::Miss, portion, 2))])).unwrap();
            }
        }
        let all = f.store.share_health(false, &Tallies::new()).unwrap();
        assert_eq!((all[0].1.rate(&[Outcome::Hit]).to_bits(), all[0].1.last_hit), (0f64.to_bits(), Some(moment(1))));
    }
}
