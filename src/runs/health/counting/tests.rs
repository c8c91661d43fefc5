//! Quarantines, with a simulated clock. The tests of breakers show the rest.

use std::time::Duration;

use parking_lot::Mutex;

use super::*;
use crate::modules::outcome::{ControlAnswer, Direction};

const FIRST: Duration = Duration::from_secs(600);

#[test]
fn two_runs_must_fail_and_only_a_control_check_of_the_same_direction_ends_a_quarantine() {
    let module = Module::example("m");
    for (failing, other) in [(Direction::MadeUp, Direction::Known), (Direction::Known, Direction::MadeUp)] {
        let clock = Arc::new(Mutex::new("2026-03-01T12:00:00Z".parse::<Timestamp>().unwrap()));
        let health = HealthTable::new(clock.clone(), FIRST, FIRST, FIRST, None);
        let control =
            |direction, verdict| ControlCheck { direction, verdict, answer: ControlAnswer::default() };
        let fail = |run| {
            let failed = control(failing, ControlVerdict::Failed);
            health.note_failed_controls(RunId(uuid::Uuid::from_u128(run)), &module, &[failed]);
        };
        let pass = |direction| health.note_passed(module.id(), &[control(direction, ControlVerdict::Passed)]);
        let access = || health.module_access(&module);
        [1, 1].into_iter().for_each(fail);
        assert_eq!(access(), Ok(None), "both are of one run");
        fail(2);
        let opening = health.quarantines.of("m").unwrap();
        assert_eq!((opening.wait, opening.failures), (FIRST, 3));
        assert_eq!(access(), Err(Denial::Quarantine(opening.times())));
        pass(other);
        let still = health.quarantines.of("m");
        assert_eq!(still, Some(opening), "it proves nothing about the other direction");
        *clock.lock() += FIRST;
        assert_eq!(access().map(|trial| trial.map(|trial| trial.direction)), Ok(Some(failing)));
        assert!(access().is_err(), "one trial is enough");
        pass(failing);
        assert_eq!(access(), Ok(None));
    }
}
