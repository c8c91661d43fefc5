//! Readers of a run that another process drives, which is simulated by the test.

use sightline::model::drive::Delta;
use sightline::model::run::{ModuleReport, Progress};
use sightline::modules::outcome::Outcome;
use sightline::runs::follow::Follower;

use super::*;

const LEASE: Duration = Duration::from_secs(60);

/// Returns a run of two modules that the test drives, and a process that reads it.
fn driven() -> (Bench, Arc<Runs>, RunSummary, Driver) {
    let bench = bench(&modules("gate", 2), config());
    let run = bench.start("alice");
    eventually("both are asked", || bench.web.at_gate.load(Ordering::SeqCst) == 2);
    bench.runs.shut_down(Instant::now() + PATIENCE);
    bench.web.open_gate();
    let me = InstanceId(uuid::Uuid::new_v4());
    let taken = bench.store.take_over(&claim(me, false)).unwrap().unwrap();
    assert_eq!((taken.summary.id, taken.done.len()), (run.id(), 0));
    let driver = Driver::of(&bench, &taken.summary, me);
    let reading = bench.another_process(&Arc::new(PlayedWeb::default()));
    (bench, reading, taken.summary, driver)
}

/// Returns the report of a module with a hit.
fn hit(module: &str) -> ModuleReport {
    ModuleReport {
        module: module.to_owned(),
        platform: module.to_owned(),
        status: Outcome::Hit,
        reason: None,
        http_status: Some(200),
        elapsed_ms: 1,
        circuit: None,
        rules: None,
        partial: false,
        engine: false,
    }
}

/// Returns a profile of the first module, with a value of its own.
fn profile(id: u32) -> ResultRecord {
    found(id, "gate-000", "profile", &format!("alice{id}"))
}

/// The test as the process that drives a run.
struct Driver {
    store: Arc<Store>,
    run: RunId,
    me: InstanceId,
    state: Delta,
}

impl Driver {
    fn of(bench: &Bench, run: &RunSummary, me: InstanceId) -> Self {
        let progress = Progress { modules_total: 2, ..Progress::default() };
        let state = Delta { revision: run.revision, progress, ..Delta::default() };
        Self { store: Arc::clone(&bench.store), run: run.id, me, state }
    }

    fn next(&mut self, added: Vec<ResultRecord>, changed: Vec<ResultRecord>, ended: &[&str]) -> Delta {
        let mut delta = Delta { revision: self.state.revision + 1, added, changed, ..self.state.clone() };
        ended.iter().for_each(|module| delta.add_report(hit(module)));
        let none = Delta { added: vec![], changed: vec![], reports: vec![], ..delta.clone() };
        self.state = none;
        delta
    }

    fn save(&mut self, added: Vec<ResultRecord>, changed: Vec<ResultRecord>, ended: &[&str]) {
        let delta = self.next(added, changed, ended);
        assert_eq!(self.store.save(self.run, self.me.lease(1), &delta, LEASE).unwrap(), Write::Done);
    }

    fn finish(&mut self, ended: &[&str]) {
        let delta = self.next(vec![], vec![], ended);
        let ending = Ending { error: None, completed_at: SystemClock.now() };
        assert_eq!(self.store.finish(self.run, self.me.lease(1), &delta, &ending).unwrap(), Write::Done);
    }
}

/// Waits for the next frames, and returns their names, with the ids of results and the modules of progress.
fn told(follower: &mut Follower) -> Vec<String> {
    let Next::Frames(frames) = follower.next(Instant::now() + PATIENCE).unwrap() else { return Vec::new() };
    let name = |frame: &[u8]| {
        let text = std::str::from_utf8(frame).unwrap();
        let (name, data) = text.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        match name {
            "result" => format!("result {}", data["id"]),
            "progress" => {
                let modules: Vec<_> = data["module_status"].as_object().unwrap().keys().cloned().collect();
                format!("progress {}", modules.join(" "))
            }
            other => other.to_owned(),
        }
    };
    frames.iter().map(|frame| name(frame)).collect()
}

#[test]
fn what_is_saved_between_two_reads_is_not_left_out() {
    let (bench, reading, run, mut driver) = driven();
    let switch = Switch::of(&bench.store);
    let mut follower = reading.follow(&run, 0);
    driver.save(vec![profile(1), profile(2)], vec![], &["gate-000"]);
    // This is saved after the reader has been woken, and before it reads.
    *switch.before.lock() = Some((
        "changes",
        Box::new(move || {
            driver.save(vec![profile(3)], vec![ResultRecord { confidence: 0.95, ..profile(2) }], &[]);
            driver.finish(&["gate-001"]);
        }),
    ));
    assert_eq!(
        told(&mut follower),
        ["result 1", "result 2", "result 3", "progress gate-000 gate-001", "done"]
    );
}

#[test]
fn a_replay_comes_step_by_step_and_loses_nothing_that_changes_meanwhile() {
    let (_bench, reading, run, mut driver) = driven();
    driver.save((1..=100).map(profile).collect(), vec![], &["gate-000"]);
    let mut follower = reading.follow(&run, 0);
    let mut steps = vec![told(&mut follower)];
    // One result was sent before it changed, and the other one was not.
    let changed = [5, 60].map(|id| ResultRecord { confidence: 0.95, ..profile(id) });
    driver.save(vec![], changed.to_vec(), &[]);
    driver.finish(&["gate-001"]);
    while steps.last().is_some_and(|step| step.last().is_none_or(|last| last != "done")) {
        steps.push(told(&mut follower));
    }
    let most = steps.iter().map(|step| step.iter().filter(|name| name.starts_with("result")).count()).max();
    assert!(most.is_some_and(|most| most <= 32), "{steps:?}");
    let all: Vec<String> = steps.concat();
    assert_no_gap(&all);
    let times = |id: u32| all.iter().filter(|name| **name == format!("result {id}")).count();
    // What changes after the replay began is sent again.
    assert!((1..=100).all(|id| times(id) == if [5, 60].contains(&id) { 2 } else { 1 }), "{all:?}");
    let progress: Vec<&String> = all.iter().filter(|name| name.starts_with("progress")).collect();
    assert_eq!(progress, ["progress gate-000", "progress gate-001"]);
}

/// Checks that a reader which breaks off at any point and continues behind its last result misses none.
fn assert_no_gap(names: &[String]) {
    let mut last = 0;
    for id in names.iter().filter_map(|name| name.strip_prefix("result ")) {
        let id: u32 = id.parse().unwrap();
        assert!(id <= last + 1, "result {id} comes before {}: {names:?}", last + 1);
        last = last.max(id);
    }
}
