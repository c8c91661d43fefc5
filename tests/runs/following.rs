//! Readers of a run that another process drives, which is simulated by the test.

use sightline::model::coverage::Coverage;
use sightline::model::drive::{Checkpoint, Delta};
use sightline::model::run::{ModuleReport, Progress};
use sightline::modules::outcome::Outcome;
use sightline::runs::follow::Follower;

use super::*;

const LEASE: Duration = Duration::from_secs(60);

/// Returns a run of two modules that the test drives, with a process that does not drive it.
fn driven() -> (Bench, Arc<Switch>, RunSummary, InstanceId) {
    let bench = bench(&modules("gate", 2), config());
    let switch = Switch::of(&bench.store);
    let run = bench.start("alice");
    eventually("both are asked", || bench.web.at_gate.load(Ordering::SeqCst) == 2);
    bench.runs.maintenance.shut_down(Instant::now() + PATIENCE);
    bench.web.open_gate();
    let me = InstanceId(uuid::Uuid::new_v4());
    let taken = bench.store.take_over(&claim(me, false, 1)).unwrap().remove(0);
    assert_eq!((taken.summary.id, taken.done.len()), (run.id(), 0));
    (bench, switch, taken.summary, me)
}

fn hits(modules: &[&str]) -> Checkpoint {
    let report = |id: &&str| ModuleReport {
        module: (*id).to_owned(),
        platform: (*id).to_owned(),
        status: Outcome::Hit,
        reason: None,
        http_status: Some(200),
        elapsed_ms: 1,
        circuit: None,
        rules: None,
        partial: false,
    };
    let ended = u32::try_from(modules.len()).unwrap();
    Checkpoint {
        progress: Progress { modules_total: 2, modules_completed: ended, modules_with_hits: ended },
        coverage: Coverage::of(modules.iter().map(|_| Outcome::Hit)),
        modules: modules.iter().map(report).collect(),
        lookups: Vec::new(),
    }
}

fn found(id: u32, module: &str) -> ResultRecord {
    ResultRecord {
        id,
        result_type: "profile".into(),
        entity_type: "profile".into(),
        platform: Some(module.to_owned()),
        value: Some("alice".into()),
        confidence: 0.9,
        source: module.to_owned(),
        metadata: serde_json::Map::new(),
        created_at: SystemClock.now(),
        annotation: None,
    }
}

/// Returns a profile of the first module, with a value of its own.
fn profile(id: u32) -> ResultRecord {
    ResultRecord { value: Some(format!("alice{id}")), ..found(id, "gate-000") }
}

/// Returns a function that writes added and changed results with a revision, as the process that drives the run.
fn writer(
    run: RunId,
    me: InstanceId,
) -> impl Fn(&Arc<Store>, u64, Vec<ResultRecord>, Vec<ResultRecord>) + Copy + Send + 'static {
    move |store, revision, added, changed| {
        let batch = Delta { revision, added, changed };
        assert_eq!(store.add_results(run, me.lease(1), &batch).unwrap(), Write::Done);
    }
}

fn completed() -> Ending {
    Ending { status: Status::Completed, error: None, completed_at: SystemClock.now() }
}

/// Reads the frames that are there, and returns their names, with the ids of results and the modules of progress.
fn told(follower: &mut Follower) -> Vec<String> {
    let Next::Frames(frames) = follower.next(Instant::now()).unwrap() else { return Vec::new() };
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
fn results_of_an_instance_of_an_earlier_version_are_read() {
    let (bench, _, run, me) = driven();
    let mut follower = bench.runs.reader.follow(Found::Stored(Box::new(run.clone())), 0);
    assert_eq!(told(&mut follower), Vec::<String>::new());
    // An earlier version does not count its writes.
    let write = |id: u32, module: &str| {
        let batch = Delta { revision: 0, added: vec![found(id, module)], changed: vec![] };
        assert_eq!(bench.store.add_results(run.id, me.lease(1), &batch).unwrap(), Write::Done);
    };
    write(1, "gate-000");
    bench.store.checkpoint(run.id, me.lease(1), &hits(&["gate-000"]), LEASE).unwrap();
    assert_eq!(told(&mut follower), ["result 1", "progress gate-000"]);
    write(2, "gate-001");
    bench.store.finish(run.id, me.lease(1), &hits(&["gate-000", "gate-001"]), &completed()).unwrap();
    assert_eq!(told(&mut follower), ["result 2", "progress gate-001", "done"]);
}

#[test]
fn a_module_that_ends_between_two_reads_is_reported_with_its_results() {
    let (bench, switch, run, me) = driven();
    let mut follower = bench.runs.reader.follow(Found::Stored(Box::new(run.clone())), 0);
    let add = writer(run.id, me);
    let write = move |store: &Arc<Store>, id: u32, module: &str, ended: &[&str]| {
        add(store, id.into(), vec![found(id, module)], vec![]);
        assert_eq!(store.checkpoint(run.id, me.lease(1), &hits(ended), LEASE).unwrap(), Write::Done);
    };
    write(&bench.store, 1, "gate-000", &["gate-000"]);
    let store = Arc::clone(&bench.store);
    let next = move || write(&store, 2, "gate-001", &["gate-000", "gate-001"]);
    *switch.before.lock() = Some(("modules", Box::new(next)));
    assert_eq!(told(&mut follower), ["result 1", "progress gate-000"]);
    assert_eq!(told(&mut follower), ["result 2", "progress gate-001"]);
}

#[test]
fn a_replay_comes_step_by_step_and_loses_nothing_that_changes_meanwhile() {
    let (bench, _, run, me) = driven();
    let write = writer(run.id, me);
    write(&bench.store, 1, (1..=100).map(profile).collect(), vec![]);
    bench.store.checkpoint(run.id, me.lease(1), &hits(&["gate-000"]), LEASE).unwrap();
    let mut follower = bench.runs.reader.follow(Found::Stored(Box::new(run.clone())), 0);
    let mut steps = vec![told(&mut follower)];
    // One result was sent before it changed, and the other one was not.
    write(
        &bench.store,
        2,
        vec![],
        [5, 60].map(|id| ResultRecord { confidence: 0.95, ..profile(id) }).to_vec(),
    );
    bench.store.finish(run.id, me.lease(1), &hits(&["gate-000", "gate-001"]), &completed()).unwrap();
    while steps.last().is_some_and(|step| step.last().is_none_or(|last| last != "done")) {
        steps.push(told(&mut follower));
    }
    let most = steps.iter().map(|step| step.iter().filter(|name| name.starts_with("result")).count()).max();
    assert!(most.is_some_and(|most| most <= 34), "{steps:?}");
    let all: Vec<String> = steps.concat();
    assert_no_gap(&all);
    let times = |id: u32| all.iter().filter(|name| **name == format!("result {id}")).count();
    assert!((1..=100).all(|id| times(id) == if id == 5 { 2 } else { 1 }), "{all:?}");
    assert_eq!(all.iter().filter(|name| name.starts_with("progress")).count(), 1, "{all:?}");
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

#[test]
fn a_result_that_changes_between_two_steps_of_a_replay_is_not_left_out() {
    let (bench, _, run, me) = driven();
    let write = writer(run.id, me);
    write(&bench.store, 1, (1..=100).map(profile).collect(), vec![]);
    let mut follower = bench.runs.reader.follow(Found::Stored(Box::new(run.clone())), 0);
    let mut names = told(&mut follower);
    write(&bench.store, 2, vec![], vec![ResultRecord { confidence: 0.95, ..profile(60) }]);
    for _ in 0..3 {
        names.extend(told(&mut follower));
    }
    assert_eq!(names, (1..=100).map(|id| format!("result {id}")).collect::<Vec<_>>());
}

#[test]
fn a_new_result_that_changes_between_two_reads_is_not_left_out() {
    let (bench, switch, run, me) = driven();
    let write = writer(run.id, me);
    let mut follower = bench.runs.reader.follow(Found::Stored(Box::new(run.clone())), 0);
    write(&bench.store, 1, vec![profile(1)], vec![]);
    assert_eq!(told(&mut follower), ["result 1"]);
    write(&bench.store, 2, vec![profile(2), profile(3)], vec![]);
    bench.store.checkpoint(run.id, me.lease(1), &hits(&["gate-000"]), LEASE).unwrap();
    // The write comes after the read of the summary, and before the read of the results.
    let store = Arc::clone(&bench.store);
    let next = move || write(&store, 3, vec![], vec![ResultRecord { confidence: 0.95, ..profile(2) }]);
    *switch.before.lock() = Some(("changes", Box::new(next)));
    assert_eq!(told(&mut follower), ["result 2", "result 3", "progress gate-000"]);
    // The change was read with the result and is not sent again.
    bench.store.finish(run.id, me.lease(1), &hits(&["gate-000", "gate-001"]), &completed()).unwrap();
    assert_eq!(told(&mut follower), ["progress gate-001", "done"]);
}
