//! A pool of threads with a bounded queue, for bodies and refusals. The one file that knows the `threadpool` crate.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use threadpool::ThreadPool;

/// A fixed number of threads and so many places in front of them.
pub(super) struct Workers {
    pool: ThreadPool,
    /// Jobs that wait or run.
    taken: Arc<AtomicUsize>,
    most: usize,
}

/// A place in the queue and then on a thread.
pub(super) struct Place {
    taken: Arc<AtomicUsize>,
}

impl Workers {
    /// Starts the threads.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub(super) fn start(name: &str, threads: usize, queue: usize, stack_bytes: usize) -> io::Result<Self> {
        let build = || {
            threadpool::Builder::new()
                .thread_name(name.to_owned())
                .num_threads(threads)
                .thread_stack_size(stack_bytes)
                .build()
        };
        // The crate has no other way to say that a thread could not be started.
        let pool = catch_unwind(build)
            .map_err(|_| io::Error::other(format!("can't start {threads} threads named {name}")))?;
        Ok(Self { pool, taken: Arc::default(), most: threads + queue })
    }

    /// A place, if there is one.
    pub(super) fn place(&self) -> Option<Place> {
        let room = |count: usize| (count < self.most).then_some(count + 1);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok()?;
        Some(Place { taken: Arc::clone(&self.taken) })
    }

    /// Runs the job on a thread; a panic ends the job, not the thread.
    pub(super) fn run(&self, place: Place, job: impl FnOnce() + Send + 'static) {
        self.pool.execute(move || {
            let _place = place;
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                log::error!("a job of the server panicked");
            }
        });
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn places_are_bounded_and_a_panic_costs_nothing() {
        let workers = Workers::start("test", 1, 1, 128 * 1024).unwrap();
        let (release, wait) = mpsc::channel::<()>();
        let (done, ended) = mpsc::channel::<()>();
        let first = workers.place().unwrap();
        workers.run(first, move || wait.recv().unwrap());
        let second = workers.place().unwrap();
        workers.run(second, move || {
            let _done = done;
            panic!("on purpose");
        });
        assert!(workers.place().is_none());
        release.send(()).unwrap();
        ended.recv().unwrap_err();
        let (done, ended) = mpsc::channel();
        let third = loop {
            match workers.place() {
                Some(place) => break place,
                None => std::thread::yield_now(),
            }
        };
        workers.run(third, move || done.send(()).unwrap());
        ended.recv().unwrap();
    }
}
