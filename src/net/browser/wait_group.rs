//! Waits for the threads that open and end sessions. When the service ends, it waits for them until a deadline, so
//! that no browser is left running on another machine.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// A stack size that suffices for a WebDriver command.
const STACK_BYTES: usize = 256 * 1024;

/// A group of threads that can be waited for.
#[derive(Default)]
pub(super) struct WaitGroup {
    running: Mutex<usize>,
    ended: Condvar,
}

impl WaitGroup {
    /// Runs `work` on a new thread.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started. `work` is dropped then.
    pub(super) fn start(
        self: &Arc<Self>,
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        *self.running.lock() += 1;
        let member = Member(Arc::clone(self));
        let body = move || {
            let _member = member;
            work();
        };
        thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(body).map(drop)
    }

    /// Waits until all threads have ended, at most until `until`.
    pub(super) fn wait(&self, until: Instant) {
        let mut running = self.running.lock();
        while *running > 0 && !self.ended.wait_until(&mut running, until).timed_out() {}
    }
}

/// A guard that counts one running thread until it is dropped.
struct Member(Arc<WaitGroup>);

impl Drop for Member {
    fn drop(&mut self) {
        *self.0.running.lock() -= 1;
        self.0.ended.notify_all();
    }
}
