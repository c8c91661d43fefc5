//! Runs whose process, store or lease fails.

use sightline::base::secret::Secret;
use sightline::runs::suppression::{SuppressKey, Suppressed};

use super::*;

/// Returns a list of suppressed identifiers with this username.
pub(super) fn suppressed(name: &str) -> Suppressed {
    let key = SuppressKey::new(Secret::new("a-key-for-tests-0123456789".into()));
    let query = Query::parse(SearchType::Username, name).unwrap();
    Suppressed::parse(&key.line(&query), key).unwrap()
}

#[test]
fn an_instance_with_an_expired_lease_continues_its_own_run() {
    let mut catalog = modules("ok", 3);
    catalog.extend(modules("gate", 1));
    // The lease expires as soon as it is taken, so that the run looks abandoned to its own process too.
    let bench = bench(&catalog, RunsConfig { lease: Duration::ZERO, ..config() });
    let run = bench.start("alice");
    eventually("three are found", || run.summary().total_results == 3);
    bench.runs.dispatch();
    assert!(Arc::ptr_eq(&bench.runs.live(run.id()).unwrap(), &run), "the run was started a second time");
    bench.web.open_gate();
    assert_eq!(bench.finish(&run).total_results, 4);
    assert_eq!(bench.web.asked("ok-000"), 1);
}

#[test]
fn a_run_whose_results_cannot_be_stored_fails_and_is_refunded() {
    let bench = bench(&modules("gate", 5), RunsConfig { store_patience: Duration::ZERO, ..config() });
    let switch = Switch::of(&bench.store);
    let order = bench.order("alice");
    let cycle = order.charge.cycle;
    let run = bench.start_order(order);
    let mut follower = bench.runs.follow(&run.summary(), 0);
    let mut is_quiet =
        || matches!(follower.next(Instant::now() + Duration::from_millis(100)), Ok(Next::Quiet));
    assert!(is_quiet());
    switch.set_down(true);
    bench.web.open_gate();
    let summary = bench.finish(&run);
    assert_eq!(summary.status, Status::Failed);
    assert_eq!(summary.error.map(|error| error.code).as_deref(), Some("store_failed"));
    assert_eq!(summary.progress.modules_completed, 5);
    assert!(!run.is_stored());
    assert!(is_quiet(), "what the store lacks is not shown");
    bench.runs.sweep();
    assert!(bench.runs.live(run.id()).is_some(), "it stays in memory until the store has it");
    switch.set_down(false);
    eventually("the store has its end", || run.is_stored());
    let stored = bench.store.run(run.id(), bench.account).unwrap().unwrap();
    assert_eq!((stored.status, stored.credits_charged), (Status::Failed, 0));
    assert_eq!(bench.store.credits_used(&[(bench.account, cycle)]).unwrap(), [0]);
    assert!(!is_quiet());
}

#[test]
fn a_run_that_cannot_be_resumed_fails_and_a_resumed_one_skips_missing_modules() {
    let first = bench(&[modules("ok", 1), modules("gate", 2)].concat(), config());
    let run = first.start("alice");
    eventually("one is found", || run.summary().total_results == 1);
    first.runs.shut_down(Instant::now() + PATIENCE);
    first.web.open_gate();
    // The next version of the catalogue has only one of the two remaining modules.
    let file = PathBuf::from(first.folder.path("catalog.json"));
    let catalog = [modules("ok", 1), modules("gate", 1)].concat();
    std::fs::write(&file, Value::Array(catalog).to_string()).unwrap();
    let web = Arc::new(PlayedWeb::default());
    web.open_gate();
    let second = first.another_process(&web);
    second.dispatch();
    let resumed = second.live(run.id()).unwrap();
    assert!(has_ended(&resumed, Instant::now() + PATIENCE));
    let summary = resumed.summary();
    assert_eq!((summary.progress.modules_completed, summary.progress.modules_total), (3, 3));
    assert_eq!(first.outcome_of(&resumed, "gate-001"), ("skipped".into(), Some("disabled")));
}

#[test]
fn an_abandoned_run_does_not_block_the_maintenance_thread_while_the_store_is_unavailable() {
    let first = bench(&[modules("ok", 1), modules("gate", 1)].concat(), config());
    let run = first.start("alice");
    eventually("one is found", || run.summary().total_results == 1);
    first.runs.shut_down(Instant::now() + PATIENCE);
    first.web.open_gate();

    // The next process has a list that suppresses the name, and a store in which runs can be taken over but not ended.
    let switch = Switch::of(&first.store);
    *switch.refused.lock() = Some("finish");
    let no_lease = RunsConfig { lease: Duration::ZERO, ..config() };
    let second = first.another_process_with(no_lease, charge_of());
    second.suppress(suppressed("alice"));
    // The call returns each time without waiting for the store.
    for tries in 1..=2 {
        let maintenance = std::thread::spawn({
            let runs = Arc::clone(&second);
            move || {
                runs.dispatch();
            }
        });
        eventually("the maintenance thread is done", || maintenance.is_finished());
        eventually("its end is refused", || switch.refusals.load(Ordering::SeqCst) >= tries);
    }
    let stored = || first.store.run(run.id(), first.account).unwrap().unwrap();
    assert_eq!(stored().status, Status::Running);
    *switch.refused.lock() = None;
    eventually("it is ended", || {
        second.dispatch();
        stored().status == Status::Failed
    });
    assert_eq!(stored().error.unwrap().code, "suppressed");
    assert_eq!(stored().credits_charged, 0);
}
