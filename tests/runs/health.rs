//! Health of modules and the value of a search when the network or the time of the process fails.

use sightline::model::run::RunError;
use sightline::runs::health::verdict::Verdict;

use super::*;

/// A module that reads a list which all such modules share.
fn feed(id: &str) -> Value {
    let mut entry = module(id, "lists.example.com");
    entry["probes"] = json!([{"url": "https://lists.example.com/all.json", "feed": {"keep_s": 3600}}]);
    entry["miss"] = json!([{"status": [404], "words": ["no {query}"]}]);
    entry
}

impl Bench {
    fn checks(&self, module: &str) -> u64 {
        let catalog = self.runs.catalog();
        let all = self.runs.health.of_all(catalog.modules(), SystemClock.now());
        all.iter().find(|(known, _)| &**known.id() == module).map_or(0, |(_, health)| health.checks)
    }

    fn asks(&self, modules: &[&str]) -> RunSummary {
        let modules = modules.iter().map(|id| (*id).to_owned()).collect();
        let order =
            self.order_where("alice", |search| search.choice = Choice { modules, ..Choice::default() });
        let run = self.start_order(order);
        self.finish(&run)
    }
}

#[test]
fn a_pause_caused_by_another_module_does_not_count_against_one_admitted_before() {
    // There is one worker: both modules are admitted while it is busy, and then run one after the other.
    let on_one_host = [module("limit-000", "shared.example.com"), module("ok-000", "shared.example.com")];
    let catalog = [modules("gate", 1), on_one_host.to_vec()].concat();
    let bench = bench(&catalog, RunsConfig { check_workers: 1, ..config() });
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| bench.outcomes("busy", &["gate-000"]));
        eventually("the worker is busy", || bench.web.at_gate.load(Ordering::SeqCst) == 1);
        let both = scope.spawn(|| bench.outcomes("alice", &["limit-000", "ok-000"]));
        eventually("the other run is driven", || bench.runs.load() == (2, 0));
        bench.web.open_gate();
        assert_eq!(both.join().unwrap(), ["rate_limited", "rate_limited"]);
        assert_eq!(busy.join().unwrap(), ["hit"]);
    });
    assert_eq!(bench.web.asked("ok-000"), 0);
    assert_eq!((bench.checks("limit-000"), bench.checks("ok-000")), (1, 0));
}

#[test]
fn checks_that_wait_for_a_feed_have_no_worker() {
    let lists = ["gatelist-000", "gatelist-001"];
    let bench = bench(&[modules("ok", 1), lists.map(feed).to_vec()].concat(), config());
    let runs = ["alice", "bob"].map(|query| bench.start(query));
    eventually("only the check that fetches it has one", || {
        let has_hit = |run: &Arc<LiveRun>| run.summary().progress.modules_completed == 1;
        runs.iter().all(has_hit) && bench.runs.scheduler.load().0 == 1
    });
    bench.web.open_gate();
    runs.iter().for_each(|run| assert_eq!(bench.finish(run).coverage.conclusive, 3));
    assert_eq!(lists.map(|list| bench.web.asked(list)).iter().sum::<usize>(), 1);
}

#[test]
fn local_lists_neither_hide_a_network_outage_nor_justify_a_charge() {
    let bench = bench(&[modules("ok", 3), vec![feed("list-000"), feed("list-001")]].concat(), config());
    let all = ["ok-000", "ok-001", "list-000"];
    assert_eq!(bench.asks(&all).status, Status::Completed);
    assert_eq!((bench.checks("ok-000"), bench.checks("list-000")), (1, 1));

    bench.web.down.store(true, Ordering::SeqCst);
    let summary = bench.asks(&all);
    assert_eq!((summary.coverage.conclusive, summary.coverage.count_of(Outcome::Error)), (1, 2));
    assert_eq!(summary.status, Status::Failed);
    assert!(matches!(&summary.error, Some(RunError { code, .. }) if code == "no_conclusion"), "{summary:?}");
    assert_eq!(summary.credits_charged, 0);
    assert_eq!((bench.checks("ok-000"), bench.checks("list-000")), (1, 1), "nobody was asked");

    let summary = bench.asks(&["list-000", "list-001"]);
    assert_eq!(summary.status, Status::Completed, "lists were all that was wanted");
    assert_eq!(summary.credits_charged, 1, "lists were all that was wanted");
    assert_eq!(bench.checks("list-001"), 0);

    bench.web.down.store(false, Ordering::SeqCst);
    assert_eq!(bench.asks(&all).status, Status::Completed);
    assert_eq!(bench.checks("ok-000"), 2);
}

#[test]
fn an_interrupted_run_ends_like_an_uninterrupted_one() {
    for (first_of_all, status, credits) in [("list-000", Status::Failed, 0), ("ok-000", Status::Completed, 1)]
    {
        let catalog = [modules("ok", 1), modules("panic", 1), modules("gate", 1), vec![feed("list-000")]];
        let bench = bench(&catalog.concat(), config());
        // The list is local from now on.
        assert_eq!(bench.asks(&["list-000"]).status, Status::Completed);
        let modules = [first_of_all, "panic-000", "gate-000"].map(str::to_owned).to_vec();
        let order =
            bench.order_where("alice", |search| search.choice = Choice { modules, ..Choice::default() });
        let run = bench.start_order(order);
        eventually("all but one have ended", || run.summary().progress.modules_completed == 2);
        bench.runs.shut_down(Instant::now() + PATIENCE);
        bench.web.open_gate();

        // The next process has no network, so the last site has no conclusion either.
        let web = Arc::new(PlayedWeb::default());
        web.down.store(true, Ordering::SeqCst);
        let second = bench.another_process(&web);
        second.dispatch();
        let summary = bench.finish(&second.live(run.id()).expect("taken over"));
        assert_eq!(summary.coverage.count_of(Outcome::Hit), 1, "{first_of_all}");
        assert_eq!(summary.coverage.count_of(Outcome::Error), 2, "{first_of_all}");
        assert_eq!((summary.status, summary.credits_charged), (status, credits), "{first_of_all}");
    }
}

#[test]
fn a_check_cut_short_by_the_run_deadline_does_not_count_against_its_site() {
    let short = RunsConfig { run_timeout: Duration::from_secs(2), ..config() };
    let bench = bench(&[modules("ok", 1), modules("hang", 1)].concat(), short);
    let run = bench.start("alice");
    bench.finish(&run);
    assert_eq!(bench.outcome_of(&run, "hang-000"), ("timeout".into(), Some("run_deadline")));
    assert_eq!(bench.checks("hang-000"), 0);
}

#[test]
fn a_new_list_of_suppressed_identifiers_removes_shared_answers() {
    let share_answers = Duration::from_secs(600);
    let bench = bench(&modules("ok", 1), RunsConfig { share_answers, ..config() });
    let requests_after_a_search = || {
        assert_eq!(bench.finish(&bench.start("alice")).total_results, 1);
        bench.web.total()
    };
    assert_eq!([(); 2].map(|()| requests_after_a_search()), [1, 1]);
    bench.runs.suppress(failures::suppressed("bob"));
    assert_eq!(requests_after_a_search(), 2);
}

/// A module whose misses are confirmed by the known account `bob`.
fn with_known(id: &str) -> Value {
    let mut entry = module(id, &format!("{id}.example.com"));
    entry["known"] = json!(["bob"]);
    entry
}

#[test]
fn a_disproved_miss_counts_against_its_module_and_its_known_account_is_asked_for_once() {
    let bench = bench(&[modules("ok", 1), vec![with_known("miss-000")]].concat(), config());
    for (query, asked) in [("alice", 2), ("carol", 3), ("dave", 4)] {
        let run = bench.start(query);
        let summary = bench.finish(&run);
        assert_eq!(bench.outcome_of(&run, "miss-000"), ("unreliable".into(), Some("known_missed")));
        assert_eq!((summary.coverage.count_of(Outcome::Unreliable), summary.credits_charged), (1, 1));
        assert_eq!(bench.web.asked("miss-000"), asked);
    }
    let catalog = bench.runs.catalog();
    let all = bench.runs.health.of_all(catalog.modules(), SystemClock.now());
    let (_, health) = all.iter().find(|(module, _)| &**module.id() == "miss-000").unwrap();
    assert_eq!((health.status, health.checks), (Verdict::Broken, 3));
}

#[test]
fn an_unconfirmed_miss_is_not_shared() {
    let share_answers = Duration::from_secs(600);
    let catalog = [modules("miss", 1), vec![with_known("shy-000")]].concat();
    let bench = bench(&catalog, RunsConfig { share_answers, ..config() });
    for asked in [2, 3] {
        let run = bench.start("alice");
        bench.finish(&run);
        assert_eq!(bench.outcome_of(&run, "shy-000"), ("miss".into(), Some("known_unclear")));
        assert_eq!((bench.web.asked("miss-000"), bench.web.asked("shy-000")), (1, asked));
    }
}

#[test]
fn a_proof_respects_pauses_and_uses_second_sources() {
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
        faults: Vec::new(),
        browser_jobs: 2,
        jobs: 1,
        host_concurrency: 2,
        timeout: Duration::from_secs(10),
        seed: 1,
    };
    let proofs = prove(catalog.modules(), &options, &Stop::default(), |_, _| {});
    assert_eq!(proofs.len(), 2);
    assert_eq!(web.asked("limit-000"), 1, "the made-up name is not asked for any more");
    assert!(web.asked("ok-two") > 0 && web.hosts.lock().contains("second.example.com"));
}
