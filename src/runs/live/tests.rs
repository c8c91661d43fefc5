use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::model::drive::{Delta, Ending, InstanceId, Position, ReadPage, Resumable};
use crate::model::run::{ModuleReport, ResultRecord, RunSummary};
use crate::model::start::NewRun;
use crate::modules::outcome::Outcome;
use crate::runs::event::Frame;

fn run(modules: usize) -> LiveRun {
    let modules = (0..modules).map(|number| format!("m{number}")).collect();
    let new = NewRun { modules, ..NewRun::example() };
    let from = Resumable::new(new.opening(), InstanceId(Uuid::nil()).lease(0), new.modules);
    LiveRun::resume(from, Arc::default())
}

fn record(id: u32) -> ResultRecord {
    crate::model::entity::tests::record(id, "account", &format!("v{id}"), &json!({}))
}

/// Publishes the next write, as the driver of the run does after it was stored.
fn publish(run: &LiveRun, added: Vec<ResultRecord>, changed: Vec<ResultRecord>, reports: Vec<ModuleReport>) {
    let unchanged = run.unchanged();
    let mut delta = Delta { revision: unchanged.revision + 1, added, changed, ..unchanged };
    reports.into_iter().for_each(|report| delta.add_report(report));
    run.add(delta);
}

fn far() -> Instant {
    Instant::now() + Duration::from_secs(60)
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
    Ending { error: None, completed_at: "2026-01-01T00:00:01Z".parse().unwrap() }
}

fn parse(frame: &Frame) -> (String, Value) {
    let text = std::str::from_utf8(frame).unwrap();
    let mut lines = text.lines();
    let name = lines.next().unwrap().strip_prefix("event: ").unwrap().to_owned();
    (name, serde_json::from_str(lines.next().unwrap().strip_prefix("data: ").unwrap()).unwrap())
}

#[test]
fn a_waiting_reader_is_woken_by_a_change_and_by_a_stop() {
    let run = Arc::new(run(1));
    let start = run.after(Position::default(), 0).unwrap().end;
    let seen = run.version();
    let waiting = {
        let run = Arc::clone(&run);
        std::thread::spawn(move || {
            run.wait_for_change(seen, far());
            let first = run.after(start, 0).unwrap();
            run.wait_until_stopped(far());
            (first.frames.len(), run.stopped())
        })
    };
    publish(&run, vec![record(1)], vec![], vec![]);
    run.stop(Stopped::Shutdown);
    assert_eq!(waiting.join().unwrap(), (1, Some(Stopped::Shutdown)));
}

#[test]
fn a_frame_is_serialized_once_for_all_readers() {
    let run = run(1);
    let start = run.after(Position::default(), 0).unwrap().end;
    publish(&run, vec![record(1)], vec![], vec![report(0)]);
    run.end(run.unchanged(), ending(), true);
    let read = [0, 0].map(|left_out| run.after(start, left_out).unwrap().frames);
    assert_eq!(read[0].len(), 3, "result, progress, done");
    for (one, other) in read[0].iter().zip(&read[1]) {
        assert!(Arc::ptr_eq(one, other));
    }
}

/// Creates a result with `count` sources, and `count` as its value.
fn with_sources(id: u32, count: usize) -> ResultRecord {
    ResultRecord { value: Some(count.to_string()), ..record(id) }
}

/// The state of a client: the newest record of each id, and the modules that have ended. Checks that results are new in
/// the order of their ids, that none comes twice between two progress frames, and that nothing comes after `done`.
#[derive(Default)]
struct Client {
    at: Position,
    left_out: u32,
    newest: BTreeMap<u64, u64>,
    modules: Vec<String>,
    since_progress: BTreeSet<u64>,
    frames: usize,
    done: bool,
}

impl Client {
    fn read(&mut self, run: &LiveRun) {
        while !self.done {
            let Some(step) = run.after(self.at, self.left_out) else { return };
            (self.at, self.done) = (step.end, step.is_last);
            for (at, (name, data)) in step.frames.iter().map(parse).enumerate() {
                match name.as_str() {
                    "progress" => {
                        self.since_progress.clear();
                        self.modules.extend(data["module_status"].as_object().unwrap().keys().cloned());
                    }
                    "done" => assert!(self.done && at + 1 == step.frames.len(), "nothing comes after done"),
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
    /// Checks with readers of any speed that a reader ends with the results of a snapshot and gets each module's outcome
    /// once, although the ring holds fewer writes than there are.
    #[test]
    fn readers_of_any_speed_end_with_the_snapshot(
        steps in prop::collection::vec((0usize..4, prop::collection::vec(0u32..40, 0..6)), 1..60),
        paces in prop::collection::vec(prop_oneof![1usize..30, 100usize..600], 1..5),
        repeat in 1usize..40,
    ) {
        let run = run(10_000);
        let mut clients: Vec<(usize, Client)> = paces.into_iter().map(|pace| (pace, Client::default())).collect();
        // Results that a reader leaves out are not sent when they change either.
        clients.push((3, Client { left_out: 5, ..Client::default() }));
        let mut counts: Vec<usize> = Vec::new();
        // This is repeated, so that slow readers fall behind the ring.
        for (at, (new, touched)) in steps.iter().cycle().take(steps.len() * repeat).enumerate() {
            let first = counts.len();
            counts.extend(std::iter::repeat_n(1, *new));
            let touched: BTreeSet<usize> = touched.iter().map(|at| *at as usize).filter(|at| *at < first).collect();
            touched.iter().for_each(|at| counts[*at] += 1);
            let of = |at: usize| with_sources(u32::try_from(at).unwrap() + 1, counts[at]);
            let added = (first..counts.len()).map(of).collect();
            publish(&run, added, touched.iter().copied().map(of).collect(), vec![report(at)]);
            for (pace, client) in &mut clients {
                if at % *pace == 0 {
                    client.read(&run);
                }
            }
        }
        run.end(run.unchanged(), ending(), true);
        clients.push((1, Client::default()));
        let want: BTreeMap<u64, u64> = (1..).zip(counts.iter().map(|count| *count as u64)).collect();
        let (_, results, _) = run.snapshot();
        prop_assert_eq!(results.len(), want.len());
        for (_, client) in &mut clients {
            client.read(&run);
            prop_assert!(client.done);
            let want: BTreeMap<_, _> = want.range(u64::from(client.left_out) + 1..).map(|(id, count)| (*id, *count)).collect();
            prop_assert_eq!(&client.newest, &want);
            prop_assert_eq!(client.modules.len(), steps.len() * repeat);
            prop_assert_eq!(client.modules.iter().collect::<BTreeSet<_>>().len(), client.modules.len());
        }
        prop_assert_eq!(clients.last().unwrap().1.frames, want.len(), "a replay shows each result once");
    }
}

#[test]
fn a_reader_of_the_store_reads_on_where_it_is() {
    let first = run(9);
    publish(&first, (1..=4).map(|id| with_sources(id, 1)).collect(), vec![], vec![report(0)]);
    // This process takes the run over at revision 3.
    let summary = RunSummary { revision: 3, ..first.summary() };
    let (results, done) = ((1..=4).map(|id| with_sources(id, 2)).collect(), vec![report(0), report(1)]);
    let from = Resumable {
        lease: first.lease,
        ran_for: Duration::ZERO,
        summary,
        modules: vec![String::new(); 9],
        done,
        lookups: vec![],
        results,
    };
    let run = LiveRun::resume(from, Arc::default());
    let page = |next, result, end| Position { next, page: Some(ReadPage { result, end }) };
    let behind = |next| Position { next, page: None };
    for (at, serves) in [(behind(0), true), (behind(3), false), (page(0, 2, 4), false), (behind(4), true)] {
        assert_eq!(run.serves(at), serves, "{at:?}");
    }
    publish(&run, vec![record(5)], vec![with_sources(1, 3)], vec![report(2)]);
    publish(&run, vec![record(6)], vec![], vec![report(3)]);
    let names = |at| {
        let step = run.after(at, 0).unwrap();
        assert_eq!(step.end, behind(6));
        let name = |frame: &Frame| {
            let (name, data) = parse(frame);
            if name == "result" { data["id"].to_string() } else { name }
        };
        step.frames.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(behind(0)), ["1", "2", "3", "4", "5", "6", "progress"]);
    assert_eq!(names(behind(4)), ["5", "progress", "1", "6", "progress"]);
    assert_eq!(names(behind(5)), ["6", "progress"]);
    // A reader in the middle of a page gets the rest of it, and what has changed since.
    assert_eq!(names(page(4, 5, 6)), ["6", "progress"]);
    assert_eq!(names(page(4, 1, 5)), ["5", "6", "progress"]);
    assert_eq!(names(page(4, 1, 4)), ["1", "5", "6", "progress"]);
}
