//! Quarantines, with a simulated clock. The tests of breakers show the rest.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::base::clock::ManualClock;
use crate::model::health::BreakerState;
use crate::modules::control_check::{ControlAnswer, Direction};

const FIRST: Duration = Duration::from_secs(600);

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

/// A process with its own clock.
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

#[test]
fn two_runs_must_fail_and_only_a_control_check_of_the_same_direction_ends_a_quarantine() {
    for (failing, other) in [(Direction::MadeUp, Direction::Known), (Direction::Known, Direction::MadeUp)] {
        let process = Process::start();
        [1, 1].into_iter().for_each(|number| process.fail(number, failing));
        assert_eq!(process.access(), Ok(None), "both are of one run");
        process.fail(2, failing);
        let opening = process.opening().unwrap();
        assert_eq!((opening.wait, opening.failures), (FIRST, 3));
        assert_eq!(process.access(), Err(Denial::Quarantine(opening.times())));
        process.pass(other);
        assert_eq!(process.opening(), Some(opening), "it proves nothing about the other direction");
        process.clock.advance(FIRST);
        assert_eq!([process.trial(false), process.trial(true)], [failing; 2], "one was not made");
        process.pass(failing);
        assert_eq!(process.access(), Ok(None));
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
