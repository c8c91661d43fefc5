//! Figures of the server's load, for health checks and metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::config::ServerConfig;
use super::server::thread_group::ThreadGroup;

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
    /// The number of running threads for waits, streams and answers to slow readers.
    pub streams_open: usize,
    /// The maximum number of these threads.
    pub streams_max: usize,
    /// The number of connections at the last scan of the sockets, a fraction of a second ago.
    pub connections: usize,
    /// The number of connections above which the longest idle ones are closed.
    pub connections_max: usize,
    /// The number of requests since the start that were answered with 503 because a limit was reached.
    pub refused_total: u64,
    /// The number of times since the start that the accept loop had ended and was rebuilt.
    pub rebuilds_total: u64,
}

/// A reader of the load. It can be given to the handler before the server starts.
#[derive(Clone)]
pub struct LoadReader {
    pub(super) counters: Arc<Counters>,
    pub(super) streams: Arc<ThreadGroup>,
}

/// Counters that the server's threads update.
#[derive(Debug)]
pub(super) struct Counters {
    pub(super) workers_busy: AtomicUsize,
    pub(super) requests_queued: AtomicUsize,
    pub(super) connections: AtomicUsize,
    pub(super) refused: AtomicU64,
    pub(super) rebuilds: AtomicU64,
    pub(super) connections_max: usize,
    workers_max: usize,
    requests_queued_max: usize,
}

impl Counters {
    pub(super) fn new(config: &ServerConfig, connections_max: usize) -> Self {
        Self {
            workers_busy: AtomicUsize::new(0),
            requests_queued: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            rebuilds: AtomicU64::new(0),
            connections_max,
            workers_max: config.request_workers,
            requests_queued_max: config.request_queue,
        }
    }
}

impl LoadReader {
    /// Returns the current load.
    pub fn load(&self) -> Load {
        let counters = &self.counters;
        Load {
            workers_busy: counters.workers_busy.load(Ordering::Relaxed),
            workers_max: counters.workers_max,
            requests_queued: counters.requests_queued.load(Ordering::Relaxed),
            requests_queued_max: counters.requests_queued_max,
            streams_open: self.streams.running(),
            streams_max: self.streams.max(),
            connections: counters.connections.load(Ordering::Relaxed),
            connections_max: counters.connections_max,
            refused_total: counters.refused.load(Ordering::Relaxed),
            rebuilds_total: counters.rebuilds.load(Ordering::Relaxed),
        }
    }
}
