//! The threads of a server.

use std::sync::mpsc::{self, SyncSender};

use threadpool::ThreadPool;

use super::config::{STREAM_STACK_BYTES, ServerConfig, WORKER_STACK_BYTES};
use crate::base::count::{ActiveCount, Counter};
use crate::base::threads::start;

/// The number of threads that refuse requests.
const REFUSAL_THREADS: usize = 8;

/// The threads of a server, and the counts of what they did. The handler may need them before the server starts.
pub struct Threads {
    /// The request workers.
    pub(super) workers: ThreadPool,
    pub(super) max_queued: usize,
    /// The running threads for work that may take long: one for each stream, wait, large answer and slow body.
    long: ActiveCount,
    max_long: usize,
    /// The threads that refuse requests, since all workers may be busy and the receiving thread must not wait.
    pub(super) refusals: ThreadPool,
    /// The requests that were refused because a limit was reached.
    pub(super) refused: Counter,
    pub(super) rebuilds: Counter,
}

/// The load at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// The number of request workers that are running a handler.
    pub workers_busy: usize,
    /// The number of request workers.
    pub workers_max: usize,
    /// The number of requests that wait for a worker.
    pub requests_queued: usize,
    /// The maximum number of requests that may wait for a worker.
    pub requests_queued_max: usize,
    /// The number of running threads for waits, streams, large answers and slow bodies.
    pub streams_open: usize,
    /// The maximum number of these threads.
    pub streams_max: usize,
    /// The number of requests since the start that were answered with 503 because a limit was reached.
    pub refused_total: u64,
    /// The number of times since the start that the accept loop had ended and was replaced.
    pub rebuilds_total: u64,
}

impl Threads {
    pub(super) fn new(config: &ServerConfig, max_long: usize) -> Self {
        let pool = |name: &str, threads| {
            let pool = threadpool::Builder::new().thread_name(name.to_owned()).num_threads(threads);
            pool.thread_stack_size(WORKER_STACK_BYTES).build()
        };
        Self {
            workers: pool("http-request", config.request_workers),
            max_queued: config.request_queue,
            long: ActiveCount::default(),
            max_long,
            refusals: pool("http-refuse", REFUSAL_THREADS),
            refused: Counter::default(),
            rebuilds: Counter::default(),
        }
    }

    /// Returns the current load.
    pub fn load(&self) -> Load {
        Load {
            workers_busy: self.workers.active_count(),
            workers_max: self.workers.max_count(),
            requests_queued: self.workers.queued_count(),
            requests_queued_max: self.max_queued,
            streams_open: self.long.get() as usize,
            streams_max: self.max_long,
            refused_total: self.refused.get(),
            rebuilds_total: self.rebuilds.get(),
        }
    }

    /// Starts a thread for work that may take long. It waits until it gets its work, or the sender is dropped. Returns `None` if
    /// the maximum and `extra` more are running, or the system starts no thread.
    pub(super) fn start(&self, extra: usize) -> Option<SyncSender<Work>> {
        let slot = self.long.enter();
        if self.long.get() > (self.max_long + extra) as u64 {
            return None;
        }
        let (give, given) = mpsc::sync_channel::<Work>(1);
        let body = move || {
            let _slot = slot;
            // The channel takes half a KiB, and is gone before the work begins, which may last long.
            let work = given.into_iter().next();
            work.map(|work| work()).unwrap_or_default();
        };
        start("http-stream", STREAM_STACK_BYTES, body)
            .inspect_err(|error| log::error!("cannot start a thread for a request: {error}"))
            .ok()
            .map(|()| give)
    }
}

/// The work of one thread.
pub(super) type Work = Box<dyn FnOnce() + Send>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_starts_beyond_the_maximum() {
        let threads = Threads::new(&ServerConfig { request_workers: 1, ..ServerConfig::default() }, 1);
        let (release, wait) = mpsc::channel::<()>();
        threads.start(0).unwrap().send(Box::new(move || wait.recv().unwrap())).unwrap();
        assert!(threads.start(0).is_none());
        threads.start(1).unwrap().send(Box::new(|| ())).unwrap();
        release.send(()).unwrap();
        while threads.long.get() > 0 {
            std::thread::yield_now();
        }
        drop(threads.start(0).unwrap());
        while threads.long.get() > 0 {
            std::thread::yield_now();
        }
    }
}
