//! Runs that wait for a driver: their order, deletion and suppression.

use super::*;

/// Returns the nth account's order for one module, which identifies the run: the web records the modules in the order
/// of the requests.
fn order_of(bench: &Bench, account: AccountId, module: usize) -> NewRun {
    let choice = Choice { modules: vec![format!("gate-{module:03}")], ..Choice::default() };
    NewRun { account, ..bench.order_where("alice", |search| search.choice = choice) }
}

/// Returns a bench with one driver, which is busy with module 0 of the first account until the gate opens.
fn busy_bench(modules_count: usize) -> Bench {
    let bench = bench(&modules("gate", modules_count), RunsConfig { max_runs: 1, ..config() });
    bench.start_order(order_of(&bench, bench.account, 0));
    eventually("the driver is busy", || bench.web.at_gate.load(Ordering::SeqCst) == 1);
    bench
}

impl Bench {
    fn queue(&self, account: AccountId, module: usize) -> RunSummary {
        match self.runs.start(order_of(self, account, module)) {
            Ok(StartResult::Started(run)) => *run,
            _ => panic!("not queued"),
        }
    }

    /// Returns the number of transactions that start a run, refused ones included.
    fn starts_in_the_store(&self) -> u64 {
        let mut operations = self.store.operations().into_iter();
        operations
            .find(|(name, _)| *name == "start")
            .map_or(0, |(_, it)| *it.durations.up_to().last().unwrap())
    }

    /// Returns the numbers of the modules in the order of the requests.
    fn asked_in_order(&self) -> Vec<usize> {
        self.web.asked.lock().iter().map(|module| module["gate-".len()..].parse().unwrap()).collect()
    }
}

#[test]
fn a_busy_process_takes_over_an_interrupted_run_before_those_that_wait() {
    for waiting in [0, 2] {
        let bench = busy_bench(4);
        // The process that took this run has died, and its lease has expired.
        let interrupted = bench.queue(bench.account, 3);
        let dead = InstanceId(uuid::Uuid::new_v4());
        let claim = Claim { holds: Duration::ZERO, ..claim(dead, false) };
        assert!(bench.store.take_over(&claim).unwrap().is_some());
        for module in 1..=waiting {
            bench.queue(bench.account, module);
        }
        // No driver is free, so that the search finds nobody who could drive it.
        bench.runs.dispatch();
        assert!(bench.runs.live(interrupted.id).is_none());
        bench.web.open_gate();
        eventually("all are asked", || bench.asked_in_order().len() == waiting + 2);
        let in_order = [0, 3].into_iter().chain(1..=waiting).collect::<Vec<_>>();
        assert_eq!(bench.asked_in_order(), in_order);
        assert_eq!(bench.wait_for(interrupted.id).status, Status::Completed);
    }
}

#[test]
fn a_waiting_run_can_be_deleted_and_fails_if_it_is_suppressed_meanwhile() {
    let bench = busy_bench(4);
    let (deleted, suppressed, last) =
        (bench.queue(bench.account, 1), bench.queue(bench.account, 2), bench.queue(bench.account, 3));
    assert!(bench.runs.delete(deleted.id, bench.account, false, &Origin::CLI).unwrap());
    let positions = [suppressed.id, last.id].map(|run| bench.stored(run).queue_position);
    assert_eq!(positions, [Some(1), Some(2)]);
    bench.runs.suppress(failures::suppressed("alice"));
    bench.web.open_gate();
    for run in [suppressed.id, last.id] {
        let ended = bench.wait_for(run);
        assert_eq!((ended.status, ended.credits_charged), (Status::Failed, 0));
        assert_eq!(ended.error.map(|error| error.code).as_deref(), Some("suppressed"));
    }
    assert_eq!(bench.asked_in_order(), [0]);
}

#[test]
fn the_deadline_and_the_time_budget_of_a_run_count_from_its_first_start_over_all_drivers() {
    let none = RunOptions::default();
    let budget = RunOptions { time_budget: Some(6), ..none };
    for (run_timeout, options, reason) in [(6, none, "run_deadline"), (60, budget, "time_budget")] {
        its_time_counts_from_its_first_start(Duration::from_secs(run_timeout), options, reason);
    }
}

fn its_time_counts_from_its_first_start(run_timeout: Duration, options: RunOptions, reason: &str) {
    let short = RunsConfig { run_timeout, lease: Duration::ZERO, ..config() };
    let first = bench(&[modules("gate", 3), modules("ok", 1)].concat(), short);
    let order = first.order_where("alice", |search| search.options = options);
    let run = first.start_order(order);
    eventually("one is found", || run.summary().total_results == 1);
    // Each process is stopped before the check ends.
    let mut process = Arc::clone(&first.runs);
    let given_up = Instant::now() + PATIENCE;
    let ended = loop {
        assert!(Instant::now() < given_up, "it never ends");
        process.shut_down(Instant::now() + PATIENCE);
        let summary = first.store.run(run.id(), first.account).unwrap().unwrap();
        if summary.status.is_terminal() {
            break summary;
        }
        process = first.another_process_with(short, charge_of());
        process.dispatch();
        if let Some(resumed) = process.live(run.id()) {
            has_ended(&resumed, Instant::now() + Duration::from_millis(500));
        }
    };
    assert_eq!(ended.status, Status::Completed);
    assert_eq!(ended.coverage.count_of(Outcome::Hit), 1);
    assert_eq!(ended.coverage.count_of(Outcome::Timeout), 3);
    let reports = first.store.modules(run.id()).unwrap();
    let cut = reports.iter().filter(|report| report.reason.is_some_and(|cut| cut.as_str() == reason));
    assert_eq!(cut.count(), 3, "{reports:?}");
    first.web.open_gate();
}

#[test]
fn runs_wait_for_a_driver_and_are_refused_when_the_queue_is_full() {
    let bench = bench(&modules("gate", 1), RunsConfig { max_runs: 1, max_waiting: 2, ..config() });
    let first = bench.start("first");
    eventually("the first is driven", || bench.web.at_gate.load(Ordering::SeqCst) == 1);
    let known = |key: &str, body| {
        let idempotency = Idempotency { key: key.into(), body_hash: [body; 32], at: jiff::Timestamp::now() };
        bench.runs.start(NewRun { idempotency: Some(idempotency), ..bench.order("second") })
    };
    let Ok(StartResult::Started(second)) = known("once", 1) else { panic!("not queued") };
    let Ok(StartResult::Started(third)) = bench.runs.start(bench.order("third")) else {
        panic!("not queued")
    };
    let waiting = [second.id, third.id];
    assert_eq!(bench.runs.load(), (1, 2));
    let transactions = bench.starts_in_the_store();
    assert!(
        matches!(bench.runs.start(bench.order("fourth")), Err(refusal) if refusal.code == Code::Overloaded)
    );
    assert_eq!(bench.starts_in_the_store(), transactions, "it delayed no driver");
    // A repeated request for an accepted search gets its run.
    assert!(matches!(known("once", 1), Ok(StartResult::Repeated(id)) if id == waiting[0]));
    assert!(matches!(known("once", 2), Err(refusal) if refusal.code == Code::IdempotencyMismatch));
    assert!(matches!(known("another", 1), Err(refusal) if refusal.code == Code::Overloaded));
    for (run, position) in waiting.into_iter().zip(1..) {
        let stored = bench.stored(run);
        assert_eq!((stored.status, stored.queue_position), (Status::Running, Some(position)));
    }
    bench.web.open_gate();
    for run in waiting.into_iter().chain([first.id()]) {
        let ended = bench.wait_for(run);
        assert_eq!((ended.status, ended.queue_position), (Status::Completed, None));
    }
    eventually("the places are free again", || bench.runs.load() == (0, 0));
}
