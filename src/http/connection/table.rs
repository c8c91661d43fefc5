//! The table of connections. One request of each connection is served at a time; a few may wait behind it.
//!
//! Fault of tiny_http: it queues all pipelined requests of a connection, without limit. Twelve requests behind a stream
//! would occupy the worker pool. Workaround: this table passes on one request of each connection at a time and closes
//! connections with too many waiting requests. Tests: `a_request_behind_a_stream_is_not_served`,
//! `a_pipelining_flood_ends_its_connection_and_no_other`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// All connections that have sent a request, by peer. `T` is a request.
pub(crate) struct ConnectionTable<T> {
    connections: Mutex<HashMap<SocketAddr, Connection<T>>>,
    removed: Condvar,
    max_waiting: usize,
}

struct Connection<T> {
    state: State,
    waiting: VecDeque<T>,
    requests: u64,
    last_active: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Busy,
    Closing,
}

impl<T> Connection<T> {
    fn new(now: Instant) -> Self {
        Self { state: State::Idle, waiting: VecDeque::new(), requests: 0, last_active: now }
    }
}

/// The way to proceed with a request that has arrived.
pub(crate) enum Arrival<T> {
    /// The request must be served.
    Serve(T),
    /// The request waits until the request before it is answered.
    Waits,
    /// Too many requests wait. The connection is closing from now on. Contains all waiting requests.
    TooMany(Vec<T>),
    /// The connection was already closing.
    Closing(T),
}

/// The state of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionStatus {
    /// Whether a request is being served or the connection is closing.
    pub(crate) is_busy: bool,
    /// The number of requests received so far.
    pub(crate) requests: u64,
    /// The time of the last request or answer.
    pub(crate) last_active: Instant,
}

impl<T> ConnectionTable<T> {
    /// Creates an empty table. At most `max_waiting` requests of each connection may wait.
    pub(crate) fn new(max_waiting: usize) -> Self {
        Self { connections: Mutex::new(HashMap::new()), removed: Condvar::new(), max_waiting }
    }

    /// Adds a request that has arrived.
    pub(crate) fn arrive(&self, peer: SocketAddr, request: T, now: Instant) -> Arrival<T> {
        let mut table = self.connections.lock();
        let connection = table.entry(peer).or_insert_with(|| Connection::new(now));
        connection.requests += 1;
        connection.last_active = now;
        match connection.state {
            State::Idle => {
                connection.state = State::Busy;
                Arrival::Serve(request)
            }
            State::Busy if connection.waiting.len() < self.max_waiting => {
                connection.waiting.push_back(request);
                Arrival::Waits
            }
            State::Busy => {
                connection.state = State::Closing;
                connection.waiting.push_back(request);
                Arrival::TooMany(connection.waiting.drain(..).collect())
            }
            State::Closing => Arrival::Closing(request),
        }
    }

    /// Records that the served request is answered. Returns the next one, which must be served now.
    pub(crate) fn finish(&self, peer: SocketAddr, now: Instant) -> Option<T> {
        let mut table = self.connections.lock();
        let connection = table.get_mut(&peer)?;
        if connection.state != State::Busy {
            return None;
        }
        connection.last_active = now;
        let next = connection.waiting.pop_front();
        if next.is_none() {
            connection.state = State::Idle;
            connection.waiting.shrink_to_fit();
        }
        next
    }

    /// Marks a connection as closing. Returns its waiting requests.
    pub(crate) fn close(&self, peer: SocketAddr) -> Vec<T> {
        let mut table = self.connections.lock();
        match table.get_mut(&peer) {
            Some(connection) => {
                connection.state = State::Closing;
                connection.waiting.drain(..).collect()
            }
            None => Vec::new(),
        }
    }

    /// Marks a connection as closing, even before its first request. Returns its waiting requests, or `None` if it
    /// was already closing.
    pub(crate) fn begin_closing(&self, peer: SocketAddr, now: Instant) -> Option<Vec<T>> {
        let mut table = self.connections.lock();
        let connection = table.entry(peer).or_insert_with(|| Connection::new(now));
        let was_closing = connection.state == State::Closing;
        connection.state = State::Closing;
        (!was_closing).then(|| connection.waiting.drain(..).collect())
    }

    /// Marks a connection as closing unless a request is being served. Returns whether the connection was marked.
    pub(crate) fn close_if_idle(&self, peer: SocketAddr, now: Instant) -> bool {
        let mut table = self.connections.lock();
        let connection = table.entry(peer).or_insert_with(|| Connection::new(now));
        let is_idle = connection.state == State::Idle;
        if is_idle {
            connection.state = State::Closing;
        }
        is_idle
    }

    /// Removes a connection that is closed.
    pub(crate) fn remove(&self, peer: SocketAddr) {
        self.connections.lock().remove(&peer);
        self.removed.notify_all();
    }

    /// Waits until no connection is closing, until `until` at most.
    pub(crate) fn wait_for_closing(&self, until: Instant) {
        let mut table = self.connections.lock();
        while table.values().any(|connection| connection.state == State::Closing) {
            if self.removed.wait_until(&mut table, until).timed_out() {
                return;
            }
        }
    }

    /// Returns the state of a connection, or `None` before its first request.
    pub(crate) fn status(&self, peer: SocketAddr) -> Option<ConnectionStatus> {
        let table = self.connections.lock();
        let connection = table.get(&peer)?;
        Some(ConnectionStatus {
            is_busy: connection.state != State::Idle,
            requests: connection.requests,
            last_active: connection.last_active,
        })
    }

    /// Removes idle connections whose sockets were not `found` in a scan and that were last active at least `min_age`
    /// ago.
    pub(crate) fn purge(&self, found: &HashSet<SocketAddr>, min_age: Duration, now: Instant) {
        self.connections.lock().retain(|peer, connection| {
            connection.state != State::Idle
                || found.contains(peer)
                || now.saturating_duration_since(connection.last_active) < min_age
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn one_request_of_a_connection_is_served_at_a_time_and_in_order() {
        let connections = ConnectionTable::new(2);
        let now = Instant::now();
        assert!(matches!(connections.arrive(peer(1), 'a', now), Arrival::Serve('a')));
        assert!(matches!(connections.arrive(peer(1), 'b', now), Arrival::Waits));
        assert!(matches!(connections.arrive(peer(1), 'c', now), Arrival::Waits));
        assert!(matches!(connections.arrive(peer(2), 'x', now), Arrival::Serve('x')));
        assert_eq!(connections.finish(peer(1), now), Some('b'));
        assert_eq!(connections.finish(peer(1), now), Some('c'));
        assert_eq!(connections.finish(peer(1), now), None);
        assert!(!connections.status(peer(1)).unwrap().is_busy);
        assert_eq!(connections.status(peer(1)).unwrap().requests, 3);
    }

    #[test]
    fn too_many_waiting_requests_close_the_connection() {
        let connections = ConnectionTable::new(1);
        let now = Instant::now();
        connections.arrive(peer(1), 'a', now);
        connections.arrive(peer(1), 'b', now);
        assert!(matches!(connections.arrive(peer(1), 'c', now), Arrival::TooMany(all) if all == ['b', 'c']));
        assert!(matches!(connections.arrive(peer(1), 'd', now), Arrival::Closing('d')));
        assert_eq!(connections.finish(peer(1), now), None);
        connections.remove(peer(1));
        assert!(connections.status(peer(1)).is_none());
    }

    #[test]
    fn only_an_idle_connection_is_closed_for_idleness() {
        let connections = ConnectionTable::new(1);
        let now = Instant::now();
        assert!(connections.close_if_idle(peer(1), now), "before its first request");
        assert!(matches!(connections.arrive(peer(1), 'a', now), Arrival::Closing('a')));
        connections.arrive(peer(2), 'b', now);
        assert!(!connections.close_if_idle(peer(2), now));
        connections.finish(peer(2), now);
        assert!(connections.close_if_idle(peer(2), now));
        assert!(!connections.close_if_idle(peer(2), now), "closing already");
        connections.remove(peer(1));
        connections.remove(peer(2));
        connections.wait_for_closing(now + Duration::from_secs(600));
    }

    #[test]
    fn purging_removes_only_idle_connections_without_a_socket() {
        let connections = ConnectionTable::new(1);
        let now = Instant::now();
        for (port, is_idle) in [(1, true), (2, true), (3, false)] {
            connections.arrive(peer(port), (), now);
            if is_idle {
                connections.finish(peer(port), now);
            }
        }
        let later = now + Duration::from_secs(5);
        connections.purge(&HashSet::from([peer(1)]), Duration::from_secs(10), later);
        assert!(connections.status(peer(2)).is_some());
        connections.purge(&HashSet::from([peer(1)]), Duration::from_secs(1), later);
        assert!(connections.status(peer(1)).is_some());
        assert!(connections.status(peer(2)).is_none());
        assert!(connections.status(peer(3)).is_some());
    }
}
