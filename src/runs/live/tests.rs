use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::*;
use crate::model::drive::{Delta, Ending, InstanceId};
use crate::model::run::{ModuleReport, ResultRecord, Status};
use crate::model::start::NewRun;
use crate::modules::outcome::Outcome;
use crate::runs::event::Frame;

fn run(modules: usize) -> LiveRun {
    let modules = (0..modules).map(|number| format!("m{number}")).collect();
    let new = NewRun { modules, ..NewRun::example() };
    LiveRun::new(new.opening(1), InstanceId(Uuid::nil()).lease(0), new.modules)
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
        annotation: None,
    }
}

/// Returns the first write, with new results.
fn added(results: Vec<ResultRecord>) -> Delta {
    Delta { revision: 1, added: results, changed: Vec::new() }
}

fn report(number: usize) -> ModuleReport {
    ModuleReport {
        module: format!("m{number}"),
        platform: "M".into(),
        status: Outcome::Hit,
        reason: None,
        http_status: None,
        elapsed_ms: 1,
        circuit: None,
        rules: None,
        partial: false,
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

#[test]
fn a_late_reader_gets_one_merged_progress_frame() {
    let run = run(100);
    for number in 0..100 {
        run.published.add(added(vec![record(number + 1)]), vec![report(number as usize)]);
    }
    let far = Instant::now() + Duration::from_secs(60);
    let Next::Frames(frames) = run.read(&mut Cursor::default(), far) else { panic!("nothing came") };
    let results = frames.iter().map(parse).filter(|(name, _)| name == "result").count();
    let (name, progress) = parse(&frames[100]);
    let modules = progress["module_status"].as_object().unwrap().len();
    assert_eq!((frames.len(), results, &*name, modules), (101, 100, "progress", 100));
}

#[test]
fn a_waiting_reader_is_woken_by_a_change_and_by_a_stop() {
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
    run.published.add(added(vec![record(1)]), vec![]);
    run.stop(Stopped::Shutdown);
    // The run may be stopped before the reader has read. It still gets the result first.
    assert_eq!(waiting.join().unwrap(), (true, true));
    assert!(!run.wait_for_end(far), "a stopped run does not end here");
}

#[test]
fn the_version_changes_with_every_change() {
    let run = run(1);
    let mut versions = vec![run.published.version()];
    run.published.add(added(vec![record(1)]), vec![]);
    versions.push(run.published.version());
    run.published.add(Delta::default(), vec![report(0)]);
    versions.push(run.published.version());
    run.end(ending(), true);
    versions.push(run.published.version());
    run.end(ending(), true);
    assert_eq!(run.published.version(), versions[3], "a run ends once");
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
    run.published.add(added(vec![record(1)]), vec![report(0)]);
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
fn a_reader_that_leaves_out_results_gets_those_after_them() {
    let run = run(2);
    let mut cursor = Cursor::after(1000);
    assert!(matches!(run.read(&mut cursor, Instant::now()), Next::Quiet));
    run.published.add(added((1..=600).map(record).collect()), vec![report(0)]);
    let far = Instant::now() + Duration::from_secs(60);
    let Next::Frames(frames) = run.read(&mut cursor, far) else { panic!("nothing came") };
    assert_eq!(parse(&frames[0]).0, "progress");
}

/// Creates a result with `count` sources, and `count` as its value.
fn with_sources(id: u32, count: usize) -> ResultRecord {
    ResultRecord { value: Some(count.to_string()), ..record(id) }
}

/// The state of a client: the newest record of each id, and the modules that have ended. Checks that results are new in
/// the order of their ids, that none comes twice between two progress frames, and that nothing comes after `done`.
#[derive(Default)]
struct Client {
    cursor: Cursor,
    newest: BTreeMap<u64, u64>,
    modules: Vec<String>,
    since_progress: BTreeSet<u64>,
    frames: usize,
    done: bool,
}

impl Client {
    fn read(&mut self, run: &LiveRun) {
        loop {
            let Next::Frames(frames) = run.read(&mut self.cursor, Instant::now()) else { return };
            for (name, data) in frames.iter().map(parse) {
                assert!(!self.done, "nothing comes after done");
                match name.as_str() {
                    "progress" => {
                        self.since_progress.clear();
                        self.modules.extend(data["module_status"].as_object().unwrap().keys().cloned());
                    }
                    "done" => self.done = true,
                    _ => {
                        let id = data["id"].as_u64().unwrap();
                        let sources = data["value"].as_str().unwrap().parse().unwrap();
                        assert!(self.since_progress.insert(id), "{id} twice between two progress frames");
                        let last = self.newest.last_key_value().map_or(0, |(last, _)| *last);
                        let known = self.newest.insert(id, sources);
                        assert!(known.is_some() || id > last, "{id} comes after {last}");
                        assert!(known.is_none_or(|known| known <= sources), "{id} goes back");
                        self.frames += 1;
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Checks with readers and announcements of any speed that a reader ends with the results of a snapshot and gets
    /// each module's outcome once, although the ring holds fewer events than there are.
    #[test]
    fn readers_of_any_speed_end_with_the_snapshot(
        steps in prop::collection::vec((0usize..4, prop::collection::vec(0u32..40, 0..6), any::<bool>()), 1..60),
        paces in prop::collection::vec(prop_oneof![1usize..30, 200usize..600], 1..5),
        repeat in 1usize..40,
    ) {
        let run = run(10_000);
        let mut clients: Vec<(usize, Client)> = paces.into_iter().map(|pace| (pace, Client::default())).collect();
        let (mut counts, mut revision): (Vec<usize>, u64) = (Vec::new(), 0);
        // This is repeated, so that slow readers fall behind the ring.
        for (at, (new, touched, announces)) in steps.iter().cycle().take(steps.len() * repeat).enumerate() {
            let first = counts.len();
            counts.extend(std::iter::repeat_n(1, *new));
            let touched: BTreeSet<usize> = touched.iter().map(|at| *at as usize).filter(|at| *at < first).collect();
            touched.iter().for_each(|at| counts[*at] += 1);
            let of = |at: usize| with_sources(u32::try_from(at).unwrap() + 1, counts[at]);
            revision += 1;
            let batch = Delta {
                revision,
                added: (first..counts.len()).map(of).collect(),
                changed: touched.iter().copied().map(of).collect(),
            };
            run.published.add(batch, vec![report(at)]);
            if *announces {
                run.published.announce_changes();
            }
            for (pace, client) in &mut clients {
                if at % *pace == 0 {
                    client.read(&run);
                }
            }
        }
        run.end(ending(), true);
        clients.push((1, Client::default()));
        let want: BTreeMap<u64, u64> = (1..).zip(counts.iter().map(|count| *count as u64)).collect();
        let (_, results, _) = run.snapshot();
        prop_assert_eq!(results.len(), want.len());
        for (_, client) in &mut clients {
            client.read(&run);
            prop_assert!(client.done);
            prop_assert_eq!(&client.newest, &want);
            prop_assert_eq!(client.modules.len(), steps.len() * repeat);
            prop_assert_eq!(client.modules.iter().collect::<BTreeSet<_>>().len(), client.modules.len());
        }
        prop_assert_eq!(clients.last().unwrap().1.frames, want.len(), "a replay shows each result once");
    }
}

#[test]
fn twelve_sources_at_once_are_announced_in_one_frame() {
    let run = run(2000);
    let mut client = Client::default();
    run.published.add(added(vec![with_sources(1, 1)]), vec![report(0)]);
    client.read(&run);
    for count in 2..=12 {
        let changed = vec![with_sources(1, count)];
        run.published.add(Delta { revision: count as u64, added: vec![], changed }, vec![report(count)]);
        client.read(&run);
        assert_eq!(
            run.published.result(1).unwrap().value.as_deref(),
            Some(&*count.to_string()),
            "a poll sees it at once"
        );
    }
    assert_eq!(client.frames, 1);
    let mut late = Client::default();
    late.read(&run);
    run.published.announce_changes();
    client.read(&run);
    assert_eq!((client.frames, client.newest[&1]), (2, 12));
    late.read(&run);
    assert_eq!((late.frames, late.newest[&1]), (1, 12), "who came late has it already");
    // The reader falls behind the ring. Results that it has are not sent again.
    for number in 0..=RING_EVENTS {
        run.published.add(Delta::default(), vec![report(number)]);
    }
    client.read(&run);
    assert_eq!(client.frames, 2);
    run.published.announce_changes();
    run.end(ending(), true);
    client.read(&run);
    assert_eq!((client.frames, client.done), (2, true));
}

#[test]
fn the_end_announces_changes_except_to_readers_that_leave_them_out() {
    let run = run(3);
    let mut all = Client::default();
    let mut rest = Client { cursor: Cursor::after(1), ..Client::default() };
    run.published.add(added(vec![with_sources(1, 1), with_sources(2, 1)]), vec![report(0)]);
    all.read(&run);
    rest.read(&run);
    let changed = vec![with_sources(1, 2), with_sources(2, 2)];
    run.published.add(Delta { revision: 2, added: vec![], changed }, vec![report(1)]);
    run.end(ending(), true);
    all.read(&run);
    rest.read(&run);
    assert_eq!(all.newest, BTreeMap::from([(1, 2), (2, 2)]));
    assert_eq!(rest.newest, BTreeMap::from([(2, 2)]));
}

#[test]
fn a_change_changes_the_version_and_wakes_a_waiting_reader() {
    let run = Arc::new(run(2));
    run.published.add(added(vec![with_sources(1, 1)]), vec![report(0)]);
    let mut cursor = Cursor::default();
    run.read(&mut cursor, Instant::now());
    let version = run.published.version();
    let changed = vec![with_sources(1, 2)];
    run.published.add(Delta { revision: 2, added: vec![], changed }, vec![report(1)]);
    assert_ne!(run.published.version(), version);
    run.read(&mut cursor, Instant::now());
    let waiting = {
        let run = Arc::clone(&run);
        let far = Instant::now() + Duration::from_secs(60);
        std::thread::spawn(
            move || matches!(run.read(&mut cursor, far), Next::Frames(frames) if frames.len() == 1),
        )
    };
    run.published.announce_changes();
    assert!(waiting.join().unwrap());
}

#[test]
fn a_reader_of_a_lost_run_knows_which_changes_it_has_not_received() {
    for announced in [false, true] {
        let run = run(3);
        let mut cursor = Cursor::after(1);
        run.published.add(added((1..=3).map(record).collect()), vec![report(0)]);
        let changed = vec![with_sources(2, 2)];
        assert!(matches!(run.read(&mut cursor, Instant::now()), Next::Frames(_)));
        run.published.add(Delta { revision: 4, added: vec![], changed }, vec![report(1)]);
        if announced {
            run.published.announce_changes();
        }
        run.published.add(Delta { revision: 5, added: vec![record(4)], changed: vec![] }, vec![report(2)]);
        run.stop(Stopped::LeaseLost);
        while let Next::Frames(_) = run.read(&mut cursor, Instant::now()) {}
        let want = Place {
            left_out: 1,
            last_result: 4,
            // This is the write before the first change that was not announced.
            revision: Some(if announced { 5 } else { 3 }),
            reports: 3,
        };
        assert_eq!(cursor.place(), want);
    }
}
