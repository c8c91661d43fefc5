//! The connections and their turn: one request of each is in hand, a few wait behind it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// All connections that have sent a request, by peer. `T` is a request.
pub(super) struct Connections<T> {
    table: Mutex<HashMap<SocketAddr, Connection<T>>>,
    one_has_gone: Condvar,
    most_waiting: usize,
}

struct Connection<T> {
    state: State,
    waiting: VecDeque<T>,
    served: u64,
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
        Self { state: State::Idle, waiting: VecDeque::new(), served: 0, last_active: now }
    }
}

/// What becomes of a request that came.
pub(super) enum Turn<T> {
    /// It is its turn.
    Now(T),
    /// It waits behind another one of its connection.
    Later,
    /// Too many wait: the connection is closing from here on; these were waiting.
    Flood(Vec<T>),
    /// The connection is closing.
    Never(T),
}

/// How a connection stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// A request is in hand, or it is being closed.
    pub(super) is_busy: bool,
    /// Requests that have come so far.
    pub(super) served: u64,
    /// The last arrival or answer.
    pub(super) last_active: Instant,
}

impl<T> Connections<T> {
    pub(super) fn new(most_waiting: usize) -> Self {
        Self { table: Mutex::new(HashMap::new()), one_has_gone: Condvar::new(), most_waiting }
    }

    /// A request has come.
    pub(super) fn arrive(&self, peer: SocketAddr, request: T, now: Instant) -> Turn<T> {
        let mut table = self.table.lock();
        let connection = table.entry(peer).or_insert_with(|| Connection::new(now));
        connection.served += 1;
        connection.last_active = now;
        match connection.state {
            State::Idle => {
                connection.state = State::Busy;
                Turn::Now(request)
            }
            State::Busy if connection.waiting.len() < self.most_waiting => {
                connection.waiting.push_back(request);
                Turn::Later
            }
            State::Busy => {
                connection.state = State::Closing;
                connection.waiting.push_back(request);
                Turn::Flood(connection.waiting.drain(..).collect())
            }
            State::Closing => Turn::Never(request),
        }
    }

    /// The request in hand is answered; gives the next one, which is in hand now.
    pub(super) fn finish(&self, peer: SocketAddr, now: Instant) -> Option<T> {
        let mut table = self.table.lock();
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

    /// From here on nothing of this connection is taken; gives what was waiting.
    pub(super) fn close(&self, peer: SocketAddr) -> Vec<T> {
        let mut table = self.table.lock();
        match table.get_mut(&peer) {
            Some(connection) => {
                connection.state = State::Closing;
                connection.waiting.drain(..).collect()
            }
            None => Vec::new(),
        }
    }

    /// The connection is gone.
    pub(super) fn forget(&self, peer: SocketAddr) {
        self.table.lock().remove(&peer);
        self.one_has_gone.notify_all();
    }

    /// The same as [`Connections::close`] unless a request is in hand; whether it is closing now because of it.
    pub(super) fn close_if_idle(&self, peer: SocketAddr, now: Instant) -> bool {
        let mut table = self.table.lock();
        let connection = table.entry(peer).or_insert_with(|| Connection::new(now));
        let is_idle = connection.state == State::Idle;
        if is_idle {
            connection.state = State::Closing;
        }
        is_idle
    }

    /// Waits until none is on its way to its end, or the time has come.
    pub(super) fn wait_for_closing(&self, until: Instant) {
        let mut table = self.table.lock();
        while table.values().any(|connection| connection.state == State::Closing) {
            if self.one_has_gone.wait_until(&mut table, until).timed_out() {
                return;
            }
        }
    }

    /// How a connection stands; `None` before its first request.
    pub(super) fn standing(&self, peer: SocketAddr) -> Option<Standing> {
        let table = self.table.lock();
        let connection = table.get(&peer)?;
        Some(Standing {
            is_busy: connection.state != State::Idle,
            served: connection.served,
            last_active: connection.last_active,
        })
    }

    /// Forgets the idle ones that were not found in a look, but for those younger than it may be.
    pub(super) fn purge(&self, found: &HashSet<SocketAddr>, min_age: Duration, now: Instant) {
        self.table.lock().retain(|peer, connection| {
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
    fn one_request_of_a_connection_is_in_hand_and_the_others_keep_their_order() {
        let connections = Connections::new(2);
        let now = Instant::now();
        assert!(matches!(connections.arrive(peer(1), 'a', now), Turn::Now('a')));
        assert!(matches!(connections.arrive(peer(1), 'b', now), Turn::Later));
        assert!(matches!(connections.arrive(peer(1), 'c', now), Turn::Later));
        assert!(matches!(connections.arrive(peer(2), 'x', now), Turn::Now('x')));
        assert_eq!(connections.finish(peer(1), now), Some('b'));
        assert_eq!(connections.finish(peer(1), now), Some('c'));
        assert_eq!(connections.finish(peer(1), now), None);
        assert!(!connections.standing(peer(1)).unwrap().is_busy);
        assert_eq!(connections.standing(peer(1)).unwrap().served, 3);
    }

    #[test]
    fn a_flood_ends_the_connection() {
        let connections = Connections::new(1);
        let now = Instant::now();
        connections.arrive(peer(1), 'a', now);
        connections.arrive(peer(1), 'b', now);
        assert!(matches!(connections.arrive(peer(1), 'c', now), Turn::Flood(all) if all == ['b', 'c']));
        assert!(matches!(connections.arrive(peer(1), 'd', now), Turn::Never('d')));
        assert_eq!(connections.finish(peer(1), now), None);
        connections.forget(peer(1));
        assert!(connections.standing(peer(1)).is_none());
    }

    #[test]
    fn only_what_is_idle_is_closed_for_idleness() {
        let connections = Connections::new(1);
        let now = Instant::now();
        assert!(connections.close_if_idle(peer(1), now), "before its first request");
        assert!(matches!(connections.arrive(peer(1), 'a', now), Turn::Never('a')));
        connections.arrive(peer(2), 'b', now);
        assert!(!connections.close_if_idle(peer(2), now));
        connections.finish(peer(2), now);
        assert!(connections.close_if_idle(peer(2), now));
        assert!(!connections.close_if_idle(peer(2), now), "closing already");
        connections.forget(peer(1));
        connections.forget(peer(2));
        connections.wait_for_closing(now + Duration::from_secs(600));
    }

    #[test]
    fn only_idle_ones_that_are_gone_are_forgotten() {
        let connections = Connections::new(1);
        let now = Instant::now();
        for (port, is_idle) in [(1, true), (2, true), (3, false)] {
            connections.arrive(peer(port), (), now);
            if is_idle {
                connections.finish(peer(port), now);
            }
        }
        let later = now + Duration::from_secs(5);
        connections.purge(&HashSet::from([peer(1)]), Duration::from_secs(10), later);
        assert!(connections.standing(peer(2)).is_some());
        connections.purge(&HashSet::from([peer(1)]), Duration::from_secs(1), later);
        assert!(connections.standing(peer(1)).is_some());
        assert!(connections.standing(peer(2)).is_none());
        assert!(connections.standing(peer(3)).is_some());
    }
}
