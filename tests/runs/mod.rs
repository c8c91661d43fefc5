//! The run engine in this process: real threads, real rings, a real store; only the web is played.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use sightline::account::account::Account;
use sightline::account::credits::{Charge, Cycle};
use sightline::account::ledger::Ledger;
use sightline::base::clock::{Clock, SystemClock};
use sightline::base::ids::AccountId;
use sightline::modules::catalog::Catalog;
use sightline::modules::check::Checker;
use sightline::modules::keys::OperatorKeys;
use sightline::modules::probe::Prober;
use sightline::modules::query::{Query, SearchType};
use sightline::runs::follow::Step;
use sightline::runs::journal::{Ending, InstanceId, Journal, Write};
use sightline::runs::live::LiveRun;
use sightline::runs::run::{ResultRecord, RunSummary, Status};
use sightline::runs::service::{Found, Order, OrderError, Receipt, Runs, RunsConfig};
use sightline::runs::workshop::Limits;
use sightline::store::{self, Store};

mod switch;
mod web;

use switch::Switched;
use web::PlayedWeb;

use crate::support::server::{PATIENCE, tempfolder::Folder};

fn module(id: &str, host: &str) -> Value {
    json!({
        "id": id, "platform": id, "type": "username", "category": "test", "control": false,
        "probes": [{"url": format!("https://{host}/{{query}}")}],
        "hit": [{"status": [200]}], "miss": [{"status": [404]}]
    })
}

/// `count` modules with ids that begin with `kind`, each on a host of its own.
fn modules(kind: &str, count: usize) -> Vec<Value> {
    (0..count)
        .map(|number| module(&format!("{kind}-{number:03}"), &format!("{kind}{number}.example.com")))
        .collect()
}

struct Bench {
    runs: Arc<Runs>,
    web: Arc<PlayedWeb>,
    store: Arc<Store>,
    account: AccountId,
    folder: Folder,
}

fn config() -> RunsConfig {
    RunsConfig {
        check_workers: 64,
        max_runs: 64,
        max_waiting: 1000,
        limits: Limits {
            check_timeout: Duration::from_secs(10),
            run_timeout: Duration::from_secs(60),
            lease: Duration::from_secs(30),
        },
        keep_ended: Duration::from_secs(60),
        discovery: false,
    }
}

fn bench(catalog: &[Value], config: RunsConfig) -> Bench {
    bench_with(catalog, config, |store| store)
}

fn bench_with(
    catalog: &[Value],
    config: RunsConfig,
    journal: impl FnOnce(Arc<Store>) -> Arc<dyn Journal>,
) -> Bench {
    let folder = Folder::new();
    let file = PathBuf::from(folder.path("catalog.json"));
    std::fs::write(&file, Value::Array(catalog.to_vec()).to_string()).unwrap();
    let catalog = Arc::new(Catalog::load(false, &[file]).unwrap());
    let url = format!("sqlite:{}", folder.path("runs.db")).parse().unwrap();
    let store = store::open(&url, store::Options::server()).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let account = new_account(&*store);
    let web = Arc::new(PlayedWeb::default());
    let checker = checker(&web);
    let runs = Runs::new(journal(Arc::clone(&store)), catalog, checker, clock, config);
    Bench { runs, web, store, account, folder }
}

fn checker(web: &Arc<PlayedWeb>) -> Arc<Checker> {
    let prober = Arc::clone(web) as Arc<dyn Prober>;
    Arc::new(Checker::new(prober, OperatorKeys::default(), "test", Duration::from_secs(3600)))
}

fn new_account(ledger: &dyn Ledger) -> AccountId {
    let now = SystemClock.now();
    let account = Account {
        id: AccountId::new(),
        email: format!("{}@example.com", AccountId::new()),
        plan: "pro".into(),
        anchor: now,
        created_at: now,
    };
    assert!(ledger.add_account(&account).unwrap());
    account.id
}

impl Bench {
    fn order(&self, query: &str) -> Order {
        let now = SystemClock.now();
        Order {
            account: self.account,
            query: Query::parse(SearchType::Username, query).unwrap(),
            premium: false,
            charge: Charge { credits: 1, allowed: Some(1000), cycle: Cycle::at(now, now) },
            idempotency: None,
        }
    }

    fn start(&self, query: &str) -> Arc<LiveRun> {
        match self.runs.start(self.order(query)) {
            Ok(Receipt::Started(run)) => run,
            _ => panic!("not started"),
        }
    }

    fn finish(&self, run: &LiveRun) -> RunSummary {
        assert!(run.wait_for_end(Instant::now() + PATIENCE), "the run does not end: {:?}", run.summary());
        run.summary()
    }
}

fn eventually(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn outcome_of(run: &LiveRun, module: &str) -> (String, Option<String>) {
    let report = run.reports().into_iter().find(|report| report.module == module).unwrap();
    (report.status.to_string(), report.reason)
}

#[test]
fn a_small_run_ends_while_three_large_ones_are_under_way() {
    // The large runs' modules wait at a gate that stays closed: only a fair share lets the small one by.
    // The types keep their catalogues apart.
    let mut catalog = modules("gate", 500);
    for number in 0..10 {
        let mut entry = module(&format!("ok-{number}"), &format!("small{number}.example.org"));
        entry["type"] = "domain".into();
        catalog.push(entry);
    }
    let bench = bench(&catalog, config());
    let large: Vec<_> = (0..3).map(|number| bench.start(&format!("large{number}"))).collect();
    eventually("the large runs take what they may", || bench.web.at_gate.load(Ordering::SeqCst) >= 32);
    let order = Order { query: Query::parse(SearchType::Domain, "example.com").unwrap(), ..bench.order("x") };
    let Ok(Receipt::Started(small)) = bench.runs.start(order) else { panic!("not started") };
    let window_holders = large.iter().filter(|run| !run.summary().status.is_terminal()).count();
    assert_eq!(window_holders, 3);
    bench.web.open_gate();
    assert_eq!(bench.finish(&small).status, Status::Completed);
    let left: u32 = large
        .iter()
        .map(|run| run.summary().progress)
        .map(|progress| progress.modules_total - progress.modules_completed)
        .sum();
    assert!(left > 0, "the small run came last");
    for run in &large {
        let summary = bench.finish(run);
        assert_eq!((summary.status, summary.total_results), (Status::Completed, 500));
    }
}

#[test]
fn no_host_is_asked_more_than_twice_at_once_over_all_runs() {
    let catalog: Vec<Value> = (0..60)
        .map(|number| module(&format!("ok-{number}"), &format!("host{}.example.com", number % 3)))
        .collect();
    let bench = bench(&catalog, config());
    let runs: Vec<_> = (0..5).map(|number| bench.start(&format!("user{number}"))).collect();
    for run in &runs {
        assert_eq!(bench.finish(run).total_results, 60);
    }
    let most: Vec<usize> = bench.web.at_once.lock().values().map(|(_, most)| *most).collect();
    assert_eq!(most.len(), 3);
    assert!(most.iter().all(|most| (1..=2).contains(most)), "{most:?}");
}

#[test]
fn a_panic_is_that_modules_error_and_nothing_more() {
    let mut catalog = modules("ok", 20);
    catalog.extend(modules("panic", 3));
    let bench = bench(&catalog, config());
    for name in ["alice", "bob"] {
        let run = bench.start(name);
        let summary = bench.finish(&run);
        assert_eq!(
            (summary.status, summary.coverage.hit, summary.coverage.error),
            (Status::Completed, 20, 3)
        );
        assert_eq!(outcome_of(&run, "panic-001"), ("error".into(), Some("panic".into())));
    }
}

#[test]
fn checks_and_runs_end_at_their_deadlines() {
    let mut catalog = modules("hang", 30);
    let mut popular = module("ok-000", "ok.example.com");
    popular["rank"] = 1.into();
    catalog.push(popular);
    let limits = Limits {
        check_timeout: Duration::from_millis(200),
        run_timeout: Duration::from_millis(700),
        lease: Duration::from_secs(30),
    };
    // Eight at a time: the last ones cannot be asked before the run's ceiling.
    let bench = bench(&catalog, RunsConfig { check_workers: 4, limits, ..config() });
    let run = bench.start("alice");
    let summary = bench.finish(&run);
    assert_eq!(summary.progress.modules_completed, 31);
    assert_eq!(summary.coverage.timeout, 30);
    let reasons: Vec<Option<String>> = run.reports().into_iter().map(|report| report.reason).collect();
    let count = |want: &str| reasons.iter().flatten().filter(|reason| *reason == want).count();
    assert!(count("timeout_first_byte") > 0 && count("run_deadline") > 0, "{reasons:?}");
}

#[test]
fn a_run_without_a_conclusion_fails_and_is_refunded_once() {
    let bench = bench(&modules("panic", 3), config());
    let run = bench.start("alice");
    let summary = bench.finish(&run);
    assert_eq!(summary.status, Status::Failed);
    assert_eq!(summary.error.as_ref().map(|error| error.code.as_str()), Some("no_conclusion"));
    assert_eq!(summary.credits_charged, 0);
    let cycle = bench.order("x").charge.cycle;
    let _ = cycle;
    let stored = bench.store.run(run.id(), bench.account).unwrap().unwrap();
    assert_eq!((stored.status, stored.credits_charged), (Status::Failed, 0));
}

#[test]
fn more_runs_wait_their_turn_and_beyond_that_they_are_refused() {
    let bench = bench(&modules("gate", 1), RunsConfig { max_runs: 1, max_waiting: 2, ..config() });
    let first = bench.start("first");
    eventually("the first is driven", || bench.web.at_gate.load(Ordering::SeqCst) == 1);
    let waiting = [bench.start("second"), bench.start("third")];
    assert_eq!(bench.runs.counts(), (1, 2));
    assert!(matches!(bench.runs.start(bench.order("fourth")), Err(OrderError::Overloaded)));
    assert!(waiting.iter().all(|run| run.summary().status == Status::Running));
    bench.web.open_gate();
    for run in waiting.iter().chain([&first]) {
        assert_eq!(bench.finish(run).status, Status::Completed);
    }
    eventually("the places are free again", || bench.runs.counts() == (0, 0));
}

#[test]
fn an_ended_run_leaves_memory_and_is_served_from_the_store() {
    let bench = bench(&modules("ok", 5), RunsConfig { keep_ended: Duration::ZERO, ..config() });
    let run = bench.start("alice");
    bench.finish(&run);
    let (live, results, _) = run.snapshot();
    bench.runs.keep_house();
    assert!(bench.runs.live(run.id()).is_none());
    let Some(Found::Stored(stored)) = bench.runs.find(run.id(), bench.account).unwrap() else {
        panic!("not stored")
    };
    assert_eq!(*stored, live);
    let records: Vec<ResultRecord> = results.iter().map(|result| result.record.clone()).collect();
    assert_eq!(bench.runs.stored_results(run.id()).unwrap(), records);
    let mut follower = bench.runs.follow(Found::Stored(stored), 0);
    let Ok(Step::Frames(frames)) = follower.next(Instant::now()) else { panic!("no frames") };
    assert_eq!(frames.len(), 5 + 1 + 1, "results, one progress frame, done");
    assert!(matches!(follower.next(Instant::now()), Ok(Step::End)));
}

#[test]
fn a_stopped_process_leaves_a_run_that_the_next_one_finishes() {
    let mut catalog = modules("ok", 10);
    catalog.extend(modules("gate", 5));
    let first = bench(&catalog, config());
    let run = first.start("alice");
    eventually("ten are found", || run.summary().total_results == 10);
    let before: Vec<ResultRecord> = run.snapshot().1.iter().map(|result| result.record.clone()).collect();
    first.runs.shut_down(Instant::now() + PATIENCE);
    first.web.open_gate();

    // Another process on the same store.
    let web = Arc::new(PlayedWeb::default());
    web.open_gate();
    let checker = checker(&web);
    let file = PathBuf::from(first.folder.path("catalog.json"));
    let catalog = Arc::new(Catalog::load(false, &[file]).unwrap());
    let journal: Arc<dyn Journal> = first.store.clone();
    let second = Runs::new(journal, catalog, checker, Arc::new(SystemClock), config());
    second.keep_house();
    let resumed = second.live(run.id()).expect("taken over");
    assert!(resumed.wait_for_end(Instant::now() + PATIENCE));
    let (summary, results, _) = resumed.snapshot();
    assert_eq!((summary.status, summary.total_results), (Status::Completed, 15));
    let after: Vec<ResultRecord> = results.iter().map(|result| result.record.clone()).collect();
    assert_eq!(after[..10], before, "what was found keeps its ids");
    assert_eq!((web.asked("ok-000"), web.asked("gate-000")), (0, 1), "only what had not ended is asked");
}

#[test]
fn a_run_that_another_instance_took_is_followed_from_the_store() {
    let mut catalog = modules("ok", 3);
    catalog.extend(modules("gate", 1));
    let limits = Limits { lease: Duration::ZERO, ..config().limits };
    let first = bench(&catalog, RunsConfig { limits, ..config() });
    let run = first.start("alice");
    eventually("three are found", || run.summary().total_results == 3);
    let mut follower = first.runs.follow(Found::Live(Arc::clone(&run)), 0);
    let mut frames = Vec::new();
    while frames.len() < 3 {
        if let Ok(Step::Frames(more)) = follower.next(Instant::now() + PATIENCE) {
            frames.extend(more);
        }
    }
    // The lease is over at once: the other one takes the run and ends it.
    let other = InstanceId(uuid::Uuid::new_v4());
    let now = SystemClock.now();
    let later = now + Duration::from_secs(60);
    let mut taken = Vec::new();
    let end = Instant::now() + PATIENCE;
    while taken.is_empty() {
        assert!(Instant::now() < end, "never taken over");
        taken = first.store.take_over(other, SystemClock.now(), later, 5).unwrap();
    }
    assert_eq!(taken[0].results.len(), 3);
    let checkpoint = run.checkpoint();
    let ending = Ending { status: Status::Completed, error: None, completed_at: now };
    assert_eq!(first.store.finish(run.id(), other, &checkpoint, &ending).unwrap(), Write::Done);
    first.web.open_gate();
    loop {
        match follower.next(Instant::now() + PATIENCE).unwrap() {
            Step::Frames(more) => frames.extend(more),
            Step::End => break,
            step => panic!("{step:?}"),
        }
    }
    let text: String = frames.iter().map(|frame| String::from_utf8_lossy(frame).into_owned()).collect();
    assert_eq!(text.matches("event: result").count(), 3, "each result once: {text}");
    assert_eq!(text.matches("event: done").count(), 1);
    let stored = first.store.run(run.id(), first.account).unwrap().unwrap();
    assert_eq!(stored.total_results, 3, "the instance that lost the lease writes nothing more");
}

#[test]
fn results_are_shown_only_once_they_are_stored_and_none_is_lost_while_the_store_is_down() {
    let mut catalog = modules("gate", 20);
    catalog.extend(modules("miss", 5));
    let switch: Mutex<Option<Arc<Switched>>> = Mutex::new(None);
    let bench = bench_with(&catalog, config(), |store| {
        let journal = Arc::new(Switched { inner: store, down: AtomicBool::new(false) });
        *switch.lock() = Some(Arc::clone(&journal));
        journal
    });
    let journal = switch.into_inner().unwrap();
    let run = bench.start("alice");
    journal.down.store(true, Ordering::SeqCst);
    assert!(
        matches!(bench.runs.start(bench.order("bob")), Err(OrderError::Storage(error)) if error.is_unavailable())
    );
    bench.web.open_gate();
    eventually("all are asked", || (0..20).all(|number| bench.web.asked(&format!("gate-{number:03}")) == 1));
    assert_eq!(run.summary().total_results, 0, "nobody sees what is not stored");
    assert_eq!(run.summary().status, Status::Running);
    journal.down.store(false, Ordering::SeqCst);
    let summary = bench.finish(&run);
    assert_eq!((summary.status, summary.total_results), (Status::Completed, 20));
    let stored = bench.store.run(run.id(), bench.account).unwrap().unwrap();
    assert_eq!(stored.total_results, 20);
}

#[test]
fn a_deleted_run_stops_asking() {
    let mut catalog = modules("gate", 30);
    catalog.extend(modules("ok", 1));
    let bench = bench(&catalog, RunsConfig { check_workers: 8, ..config() });
    let run = bench.start("alice");
    eventually("some wait", || bench.web.at_gate.load(Ordering::SeqCst) > 0);
    assert!(bench.runs.delete(run.id(), bench.account).unwrap());
    eventually("its driver has gone", || bench.runs.counts() == (0, 0));
    bench.web.open_gate();
    assert!(bench.runs.find(run.id(), bench.account).unwrap().is_none());
    eventually("the workers are idle", || bench.runs.workers().0 == 0);
    assert!(bench.web.at_gate.load(Ordering::SeqCst) < 30, "the rest was not asked");
}
