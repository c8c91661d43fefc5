//! The properties of quarantines, with a simulated clock.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::base::clock::{Clock as _, ManualClock};
use crate::model::health::BreakerState;
use crate::modules::control_check::{ControlAnswer, Direction};

const FIRST: Duration = Duration::from_secs(600);
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the module `m`. Modules with different titles have different entries.
fn module(platform: &str) -> Module {
    let entry = json!({
        "id": "m", "platform": platform, "type": "username", "category": "social", "known": ["alice"],
        "probes": [{"url": "https://m.example/{query}"}],
        "hit": [{"status": [200]}], "miss": [{"status": [404]}],
    });
    Module::compile(serde_json::from_value(entry).unwrap()).unwrap()
}

fn run(number: u128) -> RunId {
    RunId(uuid::Uuid::from_u128(number))
}

fn control(direction: Direction, verdict: ControlVerdict, status: u16) -> ControlCheck {
    let rule = if status == 200 { "hit" } else { "miss" };
    let matcher = Some(format!("{rule}[0]: status {status}"));
    ControlCheck { direction, verdict, answer: ControlAnswer { http_status: Some(status), matcher } }
}

fn failed(direction: Direction) -> ControlCheck {
    control(direction, ControlVerdict::Failed, if direction == Direction::MadeUp { 200 } else { 404 })
}

fn passed(direction: Direction) -> ControlCheck {
    control(direction, ControlVerdict::Passed, if direction == Direction::MadeUp { 404 } else { 200 })
}

/// A process with a clock of its own.
struct Process {
    health: HealthTable,
    clock: ManualClock,
    module: Module,
}

impl Process {
    fn start() -> Self {
        let clock = ManualClock::new("2026-03-01T12:00:00Z".parse().unwrap());
        let health = HealthTable::new(Arc::new(clock.clone()), FIRST, FIRST, FIRST, None);
        Self { health, clock, module: module("M") }
    }

    fn fail(&self, number: u128, direction: Direction) {
        self.health.note_failed_controls(run(number), &self.module, &[failed(direction)]);
    }

    fn pass(&self, direction: Direction) {
        self.health.note_passed(self.module.id(), &[passed(direction)]);
    }

    fn opening(&self) -> Option<Opening> {
        self.health.quarantines.of("m")
    }

    fn access(&self) -> Result<Option<ModuleTrial>, Denial> {
        self.health.module_access(&self.module)
    }

    /// Begins the trial that is due, and ends it. Returns the direction of its control check.
    fn trial(&self, was_made: bool) -> Direction {
        let Ok(Some(trial)) = self.access() else { panic!("no trial is due") };
        self.health.quarantines.end_trial("m", was_made);
        trial.direction
    }

    /// Stores the changes in a list, and reads it.
    fn share(&self, store: &mut BreakerState) {
        for (_, state) in self.health.quarantines.unwritten() {
            *store = store.clone().later(&state);
        }
        self.health.quarantines.take_over(vec![("m".into(), store.clone())]);
    }
}

/// An event of a module.
#[derive(Debug, Clone)]
enum Event {
    /// The time passes, in minutes.
    Wait(u64),
    /// A control check of one of three runs fails.
    Failed(u128, Direction),
    Passed(Direction),
    /// A check asks for access. A trial ends at once, with this verdict of its control check, or without one.
    Access(Option<bool>),
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::MadeUp), Just(Direction::Known)]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0u64..2000).prop_map(Event::Wait),
        3 => (0u128..3, direction()).prop_map(|(run, direction)| Event::Failed(run, direction)),
        1 => direction().prop_map(Event::Passed),
        4 => prop::option::of(any::<bool>()).prop_map(Event::Access),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_module_is_asked_unless_it_failed_twice_in_a_row_and_then_only_when_a_trial_is_due(
        events in prop::collection::vec(event(), 1..80),
    ) {
        let process = Process::start();
        // The runs of the failures in a row, and the direction of the last one.
        let (mut row, mut last): (Vec<u128>, Option<Direction>) = (Vec::new(), None);
        for event in events {
            let (before, now) = (process.opening(), process.clock.now());
            match event {
                Event::Wait(minutes) => process.clock.advance(Duration::from_secs(60 * minutes)),
                Event::Failed(number, direction) => {
                    process.fail(number, direction);
                    if before.is_none() {
                        row.push(number);
                        last = Some(direction);
                        let opening = process.opening();
                        prop_assert!(opening.is_none_or(|it| (it.wait, it.failures as usize) == (FIRST, row.len())));
                    } else {
                        prop_assert_eq!(process.opening(), before, "only the failures of trials count");
                    }
                }
                Event::Passed(direction) => {
                    process.pass(direction);
                    if last == Some(direction) {
                        (row, last) = (Vec::new(), None);
                        prop_assert_eq!(process.opening(), None);
                    } else {
                        prop_assert_eq!(process.opening(), before, "it proves nothing about the other direction");
                    }
                }
                Event::Access(verdict) => match (process.access(), before) {
                    (Ok(None), before) => prop_assert_eq!(before, None),
                    (Err(denial), Some(before)) => {
                        prop_assert!(now < before.next_try, "a trial is due");
                        prop_assert_eq!(denial, Denial::Quarantine(before.times()));
                    }
                    (Ok(Some(trial)), Some(before)) => {
                        prop_assert!(now >= before.next_try);
                        prop_assert_eq!(trial.direction, before.control().unwrap().direction);
                        let is_denied = process.access().is_err();
                        prop_assert!(is_denied, "one trial at a time");
                        match verdict {
                            None => process.health.quarantines.end_trial("m", false),
                            Some(true) => {
                                process.pass(trial.direction);
                                process.health.quarantines.end_trial("m", true);
                                (row, last) = (Vec::new(), None);
                                prop_assert_eq!(process.opening(), None);
                            }
                            Some(false) => {
                                process.health.quarantines.end_trial("m", true);
                                process.fail(7, trial.direction);
                                let after = process.opening().unwrap();
                                prop_assert_eq!(after.wait, (before.wait * 2).min(LONGEST));
                                prop_assert_eq!(after.since, before.since);
                                prop_assert_eq!(after.failures, before.failures + 1);
                            }
                        }
                    }
                    other => prop_assert!(false, "{other:?}"),
                },
            }
            let is_of_several_runs = row.iter().any(|number| *number != row[0]);
            prop_assert_eq!(process.opening().is_some(), row.len() >= 2 && is_of_several_runs);
            if let Some(opening) = process.opening() {
                prop_assert!(opening.wait >= FIRST && opening.wait <= LONGEST);
            }
        }
    }
}

#[test]
fn a_changed_entry_is_tried_at_once() {
    let mut process = Process::start();
    (1..=2).for_each(|number| process.fail(number, Direction::MadeUp));
    assert!(process.access().is_err());
    process.module = module("Repaired");
    assert_eq!(process.health.module_denial(&process.module), None);
    process.trial(true);
    process.fail(3, Direction::MadeUp);
    assert!(process.access().is_err(), "it was no repair");
    process.clock.advance(2 * FIRST);
    process.trial(true);
    process.pass(Direction::MadeUp);
    assert_eq!(process.access(), Ok(None));
}

#[test]
fn processes_share_quarantines_and_their_ends() {
    let [one, other] = [Process::start(), Process::start()];
    let mut store = BreakerState::default();
    one.pass(Direction::MadeUp);
    (1..=2).for_each(|number| one.fail(number, Direction::MadeUp));
    one.share(&mut store);
    other.share(&mut store);
    assert_eq!((other.opening(), other.access()), (one.opening(), one.access()));
    assert!([&one, &other].iter().all(|process| process.health.quarantines.unwritten().is_empty()));

    [&one, &other].iter().for_each(|process| process.clock.advance(FIRST));
    other.trial(true);
    other.fail(9, Direction::MadeUp);
    assert!(
        other.opening().unwrap().control().unwrap().before.is_some(),
        "the other process knows it from the store"
    );
    other.share(&mut store);
    one.share(&mut store);
    assert_eq!(one.opening(), other.opening());

    one.clock.advance(2 * FIRST);
    one.trial(true);
    one.pass(Direction::MadeUp);
    one.share(&mut store);
    other.share(&mut store);
    assert_eq!([one.access(), other.access()], [Ok(None); 2]);
}
