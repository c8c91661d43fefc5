//! The thread that keeps tiny_http working. It scans the sockets, wakes tiny_http if a connection was left without a
//! thread, closes connections that exceed a limit, probes the accept loop, and rebuilds it.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::accept_loop::AcceptLoop;
use super::dispatcher::Dispatcher;
use super::probe::{connect_to_self, take_panic};
use crate::http::config::{
    BODY_WIRE_FACTOR, MAX_SCAN_PAUSE, MAX_UNPARSED_BYTES, MAX_WAKE_CONNECTIONS, NEW_CONNECTION_AGE,
    REBUILD_BACKOFF, REBUILD_DESCRIPTORS, RETIRE_AFTER, SCAN_INTERVAL, SCAN_INTERVAL_NEW, SCAN_SHARE,
};
use crate::http::connection::closer::{CloseRequest, Command};
use crate::http::connection::monitor::Monitor;
use crate::http::connection::shared::Connections;
use crate::http::connection::sockets::{descriptors_are_free, is_out_of_descriptors};

/// The state of the supervisor.
pub(super) struct Supervisor {
    dispatcher: Arc<Dispatcher>,
    listener: Arc<TcpListener>,
    own: SocketAddr,
    /// All accept loops. The last one is the current one, and older ones may still have connections.
    accept_loops: Vec<AcceptLoop>,
    monitor: Monitor,
    next_scan: Instant,
    /// The time before which no scan begins, even if new connections arrive.
    earliest_scan: Instant,
    /// Whether a connection has arrived since the last scan.
    has_arrival: bool,
    next_probe: Instant,
    unanswered: u32,
    /// Whether a thread of tiny_http has panicked since a probe was last answered.
    is_suspicious: bool,
    backoff: Duration,
    next_rebuild: Instant,
}

/// The number of unanswered probes in a row after which the accept loop counts as dead without any other sign. A
/// single probe can be left without a thread by tiny_http, or be late on a busy machine.
const UNANSWERED_PROBES: u32 = 3;
/// The maximum number of unresponsive accept loops. They may still run, and are never dropped.
const MAX_ACCEPT_LOOPS: usize = 64;
/// The minimum age of connections that are purged. A younger one may have sent its first request after the scan.
const PURGE_AGE: Duration = Duration::from_secs(1);

impl Supervisor {
    pub(super) fn new(
        dispatcher: Arc<Dispatcher>,
        listener: Arc<TcpListener>,
        own: SocketAddr,
    ) -> io::Result<Self> {
        let now = Instant::now();
        let config = &dispatcher.shared.config;
        let body_bytes = config.largest_body_bytes() as u64 * BODY_WIRE_FACTOR;
        Ok(Self {
            monitor: Monitor::new(config.head_timeout, MAX_UNPARSED_BYTES + body_bytes),
            next_probe: now + config.probe_every,
            accept_loops: vec![AcceptLoop::start(&listener, &dispatcher)?],
            dispatcher,
            listener,
            own,
            next_scan: now,
            earliest_scan: now,
            has_arrival: false,
            unanswered: 0,
            is_suspicious: false,
            backoff: REBUILD_BACKOFF.0,
            next_rebuild: now,
        })
    }

    /// Runs until the thread must stop.
    pub(super) fn run(mut self) {
        while !self.dispatcher.wake_up.is_stopped() {
            self.wait();
            let is_draining = self.dispatcher.shared.is_draining();
            if Instant::now() >= self.next_scan || is_draining {
                self.scan(is_draining);
            }
            if !is_draining {
                self.keep_accepting(Instant::now());
            }
        }
        self.scan(true);
    }

    /// Waits for the time of the next scan. A new connection brings it forward, because tiny_http leaves only new
    /// connections without a thread.
    fn wait(&mut self) {
        let watches_arrivals = !self.has_arrival && !self.dispatcher.shared.is_draining();
        let listener = watches_arrivals.then_some(&*self.listener);
        let time = self.next_scan.saturating_duration_since(Instant::now());
        if self.dispatcher.wake_up.wait(listener, time) {
            self.has_arrival = true;
            let soon = self.earliest_scan.max(Instant::now() + SCAN_INTERVAL_NEW);
            self.next_scan = self.next_scan.min(soon);
        }
    }

    fn connections(&self) -> &Arc<Connections> {
        &self.dispatcher.shared.connections
    }

    fn scan(&mut self, is_draining: bool) {
        let begun = Instant::now();
        match self.connections().sockets.accepted() {
            Ok(accepted) => {
                let connections = Arc::clone(self.connections());
                let peers: HashSet<SocketAddr> = accepted.iter().map(|socket| socket.peer).collect();
                let statuses: HashMap<_, _> =
                    peers.iter().map(|peer| (*peer, connections.table.status(*peer))).collect();
                let stuck = self.monitor.update(&accepted, &statuses, begun);
                connections.table.purge(&peers, PURGE_AGE, begun);
                self.dispatcher.shared.counters.connections.store(peers.len(), Ordering::Relaxed);
                self.close_flooding(begun);
                self.close_surplus(peers.len(), is_draining, begun);
                if !is_draining {
                    self.wake_tiny_http(stuck);
                }
            }
            Err(error) => log::warn!("cannot scan the connections: {error}"),
        }
        let usual = if is_draining { SCAN_INTERVAL } else { self.monitor.interval(begun) };
        let fair = (begun.elapsed() * SCAN_SHARE).min(MAX_SCAN_PAUSE);
        self.has_arrival = false;
        self.earliest_scan = begun + fair;
        self.next_scan = begun + fair.max(usual);
    }

    /// Closes connections that send their head too slowly, and idle connections above the limit. When the server
    /// ends, closes all idle connections.
    fn close_surplus(&self, count: usize, is_draining: bool, now: Instant) {
        let max = if is_draining { 0 } else { self.dispatcher.shared.counters.connections_max };
        let surplus = count.saturating_sub(max);
        let overdue = self.monitor.overdue(now);
        if !overdue.is_empty() {
            log::debug!("closing {} connections that sent no complete request in time", overdue.len());
        }
        if surplus > 0 && !is_draining {
            log::warn!("closing idle connections: {surplus} more than the limit of {max}");
        }
        for peer in self.monitor.longest_idle(surplus, Duration::ZERO, now).into_iter().chain(overdue) {
            self.connections().close_if_idle(peer);
        }
    }

    /// Closes connections that send without end, even while one of their requests is served.
    fn close_flooding(&self, now: Instant) {
        for peer in self.monitor.flooding() {
            if let Some(waiting) = self.connections().table.begin_closing(peer, now) {
                log::warn!("connection closed: it sent more bytes than a request may have");
                self.connections().closer.send(Command::Close(CloseRequest::abort(peer, waiting)));
            }
        }
    }

    fn wake_tiny_http(&self, stuck: usize) {
        for _ in 0..stuck.min(MAX_WAKE_CONNECTIONS) {
            if let Err(error) = connect_to_self(self.own) {
                log::debug!("cannot connect to this server: {error}");
                break;
            }
        }
    }

    fn keep_accepting(&mut self, now: Instant) {
        if take_panic() {
            self.is_suspicious = true;
            self.next_probe = now;
        }
        if !self.is_dead() && now >= self.next_probe {
            let is_conclusive = self.probe();
            // A suspicion is checked again soon if there was no descriptor for the probe.
            let pause = if self.is_suspicious && !is_conclusive {
                SCAN_INTERVAL
            } else {
                self.dispatcher.shared.config.probe_every
            };
            self.next_probe = Instant::now() + pause;
        }
        if self.is_dead() && now >= self.next_rebuild {
            self.rebuild();
        }
        self.drop_unused();
    }

    fn is_dead(&self) -> bool {
        self.accept_loops.last().is_none_or(AcceptLoop::is_dead)
    }

    /// Probes the accept loop. Returns `false` if there was no descriptor for it.
    fn probe(&mut self) -> bool {
        match self.dispatcher.probe.is_answered(self.own) {
            Ok(true) => {
                self.unanswered = 0;
                self.is_suspicious = false;
                self.backoff = REBUILD_BACKOFF.0;
            }
            Err(error) if is_out_of_descriptors(&error) => {
                log::debug!("no descriptor is left to probe the accept loop");
                self.free_descriptors();
                return false;
            }
            Ok(false) | Err(_) => self.unanswered += 1,
        }
        let enough = if self.is_suspicious { 1 } else { UNANSWERED_PROBES };
        if self.unanswered < enough {
            return true;
        }
        self.unanswered = 0;
        if self.accept_loops.len() < MAX_ACCEPT_LOOPS {
            log::warn!("the accept loop does not answer");
            self.accept_loops.iter().for_each(AcceptLoop::mark_unresponsive);
        } else {
            log::error!("the accept loop does not answer, and was rebuilt {MAX_ACCEPT_LOOPS} times already");
        }
        true
    }

    fn rebuild(&mut self) {
        self.next_rebuild = Instant::now() + self.backoff;
        self.backoff = (self.backoff * 2).min(REBUILD_BACKOFF.1);
        if !descriptors_are_free(REBUILD_DESCRIPTORS) {
            return self.free_descriptors();
        }
        match AcceptLoop::start(&self.listener, &self.dispatcher) {
            Ok(accept_loop) => {
                self.accept_loops.push(accept_loop);
                self.dispatcher.shared.counters.rebuilds.fetch_add(1, Ordering::Relaxed);
                self.next_probe = Instant::now();
                log::warn!("the accept loop is rebuilt");
            }
            Err(error) => log::error!("cannot rebuild the accept loop yet: {error}"),
        }
    }

    /// Drops accept loops that have ended and have no connection left.
    fn drop_unused(&mut self) {
        let last = self.accept_loops.len().saturating_sub(1);
        let has_streams = self.dispatcher.shared.streams.running() > 0;
        let mut index = 0;
        self.accept_loops.retain(|accept_loop| {
            index += 1;
            index > last || has_streams || !accept_loop.is_unused_for(RETIRE_AFTER)
        });
    }

    /// Closes idle connections to free descriptors. The first request of a new connection may not be read yet.
    fn free_descriptors(&self) {
        let now = Instant::now();
        for peer in self.monitor.longest_idle(REBUILD_DESCRIPTORS, NEW_CONNECTION_AGE, now) {
            self.connections().close_if_idle(peer);
        }
    }
}
