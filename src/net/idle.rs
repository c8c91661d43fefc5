//! Idle connections, kept for further requests to the same target.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The time after which an idle connection is closed. Many servers close theirs after five seconds.
const MAX_IDLE_TIME: Duration = Duration::from_secs(5);

/// The maximum number of idle connections.
const MAX_IDLE: usize = 128;

/// The maximum number of idle connections to one target.
const MAX_IDLE_PER_TARGET: usize = 2;

/// Where a connection leads. A connection is reused only for an equal target, so that the guard has approved its
/// addresses for the new request too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) is_tls: bool,
    /// The host in the URL, which the server's certificate names.
    pub(super) host: String,
    pub(super) port: u16,
    /// The approved addresses of the host. There are none if the proxy resolves its name.
    pub(super) addresses: Vec<SocketAddr>,
    /// The addresses of the outbound proxy.
    pub(super) proxy: Vec<SocketAddr>,
}

impl Target {
    /// Returns the host as a proxy gets it: without the dot that marks a whole name.
    pub(super) fn name(&self) -> &str {
        self.host.strip_suffix('.').unwrap_or(&self.host)
    }
}

/// Idle connections of the type `C`, the longest idle first.
pub(super) struct IdleConnections<C>(Mutex<VecDeque<Idle<C>>>);

struct Idle<C> {
    target: Target,
    connection: C,
    since: Instant,
}

impl<C> IdleConnections<C> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// Removes and returns the connection to this target that was used last.
    pub(super) fn take(&self, target: &Target, now: Instant) -> Option<C> {
        self.close_expired(now);
        let mut list = self.0.lock();
        let index = list.iter().rposition(|idle| idle.target == *target)?;
        list.remove(index).map(|idle| idle.connection)
    }

    /// Keeps a connection. If there are too many, the one that has been idle for the longest time is closed.
    pub(super) fn put(&self, target: Target, connection: C, now: Instant) {
        self.close_expired(now);
        let mut list = self.0.lock();
        let mut same = list.iter().enumerate().filter(|(_, idle)| idle.target == target);
        let oldest = same.next().map(|(index, _)| index);
        let surplus = if same.count() + 1 >= MAX_IDLE_PER_TARGET { oldest } else { None };
        let surplus = surplus.or_else(|| (list.len() >= MAX_IDLE).then_some(0));
        let closed = surplus.and_then(|index| list.remove(index));
        list.push_back(Idle { target, connection, since: now });
        drop(list);
        // Closing a socket takes a system call, which nobody else should wait for.
        drop(closed);
    }

    /// Closes the connections that have been idle for too long at `now`.
    pub(super) fn close_expired(&self, now: Instant) {
        let mut list = self.0.lock();
        let is_expired = |idle: &Idle<C>| now.saturating_duration_since(idle.since) >= MAX_IDLE_TIME;
        let kept = list.partition_point(is_expired);
        let closed: Vec<Idle<C>> = list.drain(..kept).collect();
        drop(list);
        drop(closed);
    }

    /// Closes all idle connections. Returns whether there were any.
    pub(super) fn close_all(&self) -> bool {
        let closed = std::mem::take(&mut *self.0.lock());
        !closed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(host: &str) -> Target {
        let addresses = vec![SocketAddr::from(([127, 0, 0, 1], 443))];
        Target { is_tls: true, host: host.into(), port: 443, addresses, proxy: Vec::new() }
    }

    #[test]
    fn a_connection_is_reused_only_for_an_equal_target() {
        let (idle, now) = (IdleConnections::new(), Instant::now());
        idle.put(target("a"), 1, now);
        let others = [
            target("b"),
            Target { is_tls: false, ..target("a") },
            Target { port: 444, ..target("a") },
            Target { addresses: vec![SocketAddr::from(([127, 0, 0, 2], 443))], ..target("a") },
            Target { proxy: vec![SocketAddr::from(([127, 0, 0, 1], 3128))], ..target("a") },
        ];
        for other in others {
            assert_eq!(idle.take(&other, now), None, "{other:?}");
        }
        assert_eq!((idle.take(&target("a"), now), idle.take(&target("a"), now)), (Some(1), None));
    }

    #[test]
    fn connections_are_closed_when_they_are_too_many_or_too_old() {
        let (idle, start) = (IdleConnections::new(), Instant::now());
        for (connection, host) in [(1, "a"), (2, "a"), (3, "b"), (4, "a")] {
            idle.put(target(host), connection, start);
        }
        let taken: Vec<_> = ["a", "a", "a", "b"].map(|host| idle.take(&target(host), start)).into();
        assert_eq!(taken, [Some(4), Some(2), None, Some(3)]);
        for connection in 0..=MAX_IDLE {
            idle.put(target(&connection.to_string()), connection, start);
        }
        assert_eq!((idle.take(&target("0"), start), idle.take(&target("1"), start)), (None, Some(1)));
        idle.put(target("late"), 1000, start + Duration::from_secs(1));
        idle.close_expired(start + MAX_IDLE_TIME);
        assert_eq!(idle.0.lock().len(), 1);
        assert!(idle.close_all() && !idle.close_all());
        assert_eq!(idle.take(&target("late"), start), None);
    }
}
