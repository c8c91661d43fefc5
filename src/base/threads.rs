//! Starts threads, keeps them from ending by a panic, and finds out how many the system lets this process start.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::{io, thread};

use log::error;

/// The stack of a thread that only waits.
const SMALL_STACK_BYTES: usize = 64 * 1024;

/// Starts a thread with that name and stack.
///
/// # Errors
/// Returns an error if the system starts no thread.
pub fn start(name: &str, stack_bytes: usize, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).stack_size(stack_bytes).spawn(work).map(drop)
}

/// Does a part of the work of a thread that must go on. A panic ends only this part, and is logged as that of `what`.
/// Returns whether the work came to its end.
pub fn guard(what: impl Display, work: impl FnOnce()) -> bool {
    let is_done = catch_unwind(AssertUnwindSafe(work)).is_ok();
    if !is_done {
        error!("{what} panicked");
    }
    is_done
}

/// Returns how many more threads with such a stack can be started, up to `most`.
///
/// They are started, since no single limit says how many can be: a user's processes (`ulimit -u`), a control group's
/// and the whole system's tasks, and memory all count.
pub fn startable(most: usize, stack_bytes: usize) -> usize {
    let start = |_| {
        let (end, ended) = mpsc::channel::<()>();
        let wait = move || {
            let _ = ended.recv();
        };
        Some((end, thread::Builder::new().stack_size(stack_bytes).spawn(wait).ok()?))
    };
    let started: Vec<_> = (0..most).map_while(start).collect();
    let count = started.len();
    // One after the other: threads that end together wait for each other to free their stacks.
    for (end, waiting) in started {
        drop(end);
        // It does not panic.
        let _ = waiting.join();
    }
    count
}

/// Checks that so many more threads can be started.
///
/// # Errors
/// When fewer can be: the message names the limits.
pub fn require(needed: usize) -> io::Result<()> {
    let startable = startable(needed, SMALL_STACK_BYTES);
    if startable >= needed {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "only {startable} more threads can be started, and at least {needed} are needed: {LIMITS}"
    )))
}

/// The advice of an error message about too few threads.
pub const LIMITS: &str = "raise the limit on processes (ulimit -u, LimitNPROC), on tasks (systemd's TasksMax) or on \
                          the container's process ids";
