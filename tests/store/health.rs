//! What was learned from searches: tallies are added up, the latest change of a breaker is valid, and the checks of a day
//! are counted over all processes.

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use serde_json::json;
use sightline::model::audit::{AuditFilter, Origin};
use sightline::model::health::{BreakerState, Cause, FailedControl, Learned, Opening};
use sightline::model::tally::Tally;
use sightline::modules::outcome::{ControlAnswer, Direction, Outcome};
use sightline::store::Store;

use super::{Fixture, at};

fn moment(seconds: i64) -> Timestamp {
    at("2026-03-01T12:00:00Z") + seconds.seconds()
}

/// Returns a tally of that many checks with one outcome.
fn checks(outcome: Outcome, count: usize, second: i64) -> Tally {
    let one = Tally::one(outcome, Duration::from_millis(100), moment(second));
    (0..count).fold(Tally::default(), |sum, _| sum.then(&one))
}

type Tallies = Vec<(Arc<str>, Tally)>;

fn of(tallies: Vec<(&str, Tally)>) -> Tallies {
    tallies.into_iter().map(|(module, tally)| (Arc::from(module), tally)).collect()
}

/// Adds tallies, and returns all of them, sorted by name.
fn share(store: &Store, simulated: bool, tallies: &[(Arc<str>, Tally)]) -> Tallies {
    let add = |older: Tally, newer: &Tally| older.then(newer);
    let rows =
        store.share_learned(Learned::Deadline, simulated, Timestamp::UNIX_EPOCH, tallies, add).unwrap();
    rows.into_iter().map(|(name, _, tally)| (name, tally)).collect()
}

/// Returns the details of the resets in the audit.
fn resets(f: &Fixture) -> Vec<String> {
    let noted = f.store.audit(&AuditFilter::default(), 1000).unwrap();
    let noted = noted.iter().filter(|entry| entry.action == "health.reset");
    noted.map(|entry| json!(entry.detail).to_string()).collect()
}

on_both! {
    fn only_what_has_changed_is_read_again(f) {
        let read = |since, changed: &[_]| {
            let add = |older: Tally, newer: &Tally| older.then(newer);
            f.store.share_learned(Learned::Deadline, false, since, changed, add).unwrap()
        };
        share(&f.store, false, &of(vec![("a", checks(Outcome::Hit, 1, 1)), ("b", checks(Outcome::Hit, 1, 1))]));
        f.shift("learnt", "changed_at", -120, "WHERE name = 'a'");
        let names = |rows: &[(Arc<str>, Timestamp, Tally)]| rows.iter().map(|row| row.0.to_string()).collect::<Vec<_>>();
        let all = read(Timestamp::UNIX_EPOCH, &[]);
        assert_eq!(names(&all), ["a", "b"]);
        assert_eq!(names(&read(all[1].1, &[])), ["b"]);
        assert_eq!(names(&read(all[1].1, &of(vec![("a", Tally::default())]))), ["a", "b"], "what it writes is read");
        let ahead = Timestamp::now() + 1.hour();
        assert_eq!(names(&read(ahead, &[])), ["a", "b"], "the clock was set back");
    }

    fn the_latest_change_of_a_breaker_is_valid(f) {
        let control = FailedControl {
            direction: Direction::MadeUp,
            after: ControlAnswer { http_status: Some(200), matcher: Some("hit[0]: \"é\0\"".to_owned()) },
            before: Some(ControlAnswer::default()),
            entry: "0123456789abcdef".to_owned(),
        };
        let causes = [(Learned::Host, Cause::Check(Outcome::Timeout)), (Learned::Quarantine, Cause::Control(control))];
        for (kind, cause) in causes {
            let row = |name: &str, second, failures| (Arc::from(name), BreakerState {
                changed_at: moment(second),
                opening: (failures > 0).then(|| Opening {
                    failures,
                    cause: cause.clone(),
                    since: moment(1),
                    wait: Duration::from_millis(600_001),
                    next_try: moment(601),
                }),
            });
            let share_on = |store: &Store, simulated, changed: &[_]| -> Vec<(Arc<str>, BreakerState)> {
                let rows = store.share_learned(kind, simulated, Timestamp::UNIX_EPOCH, changed, BreakerState::later).unwrap();
                rows.into_iter().map(|(name, _, state)| (name, state)).collect()
            };
            let share = |simulated, changed: &[_]| share_on(&f.store, simulated, changed);
            let all = [row("a", 1, 2), row("b", 2, 3)];
            assert_eq!(share(false, &all), all);
            let older_and_newer = [row("a", 0, 9), row("b", 3, 0)];
            assert_eq!(share(false, &older_and_newer), [row("a", 1, 2), row("b", 3, 0)]);
            assert_eq!(share(true, &[row("a", 5, 4)]), [row("a", 5, 4)], "the simulated web has its own");
            assert_eq!(share_on(&f.another(), false, &[])[0], row("a", 1, 2));

            let reset = |name| f.store.reset(kind, name, moment(9), &Origin::CLI).unwrap();
            assert_eq!(reset(Some("b")), [""; 0]);
            assert_eq!(reset(Some("a")), ["a"]);
            assert_eq!((&share(false, &[])[0], &share(true, &[])[0]), (&row("a", 9, 0), &row("a", 9, 0)));
            assert_eq!(resets(f).pop().unwrap(), format!(r#"{{"kind":"{}","name":"a"}}"#, kind.as_str()));

            f.shift("learnt", "changed_at", -8 * 86_400, "");
            assert_eq!(share(false, &[row("c", 10, 2)]), [row("c", 10, 2)], "old ones are forgotten");
        }
    }

    fn the_checks_of_a_day_are_counted_over_all_processes(f) {
        let counted = f.race(6, |store| store.count_today(false, "m", 4));
        assert_eq!(counted.iter().filter(|is_counted| **is_counted).count(), 4);
        let count = |limit| f.store.count_today(false, "m", limit).unwrap();
        assert_eq!([count(4), count(5), count(5)], [false, true, false]);
        assert!(f.store.count_today(true, "m", 4).unwrap() && f.store.count_today(false, "other", 4).unwrap());
        f.shift("learnt", "changed_at", -86_400, "");
        assert_eq!([count(2), count(2), count(2)], [true, true, false], "a new day");
        assert_eq!(share(&f.store, false, &[]), [], "it is no tally");
    }

    fn processes_that_write_at_once_lose_nothing_and_do_not_block_each_other(f) {
        let learned: Tallies =
            (0..50).map(|number| (Arc::from(format!("m{number:02}")), checks(Outcome::Miss, 1, 1))).collect();
        let add = |older: Tally, newer: &Tally| older.then(newer);
        for _ in 0..10 {
            f.race(8, |store| store.share_learned(Learned::Deadline, false, Timestamp::UNIX_EPOCH, &learned, add));
        }
        let all = share(&f.store, false, &[]);
        assert_eq!(all.len(), 50);
        assert!(all.iter().all(|(_, tally)| tally.checks == 80 && (tally.rate(&[Outcome::Miss]) - 1.0).abs() < 1e-9));
    }

    fn a_count_that_fades_for_years_becomes_nothing_and_no_error(f) {
        share(&f.store, false, &of(vec![("m", checks(Outcome::Hit, 1, 1))]));
        // Each of these tallies leaves next to nothing of the previous counts.
        for (portion, times) in [(1, 20), (350, 60), (10_000, 5), (30_000, 5), (1, 5)] {
            for _ in 0..times {
                share(&f.store, false, &of(vec![("m", checks(Outcome::Miss, portion, 2))]));
            }
        }
        let all = share(&f.store, false, &[]);
        assert_eq!((all[0].1.rate(&[Outcome::Hit]).to_bits(), all[0].1.last_hit), (0f64.to_bits(), Some(moment(1))));
    }
}
