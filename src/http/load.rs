//! How busy the server is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::config::ServerConfig;
use super::crew::Crew;
use super::streams::Streams;

/// A moment's figures, for health and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Requests whose handler runs.
    pub workers_busy: usize,
    /// Threads that run handlers.
    pub workers_max: usize,
    /// Requests that wait for a worker.
    pub requests_queued: usize,
    /// How many may.
    pub requests_queued_max: usize,
    /// Waits, streams and answers to slow readers, each on a thread of its own.
    pub streams_open: usize,
    /// How many there may be.
    pub streams_max: usize,
    /// Connections at the last look, a fraction of a second ago.
    pub connections: usize,
    /// Over it the longest idle ones are closed.
    pub connections_max: usize,
    /// Requests answered 503 for want of a place, since the start.
    pub refused_total: u64,
    /// Times the accept loop had died and was rebuilt, since the start.
    pub rebuilds_total: u64,
}

/// Reads the figures; can be handed to the handler before the server starts.
#[derive(Clone)]
pub struct Gauge {
    pub(super) counters: Arc<Counters>,
    pub(super) crew: Arc<Crew>,
    pub(super) streams: Arc<Streams>,
}

/// Figures that are kept nowhere else.
#[derive(Debug)]
pub(super) struct Counters {
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
            connections: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            rebuilds: AtomicU64::new(0),
            connections_max,
            workers_max: config.request_workers,
            requests_queued_max: config.request_queue,
        }
    }
}

impl Gauge {
    /// The present figures.
    pub fn load(&self) -> Load {
        let counters = &self.counters;
        let (workers_busy, requests_queued) = self.crew.load();
        Load {
            workers_busy,
            workers_max: counters.workers_max,
            requests_queued,
            requests_queued_max: counters.requests_queued_max,
            streams_open: self.streams.open(),
            streams_max: self.streams.most(),
            connections: counters.connections.load(Ordering::Relaxed),
            connections_max: counters.connections_max,
            refused_total: counters.refused.load(Ordering::Relaxed),
            rebuilds_total: counters.rebuilds.load(Ordering::Relaxed),
        }
    }
}
