//! Runs share the check workers.

use super::*;

const WORKERS: usize = 64;
/// The kinds of modules, one for each large run: only the workers are shared.
const LARGE: [&str; 3] = ["gateslow-a", "gateslow-b", "gateslow-c"];
const SMALL: &str = "ok-small";
/// The number of modules of a large run, and of the small one.
const MANY: usize = 200;
const FEW: usize = 10;

impl Bench {
    /// Starts a run, and waits until all its checks run or wait, so that nothing changes before the gate opens.
    fn hand_over(&self, kind: &str, count: usize) -> Arc<LiveRun> {
        let handed_over = || self.web.total() + self.runs.scheduler().waiting();
        let before = handed_over();
        let modules = (0..count).map(|number| format!("{kind}-{number:03}")).collect();
        let order =
            self.order_where("alice", |search| search.choice = Choice { modules, ..Choice::default() });
        let run = self.start_order(order);
        eventually("its checks are in the scheduler", || handed_over() >= before + count);
        run
    }
}

#[test]
fn a_small_run_gets_its_fair_share_of_workers_beside_three_large_ones() {
    let mut catalog = modules(SMALL, FEW);
    catalog.extend(LARGE.iter().flat_map(|kind| modules(kind, MANY)));
    let bench = bench(&catalog, RunsConfig { check_workers: WORKERS, ..config() });
    let large = LARGE.map(|kind| bench.hand_over(kind, MANY));
    eventually("every worker is at the gate", || bench.web.at_gate.load(Ordering::SeqCst) == WORKERS);
    let small = bench.hand_over(SMALL, FEW);
    bench.web.open_gate();
    assert_eq!(bench.finish(&small).status, Status::Completed);
    for run in &large {
        let summary = bench.finish(run);
        assert_eq!((summary.status, summary.total_results as usize), (Status::Completed, MANY));
    }
    // The order of the requests is compared, since the timing of our own threads does not count.
    let asked = bench.web.asked.lock();
    let last = asked.iter().rposition(|module| module.starts_with(SMALL)).unwrap();
    let before = last + 1 - WORKERS - FEW;
    // With a plain queue, the remaining 536 checks of the large runs would come first. With a fair share only some do
    // while the small run's ten take their turns.
    assert!(before <= 4 * WORKERS, "{before} checks went before the small run's last one");
    for kind in LARGE {
        assert!(asked[last..].iter().any(|module| module.starts_with(kind)), "{kind} was done before");
    }
}
