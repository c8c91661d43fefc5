//! Stopping runs before their end, and asking again what gave no answer.

use sightline::model::follow::{Class, FollowOrder};
use sightline::runs::retry::{NoRetry, Retry};

use super::*;

impl Bench {
    fn stop(&self, run: RunId) {
        assert!(self.runs.stop(run, self.account, &Origin::CLI).unwrap());
    }

    /// Returns the run in the store, whoever drives it.
    fn in_store(&self, run: RunId) -> RunSummary {
        self.store.run(run, self.account).unwrap().unwrap()
    }

    /// Starts the retry of a run, and waits for its end.
    fn retry(&self, run: RunId) -> Result<RunSummary, NoRetry> {
        let (summary, reports) = (self.in_store(run), self.store.modules(run).unwrap());
        let retry = Retry::of(&summary, &reports, &self.runs.catalog())?;
        let Ok(StartResult::Started(Found::Live(run))) =
            retry.start(&self.runs, self.order("x").charge, None, Origin::CLI)
        else {
            panic!("not started")
        };
        Ok(self.finish(&run))
    }
}

#[test]
fn a_run_that_is_stopped_before_any_conclusion_fails_and_is_refunded() {
    let bench = bench(&modules("gate", 5), config());
    let run = bench.start("alice");
    eventually("a module waits", || bench.web.at_gate.load(Ordering::SeqCst) > 0);
    bench.stop(run.id());
    let summary = bench.finish(&run);
    assert_eq!((summary.status, summary.error.unwrap().code), (Status::Failed, "stopped".to_owned()));
    eventually("its end is stored", || bench.in_store(run.id()).status.is_terminal());
    assert_eq!(bench.in_store(run.id()).credits_charged, 0);
    bench.web.open_gate();
    let retry = bench.retry(run.id()).unwrap();
    assert_eq!((retry.credits_charged, retry.retry_of, retry.total_results), (1, Some(run.id()), 5));
}

#[test]
fn a_waiting_run_is_stopped_at_once() {
    let bench = bench(&modules("gate", 3), RunsConfig { max_runs: 1, ..config() });
    let driven = bench.start("alice");
    let Ok(StartResult::Started(Found::Stored(waiting))) = bench.runs.start(bench.order("bob")) else {
        panic!("not queued")
    };
    bench.stop(waiting.id);
    let stopped = bench.in_store(waiting.id);
    assert_eq!((stopped.status, stopped.credits_charged), (Status::Failed, 0));
    assert_eq!(stopped.coverage.count_of(Outcome::Skipped), 3);
    assert_eq!((stopped.progress.modules_completed, stopped.queue_position), (3, None));
    assert!(bench.store.modules(waiting.id).unwrap().iter().all(|it| it.reason == Some(Reason::Stopped)));
    assert!(driven.stopped_at().is_none());
    bench.web.open_gate();
    bench.finish(&driven);
}

#[test]
fn a_run_is_stopped_through_another_process() {
    let catalog = [modules("ok", 1), modules("gate", 5)].concat();
    let bench = bench(&catalog, config());
    let run = bench.start("alice");
    eventually("it has a result", || run.summary().total_results == 1);
    let other = bench.another_process(&bench.web);
    assert!(other.stop(run.id(), bench.account, &Origin::CLI).unwrap());
    // SQLite sends no notification. The next checkpoint tells the driver.
    let summary = bench.finish(&run);
    assert_eq!(summary.status, Status::Completed);
    assert_eq!(summary.stopped_at, bench.in_store(run.id()).stopped_at);
    bench.web.open_gate();
}

#[test]
fn a_root_stops_its_family() {
    let bench = bench(&[modules("ok", 1), modules("gate", 3)].concat(), config());
    let follow = FollowOrder { depth: 1, max_searches: 5, links: Class::Stated, choice: Choice::default() };
    let root = bench.start_order(bench.order_where("alice", |search| search.follow = Some(Arc::new(follow))));
    eventually("it has a result", || root.summary().total_results == 1);
    let is_running = || bench.state(root.id()).is_running();
    assert!(is_running());
    bench.stop(root.id());
    assert_eq!(bench.finish(&root).status, Status::Completed);
    eventually("no lead is followed any more", || !is_running());
    bench.web.open_gate();
}

#[test]
fn a_retry_asks_only_what_gave_no_answer() {
    let catalog = [modules("ok", 1), modules("miss", 1), modules("gate", 3)].concat();
    let bench = bench(&catalog, config());
    let options = RunOptions { time_budget: TimeBudget::from_secs(1), ..RunOptions::default() };
    let order = bench.order_where("alice", |search| search.options = options);
    let run = bench.start_order(order);
    assert_eq!(bench.retry(run.id()), Err(NoRetry::Running));
    let first = bench.finish(&run);
    assert_eq!((first.status, first.coverage.conclusive, bench.used()), (Status::Completed, 2, 1));
    eventually("its end is stored", || bench.in_store(run.id()).status.is_terminal());

    bench.web.open_gate();
    let again = bench.retry(run.id()).unwrap();
    assert_eq!((again.credits_charged, again.total_results, bench.used()), (1, 3, 2));
    assert_eq!((again.progress.modules_total, again.options.time_budget), (3, TimeBudget::from_secs(1)));
    eventually("its end is stored", || bench.in_store(again.id).status.is_terminal());
    assert_eq!(bench.retry(again.id), Err(NoRetry::NothingLeft));
}
