//! Readers of a run that another process drives: here the test itself.

use sightline::modules::outcome::Outcome;
use sightline::runs::follow::Follower;
use sightline::runs::journal::{Batch, Checkpoint};
use sightline::runs::run::{Coverage, ModuleReport, Progress};

use super::*;

const LEASE: Duration = Duration::from_secs(60);

/// A run of two modules that the test drives, and a process that drives nothing.
fn driven() -> (Bench, Arc<Switched>, RunSummary, InstanceId) {
    let (bench, journal) = bench_on_a_switch(&modules("gate", 2), config());
    let run = bench.start("alice");
    eventually("both are asked", || bench.web.at_gate.load(Ordering::SeqCst) == 2);
    bench.runs.shut_down(Instant::now() + PATIENCE);
    bench.web.open_gate();
    let me = InstanceId(uuid::Uuid::new_v4());
    let taken = bench.store.take_over(&claim(me, false, 1)).unwrap().remove(0);
    assert_eq!((taken.summary.id, taken.done.len()), (run.id(), 0));
    (bench, journal, taken.summary, me)
}

fn hits(modules: &[&str]) -> Checkpoint {
    let report = |id: &&str| ModuleReport {
        module: (*id).to_owned(),
        platform: (*id).to_owned(),
        status: Outcome::Hit,
        reason: None,
        http_status: Some(200),
        elapsed_ms: 1,
    };
    let ended = u32::try_from(modules.len()).unwrap();
    Checkpoint {
        progress: Progress { modules_total: 2, modules_completed: ended, modules_with_hits: ended },
        coverage: Coverage::of(modules.iter().map(|_| Outcome::Hit)),
        modules: modules.iter().map(report).collect(),
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
    }
}

fn completed() -> Ending {
    Ending { status: Status::Completed, error: None, completed_at: SystemClock.now() }
}

/// What a reader gets now: the frames' names, with the ids of results and the modules of progress.
fn told(follower: &mut Follower) -> Vec<String> {
    let Step::Frames(frames) = follower.next(Instant::now()).unwrap() else { return Vec::new() };
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
fn what_an_instance_of_an_earlier_version_adds_is_read() {
    let (bench, _journal, run, me) = driven();
    let mut follower = bench.runs.follow(Found::Stored(Box::new(run.clone())), 0);
    assert_eq!(told(&mut follower), Vec::<String>::new());
    // It counts no writes.
    let write = |id: u32, module: &str| {
        let batch = Batch { revision: 0, added: vec![found(id, module)], changed: vec![] };
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
fn a_module_that_ends_between_two_looks_at_the_store_is_told_with_its_results() {
    let (bench, journal, run, me) = driven();
    let mut follower = bench.runs.follow(Found::Stored(Box::new(run.clone())), 0);
    let write = move |store: &Arc<Store>, id: u32, module: &str, ended: &[&str]| {
        let batch = Batch { revision: id.into(), added: vec![found(id, module)], changed: vec![] };
        assert_eq!(store.add_results(run.id, me.lease(1), &batch).unwrap(), Write::Done);
        assert_eq!(store.checkpoint(run.id, me.lease(1), &hits(ended), LEASE).unwrap(), Write::Done);
    };
    write(&bench.store, 1, "gate-000", &["gate-000"]);
    let store = Arc::clone(&bench.store);
    *journal.before_modules.lock() =
        Some(Box::new(move || write(&store, 2, "gate-001", &["gate-000", "gate-001"])));
    assert_eq!(told(&mut follower), ["result 1", "progress gate-000"]);
    assert_eq!(told(&mut follower), ["result 2", "progress gate-001"]);
}
