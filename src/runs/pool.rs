//! [`CheckPool`]: the check workers that all runs share. This is the only file that uses the `threadpool` crate.

use std::panic::{AssertUnwindSafe, catch_unwind};

use log::{error, warn};
use parking_lot::RwLock;
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
    wanted: usize,
    threads: RwLock<Threads>,
}

struct Threads {
    pool: ThreadPool,
    /// The number of threads, when all have been started.
    all: Option<usize>,
}

impl CheckPool {
    /// Creates a pool of `workers` threads, at least one, or of fewer if the system cannot start as many.
    pub fn new(workers: usize) -> Self {
        Self::of("check", workers)
    }

    /// Creates a pool like [`CheckPool::new`], with another name for its threads.
    pub fn of(name: &str, workers: usize) -> Self {
        let wanted = workers.max(1);
        Self { name: name.to_owned(), wanted, threads: RwLock::new(Threads::first(name, wanted)) }
    }

    /// Starts the remaining threads.
    fn start_all(&self) {
        let mut threads = self.threads.write();
        if threads.all.is_some() {
            return;
        }
        let first = threads.pool.max_count();
        let missing = self.wanted.saturating_sub(first);
        let mut workers = first;
        if missing > 0 {
            let startable = threads::startable(missing + RESERVE, WORKER_STACK_BYTES);
            workers += startable.saturating_sub(RESERVE).min(missing);
            threads.pool.set_num_threads(workers);
        }
        if workers < self.wanted {
            let Self { name, wanted, .. } = self;
            warn!("only {workers} of {wanted} {name} workers can be started: {}", threads::LIMITS);
        }
        threads.all = Some(workers);
    }

    /// Ends all threads but the first ones if no job runs or waits. The stacks and caches of hundreds of threads take
    /// tens of megabytes.
    pub fn shrink(&self) {
        let mut threads = self.threads.write();
        let pool = &threads.pool;
        let is_idle = pool.active_count() == 0 && pool.queued_count() == 0;
        if is_idle && pool.max_count() > FIRST_WORKERS {
            // The threads of a pool end when it is dropped.
            *threads = Threads::first(&self.name, self.wanted);
        }
    }

    /// Returns the number of threads that the pool has when all are needed.
    pub fn workers(&self) -> usize {
        self.threads.read().all.unwrap_or(self.wanted)
    }

    /// Returns the number of busy threads.
    pub fn busy(&self) -> usize {
        self.threads.read().pool.active_count()
    }

    /// Returns the number of jobs that wait for a thread.
    pub fn waiting(&self) -> usize {
        self.threads.read().pool.queued_count()
    }

    /// Returns the number of jobs that would start at once.
    pub fn free(&self) -> usize {
        let threads = self.threads.read();
        let pool = &threads.pool;
        let taken = pool.active_count() + pool.queued_count();
        threads.all.unwrap_or(self.wanted).saturating_sub(taken)
    }

    /// Submits a job. It starts when a thread is free. The pool is first in, first out.
    pub fn execute(&self, job: impl FnOnce() + Send + 'static) {
        let needs_all = {
            let threads = self.threads.read();
            threads.pool.execute(move || {
                // After a panic the crate would start another thread, and would abort the process if it cannot.
                if catch_unwind(AssertUnwindSafe(job)).is_err() {
                    error!("a check panicked");
                }
            });
            let pool = &threads.pool;
            threads.all.is_none() && pool.active_count() + pool.queued_count() > FIRST_WORKERS
        };
        if needs_all {
            self.start_all();
        }
    }
}

impl Threads {
    fn first(name: &str, wanted: usize) -> Self {
        // The crate panics if a thread cannot be started, so the threads that can be started are counted before.
        let first = threads::startable(wanted.min(FIRST_WORKERS), WORKER_STACK_BYTES).max(1);
        let pool = threadpool::Builder::new()
            .num_threads(first)
            .thread_name(name.to_owned())
            .thread_stack_size(WORKER_STACK_BYTES)
            .build();
        Self { pool, all: None }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn workers_are_started_when_the_first_ones_are_busy_and_ended_when_none_is() {
        let pool = CheckPool::new(FIRST_WORKERS + 8);
        let threads = || pool.threads.read().pool.max_count();
        assert_eq!((threads(), pool.workers()), (FIRST_WORKERS, FIRST_WORKERS + 8));
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
        assert_eq!(threads(), FIRST_WORKERS + 8);
        pool.shrink();
        assert_eq!(threads(), FIRST_WORKERS + 8, "jobs are running");
        drop(ends);
        while pool.busy() > 0 {
            std::thread::yield_now();
        }
        pool.shrink();
        assert_eq!((threads(), pool.workers()), (FIRST_WORKERS, FIRST_WORKERS + 8));
    }
}
