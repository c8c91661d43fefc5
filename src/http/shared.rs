//! What all threads of a server share.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use threadpool::ThreadPool;

use super::config::{ServerConfig, WORKER_STACK_BYTES};
use super::handler::Handler;
use super::threads::Threads;

/// The threads of a server, and the counts of what they did.
pub(super) struct Lanes {
    /// The request workers.
    pub(super) workers: ThreadPool,
    pub(super) max_queued: usize,
    /// The threads for streams, waits, large answers and slow bodies.
    pub(super) threads: Arc<Threads>,
    /// The threads that refuse requests, since all workers may be busy and the receiving thread must not wait.
    pub(super) refusals: ThreadPool,
    pub(super) refused: AtomicU64,
    pub(super) rebuilds: AtomicU64,
}

/// The number of threads that refuse requests.
const REFUSAL_THREADS: usize = 8;

impl Lanes {
    pub(super) fn new(config: &ServerConfig, max_streams: usize) -> Self {
        let pool = |name: &str, threads| {
            let pool = threadpool::Builder::new().thread_name(name.to_owned()).num_threads(threads);
            pool.thread_stack_size(WORKER_STACK_BYTES).build()
        };
        Self {
            workers: pool("http-request", config.request_workers),
            max_queued: config.request_queue,
            threads: Arc::new(Threads::new(max_streams)),
            refusals: pool("http-refuse", REFUSAL_THREADS),
            refused: AtomicU64::new(0),
            rebuilds: AtomicU64::new(0),
        }
    }
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

/// A reader of the load. It can be given to the handler before the server starts.
#[derive(Clone)]
pub struct LoadReader(pub(super) Arc<Lanes>);

impl LoadReader {
    /// Returns the current load.
    pub fn load(&self) -> Load {
        let lanes = &self.0;
        Load {
            workers_busy: lanes.workers.active_count(),
            workers_max: lanes.workers.max_count(),
            requests_queued: lanes.workers.queued_count(),
            requests_queued_max: lanes.max_queued,
            streams_open: lanes.threads.running(),
            streams_max: lanes.threads.max,
            refused_total: lanes.refused.load(Ordering::Relaxed),
            rebuilds_total: lanes.rebuilds.load(Ordering::Relaxed),
        }
    }
}

/// The state that all threads of a server share.
pub(super) struct Shared {
    pub(super) config: ServerConfig,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) lanes: Arc<Lanes>,
    /// The number of requests that are not answered yet.
    pub(super) in_flight: AtomicUsize,
    pub(super) severed: Severed,
    /// Whether the server has stopped taking requests.
    pub(super) is_draining: AtomicBool,
}

impl Shared {
    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// Counts a request that is refused because a limit is reached.
    pub(super) fn count_refused(&self) {
        self.lanes.refused.fetch_add(1, Ordering::Relaxed);
    }
}

/// The connections of which no further request is served, because it is not known where their next request begins, or
/// because a stream on them broke off.
///
/// Fault of tiny_http: a connection cannot be closed, and after a head that can be read in two ways tiny_http reads on.
/// Cure: its further requests are dropped unanswered for a while. What is on its way comes within that time, and a proxy
/// ends the connection because the answer asks for it. Test: `hostile_clients_get_their_answers`.
#[derive(Default)]
pub(super) struct Severed(Mutex<HashMap<SocketAddr, Instant>>);

/// The time for which requests of a severed connection are dropped. It is short, since another connection may have the same
/// port soon.
const SEVERED_FOR: Duration = Duration::from_secs(5);

impl Severed {
    /// Severs the connection of this peer, on which nothing is read for `pause` at most.
    pub(super) fn add(&self, peer: SocketAddr, pause: Duration) {
        let mut peers = self.0.lock();
        peers.retain(|_, until| *until > Instant::now());
        peers.insert(peer, Instant::now() + SEVERED_FOR + pause);
    }

    /// Returns whether a request of this peer must be dropped.
    pub(super) fn contains(&self, peer: SocketAddr) -> bool {
        self.0.lock().get(&peer).is_some_and(|until| *until > Instant::now())
    }
}
