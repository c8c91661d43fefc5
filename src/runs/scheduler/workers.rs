//! The threads that run checks. They start as checks need them, and end when they have nothing to do.

use std::thread;
use std::time::{Duration, Instant};

use log::warn;
use parking_lot::Mutex;

use super::state::State;
use super::task::Class;
use crate::base::threads::{self, Reserve};

/// The stack size of a worker. Rules are not recursive, and TLS needs some tens of KiB. Untouched pages use only address
/// space.
const STACK_BYTES: usize = 512 * 1024;
/// The number of threads that are reserved for request workers, connections, drivers and the database.
const RESERVE: usize = 128;
/// The stack size of a reserved thread, which is that of most threads. The C library would keep many freed stacks of the
/// workers' size.
const RESERVE_STACK_BYTES: usize = 2 * 1024 * 1024;
/// The number of workers that are started one by one. The next check starts all others at once.
const FIRST_WORKERS: usize = 32;
/// The time after which workers that could not be started are tried again.
const RETRY: Duration = Duration::from_secs(10);

/// Starts one worker, or all that are missing if there are many already.
pub(super) fn start(state: &Mutex<State>, class: Class, work: impl Fn() + Clone + Send + 'static) {
    let (name, wanted, before, missing) = {
        let crew = &mut state.lock().crews[class as usize];
        let is_limited = crew.limited_until.is_some_and(|until| Instant::now() < until);
        let missing = crew.wanted.saturating_sub(crew.threads);
        let missing = if crew.threads < FIRST_WORKERS { missing.min(1) } else { missing };
        if is_limited || missing == 0 {
            return;
        }
        crew.limited_until = None;
        crew.threads += missing;
        (crew.name, crew.wanted, crew.threads - missing, missing)
    };
    // Dropped at the end, since its threads take some time to end.
    let reserve = (before >= FIRST_WORKERS).then(|| Reserve::start(RESERVE, RESERVE_STACK_BYTES));
    let may_start = reserve.as_ref().is_none_or(|reserve| reserve.count() == RESERVE);
    let start = |_: &usize| {
        let thread = thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
        may_start && thread.spawn(work.clone()).is_ok()
    };
    let started = (0..missing).take_while(start).count();
    if started < missing {
        let crew = &mut state.lock().crews[class as usize];
        crew.threads -= missing - started;
        crew.limited_until = Some(Instant::now() + RETRY);
        let workers = before + started;
        warn!("only {workers} of {wanted} {name} workers can be started: {}", threads::LIMITS);
    }
}
