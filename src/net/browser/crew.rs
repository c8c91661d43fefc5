//! Threads that open and end sessions. Each takes as long as a browser does; whoever ends the service waits for them,
//! within a deadline, so that no browser of somebody else's machine is left behind.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// Room for a command of WebDriver.
const STACK_BYTES: usize = 256 * 1024;

/// See the file's head.
#[derive(Default)]
pub(super) struct Crew {
    at_work: Mutex<usize>,
    left: Condvar,
}

impl Crew {
    /// Has `work` done on a thread of its own.
    ///
    /// # Errors
    /// There is none; what `work` holds is dropped.
    pub(super) fn start(
        self: &Arc<Self>,
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        *self.at_work.lock() += 1;
        let shift = Shift(Arc::clone(self));
        let working = move || {
            let _shift = shift;
            work();
        };
        thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(working).map(drop)
    }

    /// Waits until all of it is done, at the latest until then.
    pub(super) fn wait(&self, until: Instant) {
        let mut at_work = self.at_work.lock();
        while *at_work > 0 && !self.left.wait_until(&mut at_work, until).timed_out() {}
    }
}

/// One thread's work, for as long as it lasts.
struct Shift(Arc<Crew>);

impl Drop for Shift {
    fn drop(&mut self) {
        *self.0.at_work.lock() -= 1;
        self.0.left.notify_all();
    }
}
