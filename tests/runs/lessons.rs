//! What a run teaches of the sites, and what it is worth, when our own network or time fails.

use sightline::runs::run::RunError;

use super::*;

/// A module that reads a list of which every module has the same.
fn feed(id: &str) -> Value {
    let mut entry = module(id, "lists.example.com");
    entry["probes"] = json!([{"url": "https://lists.example.com/all.json", "feed": {"keep_s": 3600}}]);
    entry["miss"] = json!([{"status": [404], "words": ["no {query}"]}]);
    entry
}

impl Bench {
    fn checks(&self, module: &str) -> u64 {
        self.runs.module_health().of(module, SystemClock.now()).checks
    }

    fn asks(&self, modules: &[&str]) -> RunSummary {
        let modules = modules.iter().map(|id| (*id).to_owned()).collect();
        let order = Order { choice: Choice { modules, ..Choice::default() }, ..self.order("alice") };
        let Ok(Receipt::Started(run)) = self.runs.start(order) else { panic!("not started") };
        self.finish(&run)
    }
}

#[test]
fn a_pause_that_another_module_brought_on_is_not_held_against_one_that_was_admitted_before() {
    // One worker: both are admitted while it is busy, and take their turns one after the other.
    let on_one_host = [module("limit-000", "shared.example.com"), module("ok-000", "shared.example.com")];
    let catalog = [modules("gate", 1), on_one_host.to_vec()].concat();
    let bench = bench(&catalog, RunsConfig { check_workers: 1, ..config() });
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| bench.outcomes("busy", &["gate-000"]));
        eventually("the worker is busy", || bench.web.at_gate.load(Ordering::SeqCst) == 1);
        let both = scope.spawn(|| bench.outcomes("alice", &["limit-000", "ok-000"]));
        eventually("the other run is driven", || bench.runs.counts() == (2, 0));
        bench.web.open_gate();
        assert_eq!(both.join().unwrap(), ["rate_limited", "rate_limited"]);
        assert_eq!(busy.join().unwrap(), ["hit"]);
    });
    assert_eq!(bench.web.asked("ok-000"), 0);
    assert_eq!((bench.checks("limit-000"), bench.checks("ok-000")), (1, 0));
}

#[test]
fn lists_at_hand_do_not_make_an_outage_of_ours_the_fault_of_the_sites_nor_a_search() {
    let bench = bench(&[modules("ok", 3), vec![feed("list-000"), feed("list-001")]].concat(), config());
    let all = ["ok-000", "ok-001", "list-000"];
    assert_eq!(bench.asks(&all).status, Status::Completed);
    assert_eq!((bench.checks("ok-000"), bench.checks("list-000")), (1, 1));

    bench.web.down.store(true, Ordering::SeqCst);
    let summary = bench.asks(&all);
    assert_eq!((summary.coverage.conclusive, summary.coverage.error), (1, 2));
    assert_eq!(summary.status, Status::Failed);
    assert!(matches!(&summary.error, Some(RunError { code, .. }) if code == "no_conclusion"), "{summary:?}");
    assert_eq!(summary.credits_charged, 0);
    assert_eq!((bench.checks("ok-000"), bench.checks("list-000")), (1, 1), "nobody was asked");

    let summary = bench.asks(&["list-000", "list-001"]);
    assert_eq!(
        (summary.status, summary.credits_charged),
        (Status::Completed, 1),
        "lists were all that was wanted"
    );
    assert_eq!(bench.checks("list-001"), 0);

    bench.web.down.store(false, Ordering::SeqCst);
    assert_eq!(bench.asks(&all).status, Status::Completed);
    assert_eq!(bench.checks("ok-000"), 2);
}

#[test]
fn an_interrupted_run_is_judged_as_one_that_was_not() {
    for (first_of_all, status, credits) in [("list-000", Status::Failed, 0), ("ok-000", Status::Completed, 1)]
    {
        let catalog = [modules("ok", 1), modules("panic", 1), modules("gate", 1), vec![feed("list-000")]];
        let bench = bench(&catalog.concat(), config());
        // The list is at hand from now on.
        assert_eq!(bench.asks(&["list-000"]).status, Status::Completed);
        let modules = [first_of_all, "panic-000", "gate-000"].map(str::to_owned).to_vec();
        let order = Order { choice: Choice { modules, ..Choice::default() }, ..bench.order("alice") };
        let Ok(Receipt::Started(run)) = bench.runs.start(order) else { panic!("not started") };
        eventually("all but one have ended", || run.summary().progress.modules_completed == 2);
        bench.runs.shut_down(Instant::now() + PATIENCE);
        bench.web.open_gate();

        // The next process has no network: the last site comes to nothing, too.
        let web = Arc::new(PlayedWeb::default());
        web.down.store(true, Ordering::SeqCst);
        let second = bench.another_process(&web);
        second.keep_house();
        let summary = bench.finish(&second.live(run.id()).expect("taken over"));
        assert_eq!((summary.coverage.hit, summary.coverage.error), (1, 2), "{first_of_all}");
        assert_eq!((summary.status, summary.credits_charged), (status, credits), "{first_of_all}");
    }
}

#[test]
fn a_check_that_the_end_of_the_run_cuts_short_is_not_held_against_the_site() {
    let limits = Limits { run_timeout: Duration::from_millis(300), ..config().limits };
    let bench = bench(&[modules("ok", 1), modules("hang", 1)].concat(), RunsConfig { limits, ..config() });
    let run = bench.start("alice");
    bench.finish(&run);
    assert_eq!(outcome_of(&run, "hang-000"), ("timeout".into(), Some("run_deadline".into())));
    assert_eq!(bench.checks("hang-000"), 0);
}
