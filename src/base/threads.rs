//! The threads that the system lets this process start.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// The stack of a thread that only waits.
const SMALL_STACK_BYTES: usize = 64 * 1024;

/// Threads that wait until this value is dropped. Others can be started in their place afterwards.
///
/// They are started, since no single limit says how many can be: a user's processes (`ulimit -u`), a control group's
/// and the whole system's tasks, and memory all count.
pub struct Reserve {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Reserve {
    /// Starts `most` threads with such a stack, or as many as can be started.
    pub fn start(most: usize, stack_bytes: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let start = |_| {
            let is_over = Arc::clone(&is_over);
            let wait = move || {
                while !is_over.load(Ordering::Acquire) {
                    thread::park();
                }
            };
            thread::Builder::new().stack_size(stack_bytes).spawn(wait).ok()
        };
        let threads = (0..most).map_while(start).collect();
        Self { is_over, threads }
    }

    /// Returns the number of threads that were started.
    pub fn count(&self) -> usize {
        self.threads.len()
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // One after the other: threads that end together wait for each other to free their stacks.
        for waiting in self.threads.drain(..) {
            waiting.thread().unpark();
            // It does not panic.
            let _ = waiting.join();
        }
    }
}

/// Checks that so many more threads can be started.
///
/// # Errors
/// When fewer can be: the message names the limits.
pub fn require(needed: usize) -> io::Result<()> {
    let startable = Reserve::start(needed, SMALL_STACK_BYTES).count();
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
