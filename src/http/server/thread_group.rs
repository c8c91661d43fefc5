//! Groups of threads for slow work: waits, streams, slow readers, slow bodies, refusals. Each group is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;

/// A group that runs each task on a new thread, up to a maximum number of threads.
pub(crate) struct ThreadGroup {
    name: &'static str,
    running: AtomicUsize,
    max: usize,
    stack_bytes: usize,
}

/// A guard that counts one running thread until it is dropped.
struct Slot(Arc<ThreadGroup>);

impl ThreadGroup {
    /// Creates a group whose threads all have that name.
    pub(super) fn new(name: &'static str, max: usize, stack_bytes: usize) -> Self {
        Self { name, running: AtomicUsize::new(0), max, stack_bytes }
    }

    /// Returns the number of running threads.
    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Returns the maximum number of running threads.
    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// Runs `work` on `input` on a new thread. Returns `input` if the maximum is reached or the system starts no
    /// thread.
    pub(super) fn run<T: Send + 'static>(
        self: &Arc<Self>,
        input: T,
        work: impl FnOnce(T) + Send + 'static,
    ) -> Result<(), T> {
        let Some(slot) = self.slot() else { return Err(input) };
        // A failed spawn drops its closure, so the input must be reachable from outside.
        let input = Arc::new(Mutex::new(Some(input)));
        let shared = Arc::clone(&input);
        let body = move || {
            let _slot = slot;
            let input = shared.lock().take();
            drop(shared);
            if let Some(input) = input {
                work(input);
            }
        };
        let thread = thread::Builder::new().name(self.name.to_owned()).stack_size(self.stack_bytes);
        match thread.spawn(body) {
            Ok(_) => Ok(()),
            Err(error) => {
                log::error!("cannot start a thread named {}: {error}", self.name);
                let input = input.lock().take();
                input.map_or(Ok(()), Err)
            }
        }
    }

    fn slot(self: &Arc<Self>) -> Option<Slot> {
        let next = |count: usize| (count < self.max).then_some(count + 1);
        self.running.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        Some(Slot(Arc::clone(self)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_full_group_returns_the_input() {
        let threads = Arc::new(ThreadGroup::new("test", 1, 64 * 1024));
        let (release, wait) = mpsc::channel::<()>();
        assert_eq!(threads.run("a", move |_| wait.recv().unwrap()), Ok(()));
        assert_eq!(threads.run("b", |_| unreachable!()), Err("b"));
        release.send(()).unwrap();
        while threads.running() > 0 {
            thread::yield_now();
        }
        assert_eq!(threads.run("c", |_| ()), Ok(()));
    }

    #[test]
    fn a_failed_thread_start_returns_the_input() {
        // No address space can contain such a stack.
        let threads = Arc::new(ThreadGroup::new("test", 1, usize::MAX / 4));
        assert_eq!(threads.run("a", |_| unreachable!()), Err("a"));
        assert_eq!(threads.running(), 0);
    }
}
