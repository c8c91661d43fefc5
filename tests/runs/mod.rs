//! The run engine in this process: real threads, real rings, a real store; only the web is played.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use sightline::account::account::{Account, Role};
use sightline::account::audit::Origin;
use sightline::account::credits::{Charge, Cycle};
use sightline::account::ledger::Ledger;
use sightline::base::clock::{Clock, SystemClock};
use sightline::base::ids::AccountId;
use sightline::modules::catalog::{Catalog, Choice};
use sightline::modules::check::Checker;
use sightline::modules::keys::OperatorKeys;
use sightline::modules::probe::{NoBrowser, Prober};
use sightline::modules::query::{Query, SearchType};
use sightline::runs::follow::Step;
use sightline::runs::journal::{Claim, Ending, Idempotency, InstanceId, Journal, Write};
use sightline::runs::live::LiveRun;
use sightline::runs::proof::{ProofOptions, Stop, prove};
use sightline::runs::run::{ResultRecord, RunSummary, Status};
use sightline::runs::service::{Found, Order, OrderError, Receipt, Runs, RunsConfig};
use sightline::runs::workshop::Limits;
use sightline::store::{self, Store};

mod fairness;
mod following;
mod lessons;
mod merging;
mod switch;
mod trouble;
mod web;

use switch::Switched;
use web::PlayedWeb;

use crate::support::eventually;
use crate::support::folder::Folder;
use crate::support::server::PATIENCE;

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
            store_patience: Duration::from_secs(30),
        },
        keep_ended: Duration::from_secs(60),
        discovery: false,
        simulated: false,
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
    let runs = Runs::new(journal(Arc::clone(&store)), catalog, checker, Arc::new(NoBrowser), clock, config);
    Bench { runs, web, store, account, folder }
}

/// A bench whose store can be switched off.
fn bench_on_a_switch(catalog: &[Value], config: RunsConfig) -> (Bench, Arc<Switched>) {
    let mut switch = None;
    let bench = bench_with(catalog, config, |store| Arc::clone(switch.insert(Switched::new(store))) as _);
    (bench, switch.expect("bench_with opens the journal"))
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
        role: Role::User,
    };
    assert!(ledger.add_account(&account, &Origin::CLI).unwrap());
    account.id
}

impl Bench {
    /// Another process on the same store, with the catalogue as it is now.
    fn another_process(&self, web: &Arc<PlayedWeb>) -> Arc<Runs> {
        let file = PathBuf::from(self.folder.path("catalog.json"));
        let catalog = Arc::new(Catalog::load(false, &[file]).unwrap());
        let journal: Arc<dyn Journal> = self.store.clone();
        Runs::new(journal, catalog, checker(web), Arc::new(NoBrowser), Arc::new(SystemClock), config())
    }

    fn order(&self, query: &str) -> Order {
        let now = SystemClock.now();
        Order {
            account: self.account,
            query: Query::parse(SearchType::Username, query).unwrap(),
            premium: false,
            choice: Choice::default(),
            charge: Charge { credits: 1, allowed: Some(1000), cycle: Cycle::at(now, now) },
            idempotency: None,
            origin: Origin::CLI,
        }
    }

    fn start(&self, query: &str) -> Arc<LiveRun> {
        match self.runs.start(self.order(query)) {
            Ok(Receipt::Started(run)) => run,
            _ => panic!("not started"),
        }
    }

    /// What these modules alone come to.
    fn outcomes<const N: usize>(&self, query: &str, modules: &[&str; N]) -> [String; N] {
        let chosen = modules.iter().map(|module| (*module).to_owned()).collect();
        let choice = Choice { modules: chosen, ..Choice::default() };
        let Ok(Receipt::Started(run)) = self.runs.start(Order { choice, ..self.order(query) }) else {
            panic!("not started")
        };
        self.finish(&run);
        modules.map(|module| outcome_of(&run, module).0)
    }

    fn finish(&self, run: &LiveRun) -> RunSummary {
        assert!(run.wait_for_end(Instant::now() + PATIENCE), "the run does not end: {:?}", run.summary());
        run.summary()
    }
}

/// What `owner` asks for when it takes one run over.
fn claim(owner: InstanceId, simulated: bool, limit: usize) -> Claim<'static> {
    Claim { owner, simulated, except: &[], holds: Duration::from_secs(60), limit }
}

fn outcome_of(run: &LiveRun, module: &str) -> (String, Option<String>) {
    let report = run.reports().into_iter().find(|report| report.module == module).unwrap();
    (report.status.to_string(), report.reason)
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
        check_timeout: Duration::from_secs(1),
        run_timeout: Duration::from_secs(3),
        ..config().limits
    };
    // Four at a time: the last ones cannot be asked before the run's ceiling.
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
    let order = bench.order("alice");
    let cycle = order.charge.cycle;
    let Ok(Receipt::Started(run)) = bench.runs.start(order) else { panic!("not started") };
    let summary = bench.finish(&run);
    assert_eq!(summary.status, Status::Failed);
    assert_eq!(summary.error.as_ref().map(|error| error.code.as_str()), Some("no_conclusion"));
    assert_eq!(summary.credits_charged, 0);
    assert_eq!(bench.store.credits_used(bench.account, cycle).unwrap(), 0);
    let stored = bench.store.run(run.id(), bench.account).unwrap().unwrap();
    assert_eq!((stored.status, stored.credits_charged), (Status::Failed, 0));
}

#[test]
fn a_site_that_asked_for_it_is_left_alone_by_the_next_run() {
    let mut catalog = modules("limit", 1);
    catalog.extend(modules("ok", 1));
    let bench = bench(&catalog, config());
    for reason in ["http_429", "retry_after"] {
        let run = bench.start("alice");
        bench.finish(&run);
        let (outcome, why) = outcome_of(&run, "limit-000");
        assert_eq!(outcome, "rate_limited", "{why:?}");
        if reason == "retry_after" {
            assert_eq!(why.as_deref(), Some(reason));
        }
    }
    assert_eq!((bench.web.asked("limit-000"), bench.web.asked("ok-000")), (1, 2));
}

#[test]
fn a_module_is_asked_though_the_host_of_its_fallback_wants_to_be_left_alone() {
    let mut two = module("ok-two", "first.example.com");
    let fallback = json!({"url": "https://limited.example.com/{query}", "fallback": true});
    two["probes"].as_array_mut().unwrap().push(fallback);
    let bench = bench(&[two, module("limit-000", "limited.example.com")], config());
    for _ in 0..2 {
        let run = bench.start("alice");
        bench.finish(&run);
        assert_eq!(outcome_of(&run, "limit-000").0, "rate_limited");
        assert_eq!(outcome_of(&run, "ok-two").0, "hit");
    }
    assert_eq!((bench.web.asked("limit-000"), bench.web.asked("ok-two")), (1, 2));
}

#[test]
fn a_module_whose_first_source_wants_to_be_left_alone_is_asked_by_its_second() {
    let two = |id: &str, first: &str, second: &str| {
        let mut two = module(id, first);
        let fallback = json!({"url": format!("https://{second}/{{query}}"), "fallback": true});
        two["probes"].as_array_mut().unwrap().push(fallback);
        two
    };
    let catalog = [
        module("limit-000", "limited.example.com"),
        module("limit-001", "other.example.com"),
        two("ok-two", "limited.example.com", "second.example.com"),
        two("ok-none", "limited.example.com", "other.example.com"),
    ];
    let bench = bench(&catalog, config());
    assert_eq!(bench.outcomes("alice", &["limit-000", "limit-001"]), ["rate_limited", "rate_limited"]);
    assert_eq!(bench.outcomes("bob", &["ok-two", "ok-none"]), ["hit", "rate_limited"]);
    assert_eq!((bench.web.asked("ok-two"), bench.web.asked("ok-none")), (1, 0));
    assert!(bench.web.at_once.lock().contains_key("second.example.com"));
}

#[test]
fn a_host_that_sent_a_first_source_away_is_left_alone_though_the_second_concluded() {
    let mut two = module("limited-by-first", "first.example.com");
    let fallback = json!({"url": "https://second.example.com/{query}", "fallback": true});
    two["probes"].as_array_mut().unwrap().push(fallback);
    let bench = bench(
        &[two, module("ok-000", "first.example.com"), module("ok-001", "second.example.com")],
        config(),
    );
    assert_eq!(bench.outcomes("alice", &["limited-by-first"]), ["hit"]);
    assert_eq!(bench.outcomes("bob", &["ok-000", "ok-001"]), ["rate_limited", "hit"]);
}

#[test]
fn a_proof_leaves_alone_whoever_asked_for_it_and_asks_a_second_source() {
    let mut two = module("ok-two", "limited.example.com");
    let fallback = json!({"url": "https://second.example.com/{query}", "fallback": true});
    two["probes"].as_array_mut().unwrap().push(fallback);
    let mut catalog = [module("limit-000", "limited.example.com"), two];
    for entry in &mut catalog {
        entry["known"] = json!(["alice"]);
    }
    let catalog = Catalog::from_text("test", &Value::from(catalog.to_vec()).to_string()).unwrap();
    let web = Arc::new(PlayedWeb::default());
    let options = ProofOptions {
        checker: checker(&web),
        simulated: false,
        troubles: Vec::new(),
        browser_jobs: 2,
        jobs: 1,
        timeout: Duration::from_secs(10),
        seed: 1,
    };
    let proofs = prove(catalog.modules(), &options, &Stop::default(), |_| {});
    assert_eq!(proofs.len(), 2);
    assert_eq!(web.asked("limit-000"), 1, "the made-up name is not asked for any more");
    assert!(web.asked("ok-two") > 0 && web.at_once.lock().contains_key("second.example.com"));
}

#[test]
fn a_list_that_is_at_hand_is_read_though_its_host_is_paused_and_the_days_checks_are_used_up() {
    let mut feed = module("ok-feed", "feed.example.com");
    feed["probes"] = json!([{"url": "https://feed.example.com/list", "feed": {"keep_s": 3600}}]);
    feed["miss"] = json!([{"status": [404], "words": ["no {query}"]}]);
    feed["per_day"] = 1.into();
    let mut single = module("ok-single", "single.example.com");
    single["per_day"] = 1.into();
    let bench = bench(&[feed, single, module("limit-000", "feed.example.com")], config());
    assert_eq!(bench.outcomes("alice", &["ok-feed", "ok-single"]), ["hit", "hit"]);
    assert_eq!(bench.outcomes("bob", &["limit-000"]), ["rate_limited"]);
    assert_eq!(bench.outcomes("carol", &["ok-feed", "ok-single"]), ["hit", "skipped"]);
    assert_eq!((bench.web.asked("ok-feed"), bench.web.asked("limit-000")), (1, 1));
}

#[test]
fn more_runs_wait_their_turn_and_beyond_that_they_are_refused() {
    let bench = bench(&modules("gate", 1), RunsConfig { max_runs: 1, max_waiting: 2, ..config() });
    let first = bench.start("first");
    eventually("the first is driven", || bench.web.at_gate.load(Ordering::SeqCst) == 1);
    let known = |key: &str, body| {
        let idempotency = Idempotency {
            key: key.into(),
            body_hash: [body; 32],
            valid_since: "2000-01-01T00:00:00Z".parse().unwrap(),
        };
        bench.runs.start(Order { idempotency: Some(idempotency), ..bench.order("second") })
    };
    let Ok(Receipt::Started(second)) = known("once", 1) else { panic!("not started") };
    let waiting = [second, bench.start("third")];
    assert_eq!(bench.runs.counts(), (1, 2));
    assert!(matches!(bench.runs.start(bench.order("fourth")), Err(OrderError::Overloaded)));
    // Who asks again for what was taken when there was room is told so.
    assert!(matches!(known("once", 1), Ok(Receipt::Repeated(id)) if id == waiting[0].id()));
    assert!(matches!(known("once", 2), Ok(Receipt::Mismatch)));
    assert!(matches!(known("another", 1), Err(OrderError::Overloaded)));
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
fn a_deleted_run_stops_asking() {
    let mut catalog = modules("gate", 30);
    catalog.extend(modules("ok", 1));
    let bench = bench(&catalog, RunsConfig { check_workers: 8, ..config() });
    let run = bench.start("alice");
    eventually("some wait", || bench.web.at_gate.load(Ordering::SeqCst) > 0);
    assert!(bench.runs.delete(run.id(), bench.account, &Origin::CLI).unwrap());
    eventually("its driver has gone", || bench.runs.counts() == (0, 0));
    bench.web.open_gate();
    assert!(bench.runs.find(run.id(), bench.account).unwrap().is_none());
    eventually("the workers are idle", || bench.runs.workers().0 == 0);
    assert!(bench.web.at_gate.load(Ordering::SeqCst) < 30, "the rest was not asked");
}
