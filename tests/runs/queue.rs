//! Runs that wait for a driver: their order, deletion and suppression.

use super::*;

/// Returns the nth account's order for one module, which identifies the run: the web records the modules in the order
/// of the requests.
fn order_of(bench: &Bench, account: AccountId, module: usize) -> StartRequest {
    let choice = Choice { modules: vec![format!("gate-{module:03}")], ..Choice::default() };
    StartRequest { account, ..bench.order_where("alice", |search| search.choice = choice) }
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
            Ok(StartResult::Started(Found::Stored(run))) => *run,
            _ => panic!("not queued"),
        }
    }

    /// Returns the number of transactions that start a run, refused ones included.
    fn starts_in_the_store(&self) -> u64 {
        let mut operations = self.store.operations().into_iter();
        operations.find(|(name, _)| *name == "start").map_or(0, |(_, start)| start.durations.snapshot().count)
    }

    /// Returns the numbers of the modules in the order of the requests.
    fn asked_in_order(&self) -> Vec<usize> {
        self.web.asked.lock().iter().map(|module| module["gate-".len()..].parse().unwrap()).collect()
    }
}

#[test]
fn accounts_take_turns() {
    let bench = busy_bench(12);
    let (second, third) = (new_account(&bench.store), new_account(&bench.store));
    let mut runs: Vec<RunSummary> = (1..=8).map(|module| bench.queue(bench.account, module)).collect();
    runs.extend(
        [(second, 9), (second, 10), (third, 11)].map(|(account, module)| bench.queue(account, module)),
    );
    let in_turn = [1, 9, 11, 2, 10, 3, 4, 5, 6, 7, 8];
    assert_eq!(bench.store.queue_length(false, None).unwrap().all, in_turn.len());
    for (module, position) in in_turn.into_iter().zip(1..) {
        let run = &runs[module - 1];
        let Some(Found::Stored(stored)) = bench.runs.reader.find(run.id, run.account).unwrap() else {
            panic!("gone")
        };
        assert_eq!(stored.queue_position, Some(position), "module {module}");
    }
    bench.web.open_gate();
    // Between two runs none is driven and none may wait.
    eventually("all are asked", || bench.asked_in_order().len() == 12);
    assert_eq!(bench.asked_in_order()[1..], in_turn);
}

#[test]
fn an_account_that_comes_back_does_not_overtake_waiting_ones() {
    let bench = busy_bench(8);
    let other = new_account(&bench.store);
    for module in 1..=3 {
        bench.queue(bench.account, module);
    }
    bench.queue(other, 4);
    let me = InstanceId(uuid::Uuid::new_v4());
    let take = || bench.store.take_over(&claim(me, false, 1)).unwrap().remove(0).modules.remove(0);
    assert_eq!([take(), take()], ["gate-001", "gate-004"]);
    // The other account comes back at once and takes its turn, without precedence over the waiting ones.
    bench.queue(other, 5);
    assert_eq!(take(), "gate-002");
    bench.queue(other, 6);
    assert_eq!([take(), take(), take()], ["gate-005", "gate-003", "gate-006"]);
    bench.web.open_gate();
}

#[test]
fn a_full_queue_accepts_the_first_run_of_an_account() {
    let bench = bench(&modules("gate", 4), RunsConfig { max_runs: 1, max_waiting: 2, ..config() });
    bench.start("first");
    let order = |account| bench.runs.start(order_of(&bench, account, 1));
    for _ in 0..2 {
        assert!(matches!(order(bench.account), Ok(StartResult::Started(Found::Stored(_)))));
    }
    assert!(matches!(order(bench.account), Err(StartError::Refused(Refused::Overloaded))));
    let other = new_account(&bench.store);
    assert!(matches!(order(other), Ok(StartResult::Started(Found::Stored(_)))));
    assert!(matches!(order(other), Err(StartError::Refused(Refused::Overloaded))));
    assert_eq!(bench.store.queue_length(false, None).unwrap().all, 3);
    bench.web.open_gate();
    eventually("all are done", || bench.runs.load() == (0, 0));
}

#[test]
fn an_idle_instance_drives_the_waiting_runs_of_a_busy_one() {
    let bench = busy_bench(3);
    let run = bench.queue(bench.account, 1);
    let web = Arc::new(PlayedWeb::default());
    let idle = bench.another_process(&web);
    idle.run_due_tasks();
    eventually("it is asked there", || web.asked("gate-001") == 1);
    let resumed = idle.reader.live(run.id).expect("it is driven there");
    assert_eq!((resumed.lease().epoch, idle.figures().taken_over.get()), (0, 0), "it was not interrupted");
    // A reader at the busy process gets the results.
    let found = bench.runs.reader.find(run.id, bench.account).unwrap().unwrap();
    let mut follower = bench.runs.reader.follow(found, 0);
    web.open_gate();
    let mut text = String::new();
    loop {
        match follower.next(Instant::now() + PATIENCE).unwrap() {
            Next::Frames(frames) => {
                frames.iter().for_each(|frame| text.push_str(&String::from_utf8_lossy(frame)));
            }
            Next::End => break,
            step => panic!("{step:?}"),
        }
    }
    assert!(text.contains("event: result") && text.contains("event: done"), "{text}");
    bench.web.open_gate();
    assert_eq!(bench.web.asked("gate-001"), 0);
}

#[test]
fn a_busy_process_takes_over_an_interrupted_run_before_those_that_wait() {
    for waiting in [0, 2] {
        let bench = busy_bench(4);
        // The process that took this run has died, and its lease has expired.
        let interrupted = bench.queue(bench.account, 3);
        let dead = InstanceId(uuid::Uuid::new_v4());
        let claim = Claim { holds: Duration::ZERO, ..claim(dead, false, 1) };
        assert_eq!(bench.store.take_over(&claim).unwrap().len(), 1);
        for module in 1..=waiting {
            bench.queue(bench.account, module);
        }
        // No driver is free, so that the search finds nobody who could drive it.
        bench.runs.run_due_tasks();
        assert!(bench.runs.reader.live(interrupted.id).is_none());
        bench.web.open_gate();
        eventually("all are asked", || bench.asked_in_order().len() == waiting + 2);
        let in_order = [0, 3].into_iter().chain(1..=waiting).collect::<Vec<_>>();
        assert_eq!(bench.asked_in_order(), in_order);
        assert_eq!(bench.wait_for(interrupted.id).status, Status::Completed);
    }
}

#[test]
fn one_search_for_interrupted_runs_finds_all() {
    let bench = bench(&modules("gate", 20), config());
    let queued = (0..20).map(|module| {
        let Ok(StartResult::Started(Found::Stored(run))) =
            bench.runs.start_later(order_of(&bench, bench.account, module))
        else {
            panic!("not queued")
        };
        run.id
    });
    let queued: Vec<RunId> = queued.collect();
    let dead = InstanceId(uuid::Uuid::new_v4());
    let claim = Claim { holds: Duration::ZERO, ..claim(dead, false, 20) };
    assert_eq!(bench.store.take_over(&claim).unwrap().len(), 20);
    bench.runs.run_due_tasks();
    let driven = queued.iter().filter(|run| bench.runs.reader.live(**run).is_some()).count();
    assert_eq!(driven, 20);
    bench.web.open_gate();
    queued.into_iter().for_each(|run| assert_eq!(bench.wait_for(run).status, Status::Completed));
}

#[test]
fn a_waiting_run_can_be_deleted_and_fails_if_it_is_suppressed_meanwhile() {
    let bench = busy_bench(4);
    let (deleted, suppressed, last) =
        (bench.queue(bench.account, 1), bench.queue(bench.account, 2), bench.queue(bench.account, 3));
    assert!(bench.runs.delete(deleted.id, bench.account, &Origin::CLI).unwrap());
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
fn waiting_runs_survive_a_shutdown_and_are_driven_by_the_next_process() {
    let bench = busy_bench(2);
    let run = bench.queue(bench.account, 1);
    bench.runs.shut_down(Instant::now() + PATIENCE);
    bench.web.open_gate();
    assert_eq!(bench.stored(run.id).queue_position, Some(1));
    let web = Arc::new(PlayedWeb::default());
    web.open_gate();
    let next = bench.another_process(&web);
    next.run_due_tasks();
    let found = next.reader.find(run.id, bench.account).unwrap().unwrap();
    let found = next.reader.wait_for_end(found, Instant::now() + PATIENCE).unwrap().unwrap();
    assert_eq!(found.status(), Status::Completed);
}

#[test]
fn the_deadline_and_the_time_budget_of_a_run_count_from_its_first_start_over_all_drivers() {
    let none = RunOptions::default();
    let budget = RunOptions { time_budget: TimeBudget::from_secs(6), ..none };
    for (run_timeout, options, reason) in [(6, none, "run_deadline"), (60, budget, "time_budget")] {
        its_time_counts_from_its_first_start(Duration::from_secs(run_timeout), options, reason);
    }
}

fn its_time_counts_from_its_first_start(run_timeout: Duration, options: RunOptions, reason: &str) {
    let limits = Limits { run_timeout, lease: Duration::ZERO, ..config().limits };
    let first = bench(&[modules("gate", 3), modules("ok", 1)].concat(), RunsConfig { limits, ..config() });
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
        process = first.another_process_on(RunsConfig { limits, ..config() });
        process.run_due_tasks();
        if let Some(resumed) = process.reader.live(run.id()) {
            resumed.wait_for_end(Instant::now() + Duration::from_millis(500));
        }
    };
    assert_eq!(
        (ended.status, ended.coverage.count_of(Outcome::Hit), ended.coverage.count_of(Outcome::Timeout)),
        (Status::Completed, 1, 3)
    );
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
        let idempotency = Idempotency {
            key: key.into(),
            body_hash: [body; 32],
            valid_since: "2000-01-01T00:00:00Z".parse().unwrap(),
        };
        bench.runs.start(StartRequest { idempotency: Some(idempotency), ..bench.order("second") })
    };
    let Ok(StartResult::Started(Found::Stored(second))) = known("once", 1) else { panic!("not queued") };
    let Ok(StartResult::Started(Found::Stored(third))) = bench.runs.start(bench.order("third")) else {
        panic!("not queued")
    };
    let waiting = [second.id, third.id];
    assert_eq!(bench.runs.load(), (1, 2));
    let transactions = bench.starts_in_the_store();
    assert!(matches!(bench.runs.start(bench.order("fourth")), Err(StartError::Refused(Refused::Overloaded))));
    assert_eq!(bench.starts_in_the_store(), transactions, "it delayed no driver");
    // A repeated request for an accepted search gets its run.
    assert!(matches!(known("once", 1), Ok(StartResult::Repeated(id)) if id == waiting[0]));
    assert!(matches!(known("once", 2), Err(StartError::Refused(Refused::Mismatch))));
    assert!(matches!(known("another", 1), Err(StartError::Refused(Refused::Overloaded))));
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
