use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::model::account::{Account, Role};
use crate::model::audit::Origin;
use crate::model::drive::{InstanceId, ReadPage, Write};
use crate::model::run::ModuleReport;
use crate::model::start::{NewRun, Started};
use crate::modules::outcome::Outcome;
use crate::runs::follow::read;
use crate::store::Store;

/// A run of a store in memory, which the test drives.
struct Driven {
    store: Arc<Store>,
    run: LiveRun,
}

impl Driven {
    fn new(modules: usize) -> Self {
        let store = crate::store::in_memory().unwrap();
        let (modules, holds) =
            ((0..modules).map(|number| format!("m{number}")).collect(), far() - Instant::now());
        let new = NewRun { modules, holds, ..NewRun::example() };
        let (email, plan, at) = ("a@example.com".to_owned(), "pro".to_owned(), new.created_at);
        let account = Account { id: new.account, email, plan, anchor: at, created_at: at, role: Role::User };
        assert!(store.add_account(&account, &Origin::CLI).unwrap());
        assert_eq!(store.start(&new).unwrap(), Started::Created);
        let from = Resumable::new(new.opening(), new.owner.unwrap().lease(0), new.modules);
        Self { store, run: LiveRun::resume(from, Arc::default()) }
    }

    /// Returns the next write.
    fn next(
        &self,
        added: Vec<ResultRecord>,
        changed: Vec<ResultRecord>,
        reports: Vec<ModuleReport>,
    ) -> Delta {
        let unchanged = self.run.unchanged();
        let mut delta = Delta { revision: unchanged.revision + 1, added, changed, ..unchanged };
        reports.into_iter().for_each(|report| delta.add_report(report));
        delta
    }

    fn write(&self, delta: &Delta) {
        let lease = self.run.opening.lease;
        assert_eq!(
            self.store.save(self.run.id(), lease, delta, far() - Instant::now()).unwrap(),
            Write::Done
        );
        self.run.publish(delta);
    }

    fn end(&self) {
        let (last, lease) = (self.next(vec![], vec![], vec![]), self.run.opening.lease);
        assert_eq!(self.store.finish(self.run.id(), lease, &last, &ending()).unwrap(), Write::Done);
        self.run.end(&last, &ending(), true);
    }

    fn read(&self, at: Position, left_out: u32) -> Step {
        let RunSummary { id, account, .. } = self.run.opening.summary;
        let stored = || read(&self.store, id, account, at, left_out).unwrap().unwrap();
        self.run.after(at, left_out).unwrap_or_else(stored)
    }
}

fn record(id: u32) -> ResultRecord {
    crate::model::entity::tests::record(id, "account", &format!("v{id}"), &json!({}))
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
        engine: false,
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
    let driven = Driven::new(1);
    let delta = driven.next(vec![record(1)], vec![], vec![]);
    let run = Arc::new(driven.run);
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
    run.publish(&delta);
    run.stop(Stopped::Shutdown);
    assert_eq!(waiting.join().unwrap(), (1, Some(Stopped::Shutdown)));
}

#[test]
fn a_frame_is_serialized_once_for_all_readers() {
    let driven = Driven::new(1);
    let (run, delta) = (&driven.run, driven.next(vec![record(1)], vec![], vec![report(0)]));
    let start = run.after(Position::default(), 0).unwrap().end;
    run.publish(&delta);
    let read = [0, 0].map(|left_out| run.after(start, left_out).unwrap().frames);
    assert_eq!(read[0].len(), 2, "result, progress");
    assert_eq!(run.after(start, u32::MAX).unwrap().frames.len(), 1, "progress");
    for (one, other) in read[0].iter().zip(&read[1]) {
        assert!(Arc::ptr_eq(one, other));
    }
}

/// Creates a result with `count` sources, which is its confidence.
fn with_sources(id: u32, count: usize) -> ResultRecord {
    ResultRecord { confidence: count as f64, ..record(id) }
}

/// The state of a client: the newest record of each id, and the modules that have ended. Checks that results are new in
/// the order of their ids, that none comes twice between two progress frames, and that nothing comes after `done`.
#[derive(Default)]
struct Client {
    at: Position,
    left_out: u32,
    newest: BTreeMap<u64, f64>,
    modules: Vec<String>,
    since_progress: BTreeSet<u64>,
    frames: usize,
    done: bool,
}

impl Client {
    fn read(&mut self, driven: &Driven) {
        while !self.done {
            let step = driven.read(self.at, self.left_out);
            if step.end == self.at && !step.is_last {
                return;
            }
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
                        let sources = data["confidence"].as_f64().unwrap();
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
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Checks with readers of any speed that a reader ends with all results and gets each module's outcome once, although
    /// the ring holds fewer writes than there are, and the store has the others.
    #[test]
    fn readers_of_any_speed_end_with_all_results(
        steps in prop::collection::vec((0usize..4, prop::collection::vec(0u32..40, 0..6)), 1..60),
        paces in prop::collection::vec(prop_oneof![1usize..30, 100usize..600], 1..5),
        repeat in 1usize..12,
    ) {
        let driven = Driven::new(1000);
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
            driven.write(&driven.next(added, touched.iter().copied().map(of).collect(), vec![report(at)]));
            for (pace, client) in &mut clients {
                if at % *pace == 0 {
                    client.read(&driven);
                }
            }
        }
        driven.end();
        clients.push((1, Client::default()));
        let want: BTreeMap<u64, f64> = (1..).zip(counts.iter().map(|count| *count as f64)).collect();
        prop_assert_eq!(driven.run.summary().total_results as usize, want.len());
        for (_, client) in &mut clients {
            client.read(&driven);
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
    let driven = Driven::new(9);
    driven.write(&driven.next((1..=4).map(record).collect(), vec![], vec![report(0)]));
    // This process takes the run over at revision 3.
    let lease = InstanceId(Uuid::nil()).lease(1);
    let summary = RunSummary { revision: 3, ..driven.run.summary() };
    let from = Resumable { lease, summary, ..driven.run.opening };
    let driven = Driven { run: LiveRun::resume(from, Arc::default()), ..driven };
    let run = &driven.run;
    let page = |next, result, end| Position { next, page: Some(ReadPage { result, end }) };
    let behind = |next| Position { next, page: None };
    for (at, has) in [(behind(0), false), (behind(3), false), (page(4, 2, 4), false), (behind(4), true)] {
        assert_eq!(run.after(at, 0).is_some(), has, "{at:?}");
    }
    run.publish(&driven.next(vec![record(5)], vec![with_sources(1, 3)], vec![report(2)]));
    run.publish(&driven.next(vec![record(6)], vec![], vec![report(3)]));
    let names = |at| {
        let step = run.after(at, 0).unwrap();
        assert_eq!(step.end, behind(6));
        let name = |frame: &Frame| {
            let (name, data) = parse(frame);
            if name == "result" { data["id"].to_string() } else { name }
        };
        step.frames.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(behind(4)), ["5", "progress", "1", "6", "progress"]);
    assert_eq!(names(behind(5)), ["6", "progress"]);
}
