//! The properties of the state machine, with a simulated clock.

use proptest::prelude::*;

use super::*;
use crate::modules::outcome::Outcome;

const RULES: Rules = Rules::of_hosts(Duration::from_secs(60));

/// An event of a host's breaker.
#[derive(Debug, Clone)]
enum Event {
    /// The time passes, in seconds.
    Wait(u64),
    /// A check of one of four runs gets no answer.
    Failure(u128, Outcome),
    Answer,
    /// A check requests access.
    Access,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => (0u64..4000).prop_map(Event::Wait),
        4 => (0u128..4, any::<bool>()).prop_map(|(run, is_late)| {
            Event::Failure(run, if is_late { Outcome::Timeout } else { Outcome::Error })
        }),
        1 => Just(Event::Answer),
        3 => Just(Event::Access),
    ]
}

fn run(number: u128) -> RunId {
    RunId(uuid::Uuid::from_u128(number))
}

fn at(secs: u64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + i64::try_from(secs).unwrap()).unwrap()
}

fn state(secs: u64, opening: Option<Opening>) -> BreakerState {
    BreakerState { changed_at: at(secs), opening }
}

fn opening(secs: u64) -> Opening {
    let cause = Cause::Check(Outcome::Error);
    Opening { failures: 3, cause, since: at(secs), wait: RULES.first, next_try: at(secs + 60) }
}

impl Breaker {
    fn fail(&mut self, run: RunId, outcome: Outcome, now: Timestamp) {
        self.note_failure(run, Cause::Check(outcome), now, RULES);
    }

    fn trial(&self, now: Timestamp) -> Result<bool, Denial> {
        self.ask(now, RULES, false)
    }

    /// Returns the change that is not stored yet, which is stored now.
    fn stored(&mut self) -> Option<BreakerState> {
        let state = self.is_unwritten.then(|| self.state.clone())?;
        self.merge(state.clone());
        Some(state)
    }
}

/// Returns a breaker that opened at `secs`.
fn open(secs: u64) -> Breaker {
    let mut breaker = Breaker::default();
    for number in 0..3 {
        breaker.fail(run(number), Outcome::Timeout, at(secs));
    }
    assert!(breaker.opening().is_some());
    breaker
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn three_failures_in_a_row_of_two_runs_open_and_then_one_trial_is_made_after_each_wait(
        events in prop::collection::vec(event(), 1..80),
        is_open in any::<bool>(),
    ) {
        let (mut breaker, mut now) = (if is_open { open(0) } else { Breaker::default() }, 0);
        let (mut row, mut is_patient, mut last_trial) = (Vec::new(), is_open, None);
        for event in events {
            let before = breaker.opening().cloned();
            match event {
                Event::Wait(secs) => now += secs,
                Event::Failure(number, outcome) => {
                    row.push(number);
                    breaker.fail(run(number), outcome, at(now));
                    if let (Some(before), Some(opening)) = (&before, breaker.opening()) {
                        prop_assert!([before.wait, (before.wait * 2).min(RULES.longest)].contains(&opening.wait));
                        prop_assert_eq!(opening.since, before.since);
                    }
                }
                Event::Answer => {
                    is_patient |= !row.is_empty();
                    row.clear();
                    breaker.note_success(at(now));
                    prop_assert!(breaker.opening().is_none(), "any answer closes");
                    last_trial = None;
                }
                Event::Access => match breaker.trial(at(now)) {
                    Ok(true) => {
                        if let Some(began) = last_trial.replace(at(now)) {
                            prop_assert!(at(now) >= after(began, RULES.first), "too early");
                        }
                        breaker.begin_trial(at(now));
                    }
                    Ok(false) => prop_assert!(breaker.opening().is_none()),
                    Err(_) => prop_assert!(breaker.opening().is_some()),
                },
            }
            if before.is_none() {
                let opens = row.len() >= 3 && row.iter().any(|number| *number != row[0]);
                prop_assert!(breaker.opening().is_some() == opens || is_patient && opens, "{:?}", row);
            }
            if let Some(opening) = breaker.opening() {
                prop_assert!(opening.wait >= RULES.first && opening.wait <= RULES.longest);
                prop_assert!(opening.next_try <= after(at(now), opening.wait));
            }
        }
    }

    #[test]
    fn processes_that_merge_all_records_agree(
        changes in prop::collection::btree_map(0u64..100, any::<bool>(), 1..8),
        order in any::<prop::sample::Index>(),
    ) {
        let states: Vec<_> =
            changes.iter().map(|(secs, is_open)| state(*secs, is_open.then(|| opening(*secs)))).collect();
        let (mut one, mut other) = (Breaker::default(), Breaker::default());
        states.iter().for_each(|state| one.merge(state.clone()));
        let first = order.index(states.len());
        states[first..].iter().rev().chain(&states[..first]).for_each(|state| other.merge(state.clone()));
        prop_assert_eq!(one.opening(), states.last().unwrap().opening.as_ref());
        prop_assert_eq!(one.opening(), other.opening());
        prop_assert_eq!(one.stored(), None, "nothing is new to the store");
        let merged = states[first..].iter().rev().chain(&states[..first]);
        let stored = merged.fold(BreakerState::default(), BreakerState::later);
        prop_assert_eq!(Some(&stored), states.last(), "the store agrees");
    }
}

#[test]
fn the_wait_doubles_with_each_failed_trial_up_to_the_longest() {
    let (mut breaker, mut now) = (open(0), 0);
    for want in [60, 120, 240, 480, 960, 1800, 1800] {
        assert_eq!(breaker.opening().unwrap().wait.as_secs(), want);
        assert!(breaker.trial(at(now + want - 1)).is_err());
        now += want;
        assert_eq!(breaker.trial(at(now)), Ok(true));
        breaker.begin_trial(at(now));
        breaker.fail(run(9), Outcome::Error, at(now));
        breaker.fail(run(9), Outcome::Error, at(now));
    }
    let last = breaker.opening().unwrap();
    assert_eq!((&last.cause, last.failures), (&Cause::Check(Outcome::Error), 3 + 7));
    breaker.note_success(at(now));
    assert_eq!(breaker.trial(at(now)), Ok(false));
}

#[test]
fn an_open_breaker_is_tried_again_at_its_time() {
    let trial = (60, false);
    let failure = |secs| (secs, true);
    for (events, next, why) in [
        (vec![failure(30)], 60, "only a failed trial changes something"),
        (vec![trial], 120, "it was cut, or the local network may be the cause"),
        (vec![trial, failure(60)], 180, "it failed"),
        (vec![trial, failure(60), failure(60)], 180, "one failure counts for it"),
    ] {
        let mut breaker = open(0);
        for (secs, is_failure) in events {
            match is_failure {
                true => breaker.fail(run(7), Outcome::Error, at(secs)),
                false => breaker.begin_trial(at(secs)),
            }
        }
        assert_eq!(
            (breaker.trial(at(next - 1)).is_err(), breaker.trial(at(next))),
            (true, Ok(true)),
            "{why}"
        );
    }
}

#[test]
fn a_clock_that_was_set_back_does_not_lengthen_the_wait() {
    let breaker = open(1_000_000);
    assert_eq!(breaker.trial(at(0)), Ok(true));
    assert!(breaker.trial(at(1_000_000)).is_err());
}

#[test]
fn an_answer_here_that_is_newer_than_an_opening_elsewhere_closes_it() {
    let mut breaker = Breaker::default();
    breaker.note_success(at(10));
    breaker.merge(state(5, Some(opening(5))));
    assert!(breaker.opening().is_none());
    assert_eq!(breaker.stored(), Some(state(10, None)), "others learn of the answer");
    assert_eq!(breaker.stored(), None);
    breaker.merge(state(11, Some(opening(11))));
    assert_eq!(breaker.opening(), Some(&opening(11)));
    breaker.merge(state(12, None));
    assert!(breaker.opening().is_none(), "an answer elsewhere closes");
}

#[test]
fn a_change_while_another_one_is_written_is_written_later() {
    let mut breaker = open(0);
    let written = breaker.state.clone();
    breaker.note_success(at(0));
    breaker.merge(written.clone());
    let next = breaker.stored().unwrap();
    assert!(next.opening.is_none() && next.changed_at > written.changed_at);
}

#[test]
fn a_closed_breaker_without_recent_events_is_idle() {
    let mut breaker = open(0);
    assert!(!breaker.is_idle(at(500)));
    breaker.note_success(at(100));
    assert!(!breaker.is_idle(at(500)), "the change is not stored");
    breaker.stored().unwrap();
    assert!(!breaker.is_idle(at(100)) && breaker.is_idle(at(101)));
    breaker.fail(run(1), Outcome::Error, at(200));
    assert!(!breaker.is_idle(at(500)));
}

#[test]
fn a_host_has_three_seconds_in_its_first_trial_and_longer_with_each_failure() {
    let breakers = Breakers::new(Arc::new(parking_lot::Mutex::new(at(100))), RULES);
    let slower = Opening { wait: RULES.first * 4, ..opening(0) };
    breakers.take_over(vec![("a".into(), state(0, Some(opening(0)))), ("b".into(), state(0, Some(slower)))]);
    assert_eq!(breakers.access("a"), Access::Trial(Duration::from_secs(3)));
    assert!(matches!(breakers.access("a"), Access::Denied(Denial::Circuit(Outcome::Error, _))));
    assert_eq!(breakers.access("b"), Access::Trial(Duration::from_secs(12)));
    assert_eq!((breakers.access("c"), breakers.denial("c")), (Access::Granted, None));
}
