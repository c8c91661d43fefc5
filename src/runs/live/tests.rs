use super::*;
use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;
use crate::runs::journal::{InstanceId, NewRun};

fn run(modules: usize) -> LiveRun {
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let new = NewRun {
        id: RunId::new(),
        account: AccountId::new(),
        search_type: SearchType::Username,
        query: "alice".into(),
        premium: false,
        simulated: false,
        modules: (0..modules).map(|number| format!("m{number}")).collect(),
        created_at: now,
        owner: InstanceId(uuid::Uuid::nil()),
        lease_until: now,
        idempotency: None,
    };
    LiveRun::new(RunSummary::opening(&new, 1), new.modules)
}

fn record(id: u32) -> ResultRecord {
    ResultRecord {
        id,
        result_type: "account".into(),
        entity_type: "account".into(),
        platform: None,
        value: Some(format!("v{id}")),
        confidence: 0.5,
        source: "m".into(),
        metadata: Map::new(),
        created_at: "2026-01-01T00:00:00Z".parse().unwrap(),
    }
}

fn report(number: usize) -> ModuleReport {
    ModuleReport {
        module: format!("m{number}"),
        platform: "M".into(),
        status: Outcome::Hit,
        reason: None,
        http_status: None,
        elapsed_ms: 1,
    }
}

fn ending() -> Ending {
    Ending { status: Status::Completed, error: None, completed_at: "2026-01-01T00:00:01Z".parse().unwrap() }
}

fn parse(frame: &Frame) -> (String, Value) {
    let text = std::str::from_utf8(frame).unwrap();
    let mut lines = text.lines();
    let name = lines.next().unwrap().strip_prefix("event: ").unwrap().to_owned();
    (name, serde_json::from_str(lines.next().unwrap().strip_prefix("data: ").unwrap()).unwrap())
}

#[derive(Default)]
struct Reader {
    cursor: Cursor,
    ids: Vec<u64>,
    modules: Vec<String>,
    done: usize,
    progress_frames: usize,
}

impl Reader {
    /// Takes what is there; `true` when the stream has ended.
    fn read(&mut self, run: &LiveRun) -> bool {
        match run.read(&mut self.cursor, Instant::now()) {
            Next::Frames(frames) => {
                for frame in &frames {
                    let (name, data) = parse(frame);
                    assert_eq!(self.done, 0, "nothing comes after done");
                    match name.as_str() {
                        "result" => self.ids.push(data["id"].as_u64().unwrap()),
                        "progress" => {
                            self.progress_frames += 1;
                            self.modules.extend(data["module_status"].as_object().unwrap().keys().cloned());
                        }
                        "done" => self.done += 1,
                        other => panic!("{other}"),
                    }
                }
                false
            }
            Next::End => true,
            Next::Quiet => false,
            Next::Stopped(why) => panic!("{why:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever the pace of a reader, it gets each result once and in order, each module's outcome
    /// once, and `done` once and last, though the ring holds far fewer events than there are.
    #[test]
    fn readers_of_any_pace_miss_nothing(paces in prop::collection::vec(1usize..900, 1..5), burst in 1usize..40) {
        let run = run(2000);
        let mut readers: Vec<(usize, Reader)> = paces.into_iter().map(|pace| (pace, Reader::default())).collect();
        let mut next = 0;
        while next < 2000 {
            let until = (next + burst).min(2000);
            let results = (next..until).map(|id| record(u32::try_from(id).unwrap() + 1)).collect();
            run.publish(results, (next..until).map(report).collect());
            next = until;
            for (pace, reader) in &mut readers {
                if next % *pace < burst {
                    reader.read(&run);
                }
            }
        }
        run.end(ending(), true);
        for (_, reader) in &mut readers {
            while !reader.read(&run) {}
            prop_assert_eq!(&reader.ids, &(1..=2000).collect::<Vec<u64>>());
            prop_assert_eq!(reader.modules.len(), 2000);
            prop_assert_eq!(reader.modules.iter().collect::<BTreeSet<_>>().len(), 2000);
            prop_assert_eq!(reader.done, 1);
        }
    }
}

#[test]
fn a_late_reader_gets_one_merged_progress_frame() {
    let run = run(100);
    for number in 0..100 {
        run.publish(vec![record(number + 1)], vec![report(number as usize)]);
    }
    let mut reader = Reader::default();
    reader.read(&run);
    assert_eq!((reader.ids.len(), reader.modules.len(), reader.progress_frames), (100, 100, 1));
}

#[test]
fn a_waiting_reader_is_woken_by_news_and_by_a_stop() {
    let run = Arc::new(run(1));
    let far = Instant::now() + Duration::from_secs(60);
    let waiting = {
        let run = Arc::clone(&run);
        std::thread::spawn(move || {
            let mut cursor = Cursor::default();
            let first = run.read(&mut cursor, far);
            let second = run.read(&mut cursor, far);
            (matches!(first, Next::Frames(_)), matches!(second, Next::Stopped(Stopped::Shutdown)))
        })
    };
    run.publish(vec![record(1)], vec![]);
    run.stop(Stopped::Shutdown);
    // The stop may come before the reader looked: then it still reads the result first.
    assert_eq!(waiting.join().unwrap(), (true, true));
    assert!(!run.wait_for_end(far), "a stopped run does not end here");
}

#[test]
fn the_version_changes_with_every_change() {
    let run = run(1);
    let mut versions = vec![run.version()];
    run.publish(vec![record(1)], vec![]);
    versions.push(run.version());
    run.publish(vec![], vec![report(0)]);
    versions.push(run.version());
    run.end(ending(), true);
    versions.push(run.version());
    run.end(ending(), true);
    assert_eq!(run.version(), versions[3], "a run ends once");
    versions.dedup();
    assert_eq!(versions.len(), 4);
}

#[test]
fn a_frame_is_serialized_once_for_all_readers() {
    let run = run(1);
    let mut cursors = [Cursor::default(), Cursor::default()];
    for cursor in &mut cursors {
        assert!(matches!(run.read(cursor, Instant::now()), Next::Quiet));
    }
    run.publish(vec![record(1)], vec![report(0)]);
    run.end(ending(), true);
    let read: Vec<Vec<Frame>> = cursors
        .iter_mut()
        .map(|cursor| match run.read(cursor, Instant::now()) {
            Next::Frames(frames) => frames,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(read[0].len(), 3, "result, progress, done");
    for (one, other) in read[0].iter().zip(&read[1]) {
        assert!(Arc::ptr_eq(one, other));
    }
}

#[test]
fn a_reader_that_leaves_out_results_is_not_left_waiting_behind_them() {
    let run = run(2);
    let mut cursor = Cursor::after(1000);
    assert!(matches!(run.read(&mut cursor, Instant::now()), Next::Quiet));
    run.publish((1..=600).map(record).collect(), vec![report(0)]);
    let far = Instant::now() + Duration::from_secs(60);
    let Next::Frames(frames) = run.read(&mut cursor, far) else { panic!("nothing came") };
    assert_eq!(parse(&frames[0]).0, "progress");
}
