//! [`CheckPool`]: the check workers that all runs share. This is the only file that uses the `threadpool` crate.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use log::{error, warn};
use threadpool::ThreadPool;

use crate::base::threads;

/// The stack size of a check worker. Rules are not recursive, and TLS needs some tens of KiB. Untouched pages use
/// only address space.
const WORKER_STACK_BYTES: usize = 512 * 1024;
/// The number of threads that are reserved for request workers, connections, drivers and the database.
const RESERVE: usize = 128;
/// The number of workers that a pool starts with. The others are started when they are needed, because hundreds of
/// threads take longer to start than a search with a few modules.
const FIRST_WORKERS: usize = 32;

/// A bounded number of threads that run checks.
pub struct CheckPool {
    name: String,
    threads: ThreadPool,
    wanted: usize,
    /// The number of threads, when all have been started.
    all: OnceLock<usize>,
}

impl CheckPool {
    /// Creates a pool of `workers` threads, at least one, or of fewer if the system cannot start as many.
    pub fn new(workers: usize) -> Self {
        Self::of("check", workers)
    }

    /// Creates a pool like [`CheckPool::new`], with another name for its threads.
    pub fn of(name: &str, workers: usize) -> Self {
        let wanted = workers.max(1);
        // The crate panics if a thread cannot be started, so the pool first counts the threads that can be started.
        let first = threads::startable(wanted.min(FIRST_WORKERS), WORKER_STACK_BYTES).max(1);
        let threads = threadpool::Builder::new()
            .num_threads(first)
            .thread_name(name.to_owned())
            .thread_stack_size(WORKER_STACK_BYTES)
            .build();
        Self { name: name.to_owned(), threads, wanted, all: OnceLock::new() }
    }

    /// Starts the remaining threads. Returns the number of all threads.
    fn start_all(&self) -> usize {
        let first = self.threads.max_count();
        let missing = self.wanted.saturating_sub(first);
        if missing == 0 {
            return first;
        }
        let startable = threads::startable(missing + RESERVE, WORKER_STACK_BYTES);
        let workers = first + startable.saturating_sub(RESERVE).min(missing);
        if workers < self.wanted {
            let Self { name, wanted, .. } = self;
            warn!("only {workers} of {wanted} {name} workers can be started: {}", threads::LIMITS);
        }
        self.threads.clone().set_num_threads(workers);
        workers
    }

    /// Returns the number of threads that the pool has when all are needed.
    pub fn workers(&self) -> usize {
        self.all.get().copied().unwrap_or(self.wanted)
    }

    /// Returns the number of busy threads.
    pub fn busy(&self) -> usize {
        self.threads.active_count()
    }

    /// Returns the number of jobs that wait for a thread.
    pub fn waiting(&self) -> usize {
        self.threads.queued_count()
    }

    /// Submits a job. It starts when a thread is free. The pool is first in, first out.
    pub fn execute(&self, job: impl FnOnce() + Send + 'static) {
        self.threads.execute(move || {
            // After a panic the crate would start another thread, and would abort the process if it cannot.
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                error!("a check panicked");
            }
        });
        if self.busy() + self.waiting() > FIRST_WORKERS {
            self.all.get_or_init(|| self.start_all());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn workers_are_started_when_the_first_ones_are_busy() {
        let pool = CheckPool::new(FIRST_WORKERS + 8);
        assert_eq!((pool.threads.max_count(), pool.workers()), (FIRST_WORKERS, FIRST_WORKERS + 8));
        let (arrive, arrived) = mpsc::channel();
        let ends: Vec<mpsc::Sender<()>> = (0..FIRST_WORKERS + 8)
            .map(|_| {
                let (end, ended) = mpsc::channel();
                let arrive = arrive.clone();
                pool.execute(move || {
                    arrive.send(()).unwrap();
                    let _ = ended.recv();
                });
                end
            })
            .collect();
        // Each job holds its thread, so that all of them run at once.
        ends.iter().for_each(|_| arrived.recv().unwrap());
        assert_eq!(pool.threads.max_count(), FIRST_WORKERS + 8);
    }
}
