//! The threads for work that may take long: one for each stream, wait, large answer and slow body.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use super::config::STREAM_STACK_BYTES;

/// A bounded group that runs each task on a new thread.
pub(super) struct Threads {
    running: AtomicUsize,
    /// The maximum number of running threads.
    pub(super) max: usize,
}

/// A guard that counts one running thread until it is dropped.
struct Slot(Arc<Threads>);

impl Threads {
    pub(super) fn new(max: usize) -> Self {
        Self { running: AtomicUsize::new(0), max }
    }

    /// Returns the number of running threads.
    pub(super) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Runs `work` on `input` on a new thread. Returns `input` if the maximum and `extra` more are running, or the
    /// system starts no thread.
    pub(super) fn run<T: Send + 'static>(
        self: &Arc<Self>,
        extra: usize,
        input: T,
        work: impl FnOnce(T) + Send + 'static,
    ) -> Result<(), T> {
        let next = |count: usize| (count < self.max + extra).then_some(count + 1);
        if self.running.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_err() {
            return Err(input);
        }
        let slot = Slot(Arc::clone(self));
        // A failed spawn drops its closure, so the input is given to a thread that runs.
        let (give, given) = mpsc::channel();
        let body = move || {
            let _slot = slot;
            given.recv().map(work).unwrap_or_default();
        };
        let thread = thread::Builder::new().name("http-stream".to_owned()).stack_size(STREAM_STACK_BYTES);
        if let Err(error) = thread.spawn(body) {
            log::error!("cannot start a thread for a request: {error}");
            return Err(input);
        }
        give.send(input).map_err(|unsent| unsent.0)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_group_returns_the_input() {
        let threads = Arc::new(Threads::new(1));
        let (release, wait) = mpsc::channel::<()>();
        assert_eq!(threads.run(0, "a", move |_| wait.recv().unwrap()), Ok(()));
        assert_eq!(threads.run(0, "b", |_| unreachable!()), Err("b"));
        assert_eq!(threads.run(1, "c", |_| ()), Ok(()));
        release.send(()).unwrap();
        while threads.running() > 0 {
            thread::yield_now();
        }
        assert_eq!(threads.run(0, "d", |_| ()), Ok(()));
    }
}
