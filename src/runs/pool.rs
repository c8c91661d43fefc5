//! The check workers that all runs share: the one place that knows the `threadpool` crate here.

use threadpool::ThreadPool;

/// Stack of a check worker. Rules recurse nowhere and TLS needs some tens of KiB; untouched pages cost
/// address space alone.
const WORKER_STACK_BYTES: usize = 512 * 1024;

/// A bounded number of threads that run checks.
pub struct CheckPool {
    threads: ThreadPool,
    workers: usize,
}

impl CheckPool {
    /// Starts `workers` threads (at least one).
    pub fn new(workers: usize) -> Self {
        Self::of("check", workers)
    }

    /// The same with another name for the threads.
    pub fn of(name: &str, workers: usize) -> Self {
        let workers = workers.max(1);
        let threads = threadpool::Builder::new()
            .num_threads(workers)
            .thread_name(name.to_owned())
            .thread_stack_size(WORKER_STACK_BYTES)
            .build();
        Self { threads, workers }
    }

    /// How many threads there are.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// How many of them work now.
    pub fn busy(&self) -> usize {
        self.threads.active_count()
    }

    /// How many jobs wait for one.
    pub fn waiting(&self) -> usize {
        self.threads.queued_count()
    }

    /// Hands a job over; it starts when a thread is free, in the order of the calls.
    pub fn execute(&self, job: impl FnOnce() + Send + 'static) {
        self.threads.execute(job);
    }
}
