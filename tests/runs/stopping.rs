//! Stopping runs before their end, and asking again what gave no answer.

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
