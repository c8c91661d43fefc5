//! The engine of runs in this process, with real threads and a real store. Only the web is simulated.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use sightline::base::clock::{Clock, SystemClock};
use sightline::base::ids::{AccountId, RunId};
use sightline::base::storage::StorageError;
use sightline::model::account::{Account, Role};
use sightline::model::audit::Origin;
use sightline::model::credits::{Charge, Cycle};
use sightline::model::drive::{Claim, Ending, InstanceId, Write};
use sightline::model::refusal::Code;
use sightline::model::run::{ResultRecord, RunOptions, RunSummary, Status};
use sightline::model::search::Search;
use sightline::model::start::{Cause, Idempotency, NewRun};
use sightline::modules::catalog::{Catalog, Choice};
use sightline::modules::checker::Checker;
use sightline::modules::keys::OperatorKeys;
use sightline::modules::outcome::Outcome;
use sightline::modules::probe::{Browsers, NoBrowser, Prober};
use sightline::modules::query::{Query, SearchType};
use sightline::modules::reason::Reason;
use sightline::runs::follow::Next;
use sightline::runs::live::LiveRun;
use sightline::runs::proof::{ProofOptions, Stop, prove};
use sightline::runs::record::results_after;
use sightline::runs::service::{ChargeOf, Runs, RunsConfig, StartResult};
use sightline::store::{self, Store};

mod diff;
mod diff_world;
mod failures;
mod families;
mod following;
mod health;
mod merging;
mod queue;
mod web;

use web::PlayedWeb;

use crate::store::claim;
use crate::support::folder::Folder;
use crate::support::modules::{entry, with};
use crate::support::server::PATIENCE;
use crate::support::{eventually, has_ended};

fn module(id: &str, host: &str) -> Value {
    entry(id, &format!("https://{host}/{{query}}"))
}

/// Returns `count` modules with ids that begin with `kind`, each on its own host.
fn modules(kind: &str, count: usize) -> Vec<Value> {
    (0..count)
        .map(|number| module(&format!("{kind}-{number:03}"), &format!("{kind}{number}.example.com")))
        .collect()
}

/// Runs on a store of their own, with a web that the test plays.
pub(crate) struct Bench<Web = PlayedWeb> {
    pub(crate) runs: Arc<Runs>,
    pub(crate) web: Arc<Web>,
    pub(crate) store: Arc<Store>,
    pub(crate) account: AccountId,
    anchor: Timestamp,
    folder: Folder,
}

pub(crate) fn config() -> RunsConfig {
    RunsConfig {
        check_workers: 64,
        host_concurrency: 6,
        share_answers: Duration::ZERO,
        max_runs: 64,
        max_waiting: 1000,
        check_timeout: Duration::from_secs(10),
        run_timeout: Duration::from_secs(60),
        lease: Duration::from_secs(30),
        store_patience: Duration::from_secs(30),
        host_retry: Duration::from_secs(60),
        quarantine_retry: Duration::from_secs(600),
        discovery: false,
        simulated: false,
    }
}

fn bench(catalog: &[Value], config: RunsConfig) -> Bench {
    let folder = Folder::new();
    let url = format!("sqlite:{}", folder.path("runs.db"));
    bench_on(&url, folder, catalog, config, Arc::default(), Arc::new(NoBrowser))
}

pub(crate) fn bench_on<Web: Prober + 'static>(
    url: &str,
    folder: Folder,
    catalog: &[Value],
    config: RunsConfig,
    web: Arc<Web>,
    browsers: Arc<dyn Browsers>,
) -> Bench<Web> {
    std::fs::write(folder.path("catalog.json"), Value::Array(catalog.to_vec()).to_string()).unwrap();
    let store = store::open(&url.parse().unwrap(), store::Role::Server).unwrap();
    let (account, anchor) = new_account(&store);
    let runs = engine(&store, &folder, &web, browsers, config, charge_of());
    Bench { runs, web, store, account, anchor, folder }
}

/// Creates the engine of one process.
fn engine<Web: Prober + 'static>(
    store: &Arc<Store>,
    folder: &Folder,
    web: &Arc<Web>,
    browsers: Arc<dyn Browsers>,
    config: RunsConfig,
    charge_of: ChargeOf,
) -> Arc<Runs> {
    let catalog =
        Arc::new(Catalog::load(false, &[PathBuf::from(folder.path("catalog.json"))], None).unwrap());
    Runs::new(Arc::clone(store), catalog, checker(web), browsers, Arc::new(SystemClock), config, charge_of)
}

fn checker<Web: Prober + 'static>(web: &Arc<Web>) -> Arc<Checker> {
    let prober = Arc::clone(web) as Arc<dyn Prober>;
    Arc::new(Checker::new(prober, OperatorKeys::default(), "test", Duration::from_secs(3600)))
}

/// What happens before the operations of a bench's store.
#[derive(Default)]
struct Switch {
    /// Whether all operations fail.
    is_down: AtomicBool,
    /// The operation that fails, and the number of times that it has failed.
    refused: Mutex<Option<&'static str>>,
    refusals: AtomicUsize,
    /// What happens once just before an operation.
    before: Mutex<Option<(&'static str, Event)>>,
}

type Event = Box<dyn FnOnce() + Send>;

impl Switch {
    fn of(store: &Store) -> Arc<Self> {
        let switch = Arc::<Self>::default();
        let shared = Arc::clone(&switch);
        store.before_each(move |operation| {
            let happens = shared.before.lock().take_if(|(awaited, _)| *awaited == operation);
            if let Some((_, happens)) = happens {
                happens();
            }
            if *shared.refused.lock() == Some(operation) {
                shared.refusals.fetch_add(1, Ordering::SeqCst);
            } else if !shared.is_down.load(Ordering::SeqCst) {
                return Ok(());
            }
            Err(StorageError::unavailable("switched off"))
        });
        switch
    }

    fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
    }
}

/// A search that a lead starts costs one credit of a thousand.
fn charge_of() -> ChargeOf {
    Box::new(|_| {
        let now = SystemClock.now();
        Ok(Some((Charge { credits: 1, allowed: Some(1000), cycle: Cycle::at(now, now) }, true)))
    })
}

fn new_account(ledger: &Store) -> (AccountId, Timestamp) {
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
    (account.id, now)
}

impl<Web: Prober + 'static> Bench<Web> {
    /// Creates another process on the same store, with the present catalogue and without browsers.
    pub(crate) fn another_process(&self, web: &Arc<Web>) -> Arc<Runs> {
        engine(&self.store, &self.folder, web, Arc::new(NoBrowser), config(), charge_of())
    }

    /// Creates another process on the same store and the same web.
    pub(crate) fn another_process_with(&self, config: RunsConfig, charge_of: ChargeOf) -> Arc<Runs> {
        engine(&self.store, &self.folder, &self.web, Arc::new(NoBrowser), config, charge_of)
    }

    pub(crate) fn order_where(&self, query: &str, change: impl FnOnce(&mut Search)) -> NewRun {
        let mut order = self.order(query);
        change(&mut order.search);
        order
    }

    pub(crate) fn order(&self, query: &str) -> NewRun {
        let search = Search::plain(&Query::parse(SearchType::Username, query).unwrap());
        let cycle = Cycle::at(self.anchor, SystemClock.now());
        let charge = Charge { credits: 1, allowed: Some(1000), cycle };
        self.runs.new_run(self.account, search, Cause::Request, charge, Origin::CLI)
    }

    pub(crate) fn start(&self, query: &str) -> Arc<LiveRun> {
        self.start_order(self.order(query))
    }

    pub(crate) fn start_order(&self, order: NewRun) -> Arc<LiveRun> {
        match self.runs.start(order) {
            Ok(StartResult::Started(run)) => self.runs.live(run.id).expect("it is driven"),
            _ => panic!("not started"),
        }
    }

    /// Returns the outcomes of these modules alone.
    fn outcomes<const N: usize>(&self, query: &str, modules: &[&str; N]) -> [String; N] {
        let chosen = modules.iter().map(|module| (*module).to_owned()).collect();
        let choice = Choice { modules: chosen, ..Choice::default() };
        let run = self.start_order(self.order_where(query, |search| search.choice = choice));
        self.finish(&run);
        modules.map(|module| self.outcome_of(&run, module).0)
    }

    fn outcome_of(&self, run: &LiveRun, module: &str) -> (String, Option<&'static str>) {
        let reports = self.store.modules(run.id()).unwrap();
        let report = reports.into_iter().find(|report| report.module == module).unwrap();
        (report.status.to_string(), report.reason.map(Reason::as_str))
    }

    /// Returns the stored results of a run.
    pub(crate) fn results(&self, run: &LiveRun) -> Vec<ResultRecord> {
        results_after(&self.store, run.id(), 0).unwrap()
    }

    /// Returns a run that is not live here.
    fn stored(&self, run: RunId) -> RunSummary {
        assert!(self.runs.live(run).is_none());
        self.store.run(run, self.account).unwrap().unwrap()
    }

    /// Waits for the end of a run, whichever process drives it.
    fn wait_for(&self, run: RunId) -> RunSummary {
        let found = self.store.run(run, self.account).unwrap().unwrap();
        self.runs.wait_for_end(found, Instant::now() + PATIENCE).unwrap().unwrap()
    }

    pub(crate) fn finish(&self, run: &LiveRun) -> RunSummary {
        assert!(has_ended(run, Instant::now() + PATIENCE), "the run does not end: {:?}", run.summary());
        run.summary()
    }
}

/// Returns a result of a module, which is its own platform.
fn found(id: u32, module: &str, kind: &str, value: &str) -> ResultRecord {
    ResultRecord {
        id,
        result_type: kind.into(),
        entity_type: kind.into(),
        platform: Some(module.into()),
        value: Some(value.into()),
        confidence: 0.9,
        source: module.into(),
        metadata: serde_json::Map::new(),
        created_at: "2026-05-06T07:08:09Z".parse().unwrap(),
        annotation: None,
    }
}

#[test]
fn a_panic_is_an_error_of_its_module_only() {
    let mut catalog = modules("ok", 20);
    catalog.extend(modules("panic", 3));
    // The only worker survives.
    let bench = bench(&catalog, RunsConfig { check_workers: 1, ..config() });
    for name in ["alice", "bob"] {
        let run = bench.start(name);
        let summary = bench.finish(&run);
        let [hits, errors] = [Outcome::Hit, Outcome::Error].map(|it| summary.coverage.count_of(it));
        assert_eq!((summary.status, hits, errors), (Status::Completed, 20, 3));
        assert_eq!(bench.outcome_of(&run, "panic-001"), ("error".into(), Some("panic")));
    }
}

#[test]
fn checks_and_runs_end_at_their_deadlines() {
    let mut catalog = modules("hang", 30);
    let mut popular = module("ok-000", "ok.example.com");
    popular["rank"] = 1.into();
    catalog.push(popular);
    let (check_timeout, run_timeout) = (Duration::from_secs(2), Duration::from_secs(8));
    // With four checks at a time the last ones do not start before the deadline of the run.
    let bench = bench(&catalog, RunsConfig { check_workers: 4, check_timeout, run_timeout, ..config() });
    let run = bench.start("alice");
    let summary = bench.finish(&run);
    assert_eq!(summary.progress.modules_completed, 31);
    assert_eq!(summary.coverage.count_of(Outcome::Timeout), 30);
    let reports = bench.store.modules(run.id()).unwrap();
    let reasons: Vec<Option<Reason>> = reports.into_iter().map(|report| report.reason).collect();
    let wanted = [Some(Reason::TimeoutFirstByte), Some(Reason::RunDeadline)];
    assert!(wanted.iter().all(|reason| reasons.contains(reason)), "{reasons:?}");
}

#[test]
fn a_rate_limited_host_is_paused_even_if_a_second_source_has_a_conclusion() {
    let mut two = module("limited-by-first", "first.example.com");
    let fallback = json!({"url": "https://second.example.com/{query}", "fallback": true});
    two["probes"].as_array_mut().unwrap().push(fallback);
    let others = [module("ok-000", "first.example.com"), module("ok-001", "second.example.com")];
    let bench = bench(&[vec![two], modules("limit", 1), others.to_vec()].concat(), config());
    assert_eq!(bench.outcomes("alice", &["limited-by-first", "limit-000"]), ["hit", "rate_limited"]);
    let run = bench.start("bob");
    bench.finish(&run);
    for paused in ["limit-000", "ok-000"] {
        assert_eq!(bench.outcome_of(&run, paused), ("rate_limited".into(), Some("retry_after")));
    }
    assert_eq!(bench.outcome_of(&run, "ok-001").0, "hit");
    assert_eq!(["limit-000", "ok-000"].map(|module| bench.web.asked(module)), [1, 0]);
}

#[test]
fn an_ended_run_is_evicted_and_served_from_the_store() {
    let bench = bench(&modules("ok", 5), config());
    let run = bench.start("alice");
    bench.finish(&run);
    let live = run.summary();
    bench.runs.sweep();
    assert!(bench.runs.live(run.id()).is_none());
    let stored = bench.stored(run.id());
    assert_eq!(stored, live);
    let mut follower = bench.runs.follow(&stored, 0);
    let Ok(Next::Frames(frames)) = follower.next(Instant::now()) else { panic!("no frames") };
    assert_eq!(frames.len(), 5 + 1 + 1, "results, one progress frame, done");
    assert!(matches!(follower.next(Instant::now()), Ok(Next::End)));
}
