//! Waiting for conditions, so that no test sleeps for a fixed time.

use std::fmt::Display;
use std::time::{Duration, Instant};

use sightline::runs::live::LiveRun;

use super::server::PATIENCE;

/// Pause between two checks: short at first, longer later to leave time for others.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Waits until a condition is true.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    awaited(what, || if is_so() { Ok(()) } else { Err("it was not so") });
}

/// Waits until `look` returns a value. A failing test shows the last error.
#[track_caller]
pub(crate) fn awaited<T, E: Display>(what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let (began, mut pause, mut looks) = (Instant::now(), FIRST_PAUSE, 0);
    loop {
        let seen = match look() {
            Ok(found) => return found,
            Err(seen) => seen,
        };
        looks += 1;
        let waited = began.elapsed();
        assert!(waited < PATIENCE, "never: {what} ({looks} looks in {waited:.0?}); at last: {seen}");
        std::thread::sleep(pause);
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

/// Runs `work` on that many threads, which start at the same moment. Returns their results.
pub(crate) fn race<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (work, barrier) = (&work, &std::sync::Barrier::new(threads));
    std::thread::scope(|scope| {
        let runners: Vec<_> = (0..threads)
            .map(|index| {
                scope.spawn(move || {
                    barrier.wait();
                    work(index)
                })
            })
            .collect();
        runners.into_iter().map(|runner| runner.join().unwrap()).collect()
    })
}

/// Waits until a run has ended, at most until the given moment. Returns whether it has: a run that was stopped has not.
pub(crate) fn has_ended(run: &LiveRun, until: Instant) -> bool {
    loop {
        let (seen, has_ended) = (run.version(), run.summary().status.is_terminal());
        if has_ended || run.stopped().is_some() || Instant::now() >= until {
            return has_ended;
        }
        run.wait_for_change(seen, until);
    }
}
