//! The properties of the state machine, with a simulated clock.

use proptest::prelude::*;

use super::*;

const RETRY: Retry = Retry::of_hosts(Duration::from_secs(60));

/// An event of a host's circuit.
#[derive(Debug, Clone)]
enum Event {
    /// The time passes, in seconds.
    Wait(u64),
    /// A check of one of four runs gets no answer.
    Failure(u128, Outcome),
    Answer,
    /// A check requests access. A trial goes on until its end.
    Access,
    /// A trial ends, with or without a contact.
    End(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => (0u64..4000).prop_map(Event::Wait),
        4 => (0u128..4, any::<bool>()).prop_map(|(run, is_late)| {
            Event::Failure(run, if is_late { Outcome::Timeout } else { Outcome::Error })
        }),
        1 => Just(Event::Answer),
        3 => Just(Event::Access),
        2 => any::<bool>().prop_map(Event::End),
    ]
}

fn run(number: u128) -> RunId {
    RunId(uuid::Uuid::from_u128(number))
}

fn at(secs: u64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + i64::try_from(secs).unwrap()).unwrap()
}

fn record(secs: u64, opening: Option<Opening<Outcome>>) -> CircuitRecord<Outcome> {
    CircuitRecord { name: "a.example".to_owned(), changed_at: at(secs), opening }
}

fn opening(secs: u64) -> Opening<Outcome> {
    Opening { cause: Outcome::Error, since: at(secs), wait: RETRY.first, next_try: at(secs + 60) }
}

/// Returns a circuit that opened at `secs`.
fn open(secs: u64) -> Circuit<Outcome> {
    let mut circuit = Circuit::default();
    for number in 0..3 {
        circuit.note_failure(run(number), Outcome::Timeout, at(secs), RETRY);
    }
    assert!(circuit.opening().is_some());
    circuit
}

fn is_held(access: Access) -> bool {
    matches!(access, Access::Denied(_))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_circuit_opens_only_after_three_failures_in_a_row_of_two_runs(events in prop::collection::vec(event(), 1..60)) {
        let (mut circuit, mut now, mut row, mut is_patient) = (Circuit::default(), 0, Vec::new(), false);
        for event in events {
            let was_open = circuit.opening().is_some();
            match event {
                Event::Wait(secs) => now += secs,
                Event::Failure(number, outcome) => {
                    row.push(number);
                    circuit.note_failure(run(number), outcome, at(now), RETRY);
                }
                Event::Answer => {
                    is_patient |= !row.is_empty();
                    row.clear();
                    circuit.note_success(at(now));
                    prop_assert!(circuit.opening().is_none(), "any answer closes");
                }
                Event::Access => {
                    if let Access::Trial(_) = circuit.access(at(now), RETRY) {
                        circuit.begin_trial(at(now));
                    }
                }
                Event::End(was_contacted) => circuit.end_trial(was_contacted),
            }
            let of_several = row.iter().any(|number| *number != row[0]);
            if !was_open {
                let opens = row.len() >= 3 && of_several;
                prop_assert!(circuit.opening().is_some() == opens || is_patient && opens, "{:?}", row);
            }
        }
    }

    #[test]
    fn one_trial_at_a_time_and_each_after_its_wait(events in prop::collection::vec(event(), 1..80)) {
        let (mut circuit, mut now, mut in_trial, mut last_trial) = (open(0), 0, false, None);
        for event in events {
            match event {
                Event::Wait(secs) => now += secs,
                Event::Failure(number, outcome) => {
                    let before = circuit.opening().copied();
                    circuit.note_failure(run(number), outcome, at(now), RETRY);
                    if let (Some(before), Some(opening)) = (before, circuit.opening()) {
                        prop_assert!(opening.wait == before.wait || opening.wait == (before.wait * 2).min(RETRY.longest));
                        prop_assert_eq!(opening.since, before.since);
                    }
                }
                Event::Answer => {
                    circuit.note_success(at(now));
                    last_trial = None;
                }
                Event::Access => match circuit.access(at(now), RETRY) {
                    Access::Trial(time) => {
                        prop_assert!(!in_trial, "a trial begins while another one is in progress");
                        let wait = circuit.opening().unwrap().wait;
                        if let Some((began, true)) = last_trial {
                            prop_assert!(at(now) >= after(began, wait.min(RETRY.first)), "too early");
                        }
                        prop_assert_eq!(time, RETRY.trial.mul_f64(wait.as_secs_f64() / RETRY.first.as_secs_f64()));
                        circuit.begin_trial(at(now));
                        (in_trial, last_trial) = (true, Some((at(now), true)));
                    }
                    Access::Granted => prop_assert!(circuit.opening().is_none()),
                    Access::Denied(_) => prop_assert!(circuit.opening().is_some()),
                },
                Event::End(was_contacted) => {
                    circuit.end_trial(was_contacted);
                    if let Some((_, counts)) = &mut last_trial {
                        *counts &= was_contacted || !in_trial;
                    }
                    in_trial = false;
                }
            }
            if let Some(opening) = circuit.opening() {
                prop_assert!(opening.wait >= RETRY.first && opening.wait <= RETRY.longest);
                prop_assert!(opening.next_try <= after(at(now), opening.wait));
            }
        }
    }

    #[test]
    fn processes_that_merge_all_records_agree(
        changes in prop::collection::btree_map(0u64..100, any::<bool>(), 1..8),
        order in any::<prop::sample::Index>(),
    ) {
        let records: Vec<_> =
            changes.iter().map(|(secs, is_open)| record(*secs, is_open.then(|| opening(*secs)))).collect();
        let (mut one, mut other) = (Circuit::default(), Circuit::default());
        records.iter().for_each(|record| one.merge(record));
        let first = order.index(records.len());
        records[first..].iter().rev().chain(&records[..first]).for_each(|record| other.merge(record));
        prop_assert_eq!(one.opening(), records.last().unwrap().opening.as_ref());
        prop_assert_eq!(one.opening(), other.opening());
        prop_assert_eq!(one.unwritten("a.example"), None, "nothing is new to the store");
    }
}

#[test]
fn the_wait_doubles_with_each_failed_trial_up_to_the_longest() {
    let (mut circuit, mut now) = (open(0), 0);
    for want in [60, 120, 240, 480, 960, 1800, 1800] {
        assert_eq!(circuit.opening().unwrap().wait.as_secs(), want);
        assert!(is_held(circuit.access(at(now + want - 1), RETRY)));
        now += want;
        assert_eq!(
            circuit.access(at(now), RETRY),
            Access::Trial(Duration::from_secs(want / 20)),
            "three seconds at first"
        );
        circuit.begin_trial(at(now));
        assert!(is_held(circuit.access(at(now + 100_000), RETRY)), "a trial is in progress");
        circuit.end_trial(true);
        circuit.note_failure(run(9), Outcome::Error, at(now), RETRY);
        circuit.note_failure(run(9), Outcome::Error, at(now), RETRY);
    }
    assert_eq!(circuit.opening().unwrap().cause, Outcome::Error, "that of the last failure");
    circuit.note_success(at(now));
    assert_eq!(circuit.access(at(now), RETRY), Access::Granted);
}

#[test]
fn a_trial_without_a_contact_is_repeated_at_once() {
    let mut circuit = open(0);
    circuit.begin_trial(at(60));
    circuit.end_trial(false);
    assert!(matches!(circuit.access(at(60), RETRY), Access::Trial(_)));
    circuit.begin_trial(at(60));
    circuit.end_trial(true);
    assert!(is_held(circuit.access(at(119), RETRY)), "it failed, but the local network may be the cause");
    assert!(matches!(circuit.access(at(120), RETRY), Access::Trial(_)));
}

#[test]
fn a_failure_outside_a_trial_changes_nothing_of_an_open_circuit() {
    let mut circuit = open(0);
    let before = *circuit.opening().unwrap();
    circuit.note_failure(run(7), Outcome::Error, at(30), RETRY);
    assert_eq!(*circuit.opening().unwrap(), before);
}

#[test]
fn a_clock_that_was_set_back_does_not_lengthen_the_wait() {
    let circuit = open(1_000_000);
    assert!(matches!(circuit.access(at(0), RETRY), Access::Trial(_)));
    assert!(is_held(circuit.access(at(1_000_000), RETRY)));
}

#[test]
fn an_answer_here_that_is_newer_than_an_opening_elsewhere_closes_it() {
    let mut circuit = Circuit::default();
    circuit.note_success(at(10));
    circuit.merge(&record(5, Some(opening(5))));
    assert!(circuit.opening().is_none());
    let written = circuit.unwritten("a.example").unwrap();
    assert_eq!((written.opening, written.changed_at), (None, at(10)), "others learn of the answer");
    circuit.written(&written);
    assert_eq!(circuit.unwritten("a.example"), None);
    circuit.merge(&record(11, Some(opening(11))));
    assert_eq!(circuit.opening(), Some(&opening(11)));
    circuit.merge(&record(12, None));
    assert!(circuit.opening().is_none(), "an answer elsewhere closes");
}

#[test]
fn a_change_while_another_one_is_written_is_written_later() {
    let mut circuit = open(0);
    let written = circuit.unwritten("a.example").unwrap();
    circuit.note_success(at(0));
    circuit.written(&written);
    let next = circuit.unwritten("a.example").unwrap();
    assert!(next.opening.is_none() && next.changed_at > written.changed_at);
}

#[test]
fn a_closed_circuit_without_recent_events_is_idle() {
    let mut circuit = open(0);
    assert!(!circuit.is_idle(at(500)));
    circuit.note_success(at(100));
    assert!(!circuit.is_idle(at(500)), "the change is not stored");
    circuit.written(&circuit.unwritten("a.example").unwrap());
    assert!(!circuit.is_idle(at(100)) && circuit.is_idle(at(101)));
    circuit.note_failure(run(1), Outcome::Error, at(200), RETRY);
    assert!(!circuit.is_idle(at(500)));
}

#[test]
fn a_host_that_concludes_some_checks_is_not_given_up_and_one_that_stops_is() {
    let mut circuit = Circuit::default();
    let mut next = 0;
    let mut fail = |circuit: &mut Circuit<Outcome>, count: u128| {
        for _ in 0..count {
            next += 1;
            circuit.note_failure(run(next), Outcome::Timeout, at(0), RETRY);
        }
        circuit.opening().is_some()
    };
    for failures in [1, 5, 2, 7, 1] {
        assert!(!fail(&mut circuit, failures), "{failures}");
        circuit.note_success(at(0));
    }
    assert!(fail(&mut circuit, 23), "at the latest");
    circuit.note_success(at(0));
    for _ in 0..40 {
        circuit.note_success(at(0));
    }
    assert!(!fail(&mut circuit, 2) && fail(&mut circuit, 2), "what was long ago is forgotten");
}
