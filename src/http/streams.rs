//! Threads of their own for what takes long: waits, streams, slow readers. Bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;

/// How many such threads there are and may be.
pub(super) struct Streams {
    open: AtomicUsize,
    most: usize,
    stack_bytes: usize,
}

struct Place(Arc<Streams>);

impl Streams {
    pub(super) fn new(most: usize, stack_bytes: usize) -> Self {
        Self { open: AtomicUsize::new(0), most, stack_bytes }
    }

    /// Threads there are.
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Threads there may be.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Runs `work` on `burden` on a thread of its own. Gives the burden back where there is no place or no
    /// thread to be had.
    pub(super) fn run<T: Send + 'static>(
        self: &Arc<Self>,
        burden: T,
        work: impl FnOnce(T) + Send + 'static,
    ) -> Result<(), T> {
        let Some(place) = self.place() else { return Err(burden) };
        // A failed spawn drops its closure: the burden must be reachable from outside.
        let burden = Arc::new(Mutex::new(Some(burden)));
        let carried = Arc::clone(&burden);
        let body = move || {
            let _place = place;
            let burden = carried.lock().take();
            drop(carried);
            if let Some(burden) = burden {
                work(burden);
            }
        };
        let thread = thread::Builder::new().name("http-stream".to_owned()).stack_size(self.stack_bytes);
        match thread.spawn(body) {
            Ok(_) => Ok(()),
            Err(error) => {
                log::error!("can't start a thread for a stream: {error}");
                let burden = burden.lock().take();
                burden.map_or(Ok(()), Err)
            }
        }
    }

    fn place(self: &Arc<Self>) -> Option<Place> {
        let room = |count: usize| (count < self.most).then_some(count + 1);
        self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok()?;
        Some(Place(Arc::clone(self)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_burden_comes_back_when_there_is_no_place() {
        let streams = Arc::new(Streams::new(1, 64 * 1024));
        let (release, wait) = mpsc::channel::<()>();
        assert_eq!(streams.run("a", move |_| wait.recv().unwrap()), Ok(()));
        assert_eq!(streams.run("b", |_| unreachable!()), Err("b"));
        release.send(()).unwrap();
        while streams.open() > 0 {
            thread::yield_now();
        }
        assert_eq!(streams.run("c", |_| ()), Ok(()));
    }

    #[test]
    fn the_burden_comes_back_when_there_is_no_thread() {
        // No address space holds such a stack.
        let streams = Arc::new(Streams::new(1, usize::MAX / 4));
        assert_eq!(streams.run("a", |_| unreachable!()), Err("a"));
        assert_eq!(streams.open(), 0);
    }
}
