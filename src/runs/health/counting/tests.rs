//! Quarantines, with a simulated clock, and a check of several sources. The tests of breakers show the rest.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::json;

use super::*;
use crate::modules::checker::Checker;
use crate::modules::keys::OperatorKeys;
use crate::modules::outcome::{ControlAnswer, Direction};
use crate::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use crate::modules::query::{Query, SearchType};

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

/// A web on which the host `slow.example` needs a second to say that it is broken, and others know nobody.
struct HalfBroken;

impl Prober for HalfBroken {
    fn send(&self, request: &Request, _: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
        let is_slow = request.url.host_str() == Some("slow.example");
        std::thread::sleep(if is_slow { LONG } else { Duration::ZERO });
        let (status, final_url) = (if is_slow { 500 } else { 404 }, request.url.clone());
        Ok(Response { status, final_url, headers: Vec::new(), body: b"nobody".to_vec(), truncated: false })
    }
}

#[test]
fn searches_do_not_wait_for_a_slow_source_that_leaves_the_answer_to_its_fallback() {
    let mut entry = serde_json::to_value(Module::example("slow").entry()).unwrap();
    let fallback = json!({"url": "https://good.example/{query}", "fallback": true});
    entry["probes"].as_array_mut().unwrap().push(fallback);
    let module = Arc::new(Module::compile(serde_json::from_value(entry).unwrap()).unwrap());
    let checker = Checker::new(Arc::new(HalfBroken), OperatorKeys::default(), "test", Duration::ZERO);
    let (health, query) = (HealthTable::default(), Query::parse(SearchType::Username, "alice").unwrap());
    for _ in 0..3 {
        assert_eq!(health.circuits.of("slow.example"), None);
        let began = Instant::now();
        let report = checker.check(&module, &query, began + Duration::from_secs(60));
        assert_eq!((report.outcome, report.evidence.contacts.len()), (Outcome::Miss, 2));
        let mut updates = HealthUpdates::new(RunId::new());
        updates.take(&health, &module, &report, began.elapsed(), Timestamp::now());
    }
    assert!(health.circuits.of("slow.example").is_some() && health.circuits.of("good.example").is_none());
}
