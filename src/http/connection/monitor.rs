//! Compares the scans of all sockets to find connections that are stuck, too slow, too fast or idle.
//!
//! Fault of tiny_http: a race in its thread pool can leave a new connection without a thread until another connection
//! arrives; and a request head has neither a time limit nor a size limit. Workaround: this monitor finds the
//! connections, and the supervisor wakes tiny_http or closes them. Tests: `no_connection_is_stuck_behind_streams`,
//! `many_connections_at_once_to_a_fresh_server_are_all_served`, `a_head_that_dribbles_is_cut_off_by_its_deadline`,
//! `a_head_without_end_is_cut_off_by_its_size`.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::sockets::{Accepted, Unread};
use super::table::ConnectionStatus;
use crate::http::config::{NEW_CONNECTION_AGE, SCAN_INTERVAL, SCAN_INTERVAL_NEW, SCAN_INTERVAL_QUIET};

/// The connections in the state of the last scan.
pub(crate) struct Monitor {
    connections: HashMap<SocketAddr, Observation>,
    head_timeout: Duration,
    max_unparsed_bytes: u64,
}

#[derive(Clone, Copy)]
struct Observation {
    first: Instant,
    /// The time since which no request of the connection is being served.
    idle_since: Option<Instant>,
    /// Whether the peer has ended its direction.
    has_ended: bool,
    /// The value of `requests` if there were unread bytes, or `None`.
    unread_at: Option<u64>,
    /// Whether no request has come from the connection.
    is_unserved: bool,
    /// The number of requests that have come from the connection.
    requests: u64,
    /// The number of bytes that had come when this number of requests was first observed.
    received_before: u64,
    /// The number of bytes that have come since then.
    unparsed: u64,
    /// Whether a request is arriving, or is expected because none has come yet.
    is_arriving: bool,
}

impl Monitor {
    pub(crate) fn new(head_timeout: Duration, max_unparsed_bytes: u64) -> Self {
        Self { connections: HashMap::new(), head_timeout, max_unparsed_bytes }
    }

    /// Processes the result of a scan. Returns the number of stuck connections, which are those with unread bytes and
    /// no request being served in two scans in a row.
    pub(crate) fn update(
        &mut self,
        accepted: &[Accepted],
        statuses: &HashMap<SocketAddr, Option<ConnectionStatus>>,
        now: Instant,
    ) -> usize {
        let mut done = HashSet::with_capacity(accepted.len());
        let mut next = HashMap::with_capacity(accepted.len());
        let mut stuck = 0;
        for socket in accepted {
            if !done.insert(socket.peer) {
                continue;
            }
            let before = self.connections.get(&socket.peer).copied();
            let status = statuses.get(&socket.peer).copied().flatten();
            let unread = || socket.unread();
            let present =
                Observation::new(before, status, unread, now).with_received(before, socket.received());
            if present.unread_at.is_some()
                && before.is_some_and(|before| before.unread_at == present.unread_at)
            {
                stuck += 1;
            }
            next.insert(socket.peer, present);
        }
        self.connections = next;
        stuck
    }

    /// Returns the connections that have sent no complete request for too long.
    pub(crate) fn overdue(&self, now: Instant) -> Vec<SocketAddr> {
        let is_overdue = |since: Instant| now.saturating_duration_since(since) >= self.head_timeout;
        self.idle().filter(|(_, since)| is_overdue(*since)).map(|(peer, _)| peer).collect()
    }

    /// Returns the connections that have sent more bytes since their last request than any request may have.
    pub(crate) fn flooding(&self) -> Vec<SocketAddr> {
        let is_flooding = |seen: &Observation| seen.unparsed > self.max_unparsed_bytes;
        self.connections.iter().filter(|(_, seen)| is_flooding(seen)).map(|(peer, _)| *peer).collect()
    }

    /// Returns at most `count` connections that have been idle for `min_time`. Those whose peer has ended its
    /// direction come first, then the longest idle ones.
    pub(crate) fn longest_idle(&self, count: usize, min_time: Duration, now: Instant) -> Vec<SocketAddr> {
        if count == 0 {
            return Vec::new();
        }
        let idle =
            |(peer, seen): (&SocketAddr, &Observation)| Some((!seen.has_ended, seen.idle_since?, *peer));
        let mut idle: Vec<_> = self.connections.iter().filter_map(idle).collect();
        idle.retain(|(_, since, _)| now.saturating_duration_since(*since) >= min_time);
        idle.sort_unstable();
        idle.into_iter().take(count).map(|(_, _, peer)| peer).collect()
    }

    /// Returns the time until the next scan. It is short as long as a request is arriving, and shortest if that is the
    /// first one of a new connection.
    pub(crate) fn interval(&self, now: Instant) -> Duration {
        let of = |seen: &Observation| match seen {
            Observation { is_unserved: true, first, .. }
                if now.saturating_duration_since(*first) < NEW_CONNECTION_AGE =>
            {
                SCAN_INTERVAL_NEW
            }
            Observation { is_arriving: true, .. } => SCAN_INTERVAL,
            _ => SCAN_INTERVAL_QUIET,
        };
        self.connections.values().map(of).min().unwrap_or(SCAN_INTERVAL_QUIET)
    }

    fn idle(&self) -> impl Iterator<Item = (SocketAddr, Instant)> {
        self.connections.iter().filter_map(|(peer, seen)| Some((*peer, seen.idle_since?)))
    }
}

impl Observation {
    fn new(
        before: Option<Self>,
        status: Option<ConnectionStatus>,
        unread: impl Fn() -> Unread,
        now: Instant,
    ) -> Self {
        let first = before.map_or(now, |before| before.first);
        let requests = status.map_or(0, |status| status.requests);
        let busy = Self {
            first,
            idle_since: None,
            has_ended: false,
            unread_at: None,
            is_unserved: false,
            requests,
            received_before: 0,
            unparsed: 0,
            is_arriving: false,
        };
        if status.is_some_and(|status| status.is_busy) {
            return busy;
        }
        let unread = unread();
        Self {
            idle_since: Some(status.map_or(first, |status| status.last_active)),
            has_ended: unread == Unread::End,
            unread_at: (unread == Unread::Bytes).then_some(requests),
            is_unserved: requests == 0,
            ..busy
        }
    }

    /// Counts the bytes since the last request, starting with the first scan that observed this number of requests.
    fn with_received(self, before: Option<Self>, received: u64) -> Self {
        let received_before = match before {
            Some(before) if before.requests == self.requests => before.received_before,
            // A new connection has received nothing before.
            None if self.requests == 0 => 0,
            _ => received,
        };
        let unparsed = received.saturating_sub(received_before);
        let has_grown = unparsed > before.map_or(0, |before| before.unparsed);
        let is_arriving = self.is_unserved || self.unread_at.is_some() || has_grown;
        Self { received_before, unparsed, is_arriving, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_busy_connection_is_neither_idle_nor_stuck() {
        let now = Instant::now();
        let busy = ConnectionStatus { is_busy: true, requests: 3, last_active: now };
        let seen = Observation::new(None, Some(busy), || Unread::Bytes, now + SECOND);
        assert!(seen.idle_since.is_none() && seen.unread_at.is_none());
    }

    #[test]
    fn idleness_counts_from_the_last_answer_or_from_the_first_scan() {
        let start = Instant::now();
        let fresh = Observation::new(None, None, || Unread::Nothing, start);
        assert_eq!(fresh.idle_since, Some(start));
        let later = Observation::new(Some(fresh), None, || Unread::Nothing, start + SECOND);
        assert_eq!(later.idle_since, Some(start));
        let answered = ConnectionStatus { is_busy: false, requests: 1, last_active: start + SECOND };
        let after = Observation::new(Some(later), Some(answered), || Unread::Bytes, start + SECOND * 2);
        assert_eq!((after.idle_since, after.unread_at), (Some(start + SECOND), Some(1)));
    }

    #[test]
    fn scans_are_frequent_while_a_request_is_arriving() {
        let start = Instant::now();
        let mut monitor = Monitor::new(SECOND, 1000);
        let mut last = None;
        let mut after = |status, unread, received, age| {
            let seen = Observation::new(last, status, || unread, start + age).with_received(last, received);
            last = Some(seen);
            monitor.connections.insert(SocketAddr::from(([127, 0, 0, 1], 1)), seen);
            monitor.interval(start + age)
        };
        assert_eq!(after(None, Unread::Nothing, 0, Duration::ZERO), SCAN_INTERVAL_NEW);
        assert_eq!(after(None, Unread::Nothing, 0, NEW_CONNECTION_AGE), SCAN_INTERVAL);
        let busy = ConnectionStatus { is_busy: true, requests: 1, last_active: start };
        let idle = ConnectionStatus { is_busy: false, ..busy };
        for (status, unread, received, interval) in [
            (busy, Unread::Bytes, 100, SCAN_INTERVAL_QUIET),
            (idle, Unread::Nothing, 100, SCAN_INTERVAL_QUIET),
            (idle, Unread::Nothing, 140, SCAN_INTERVAL),
            (idle, Unread::Nothing, 140, SCAN_INTERVAL_QUIET),
            (idle, Unread::Bytes, 140, SCAN_INTERVAL),
            (busy, Unread::Nothing, 180, SCAN_INTERVAL),
            (busy, Unread::Nothing, 180, SCAN_INTERVAL_QUIET),
        ] {
            assert_eq!(after(Some(status), unread, received, SECOND), interval, "{unread:?} {received}");
        }
    }

    #[test]
    fn overdue_and_longest_idle_connections_are_found() {
        let start = Instant::now();
        let peer = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let seen = |idle_since| Observation {
            first: start,
            idle_since,
            has_ended: false,
            unread_at: None,
            is_unserved: false,
            requests: 0,
            received_before: 0,
            unparsed: 0,
            is_arriving: false,
        };
        let mut monitor = Monitor::new(SECOND * 10, 1000);
        monitor.connections.insert(peer(1), seen(Some(start)));
        monitor.connections.insert(peer(2), seen(Some(start + SECOND * 5)));
        monitor.connections.insert(peer(3), seen(None));
        assert_eq!(monitor.overdue(start + SECOND * 9), []);
        assert_eq!(monitor.overdue(start + SECOND * 10), [peer(1)]);
        let now = start + SECOND * 10;
        assert_eq!(monitor.longest_idle(5, Duration::ZERO, now), [peer(1), peer(2)]);
        assert_eq!(monitor.longest_idle(1, Duration::ZERO, now), [peer(1)]);
        assert_eq!(monitor.longest_idle(5, SECOND * 6, now), [peer(1)], "the other has been idle for 5 s");
        monitor
            .connections
            .insert(peer(4), Observation { has_ended: true, ..seen(Some(start + SECOND * 9)) });
        assert_eq!(monitor.longest_idle(2, Duration::ZERO, now), [peer(4), peer(1)]);
    }

    #[test]
    fn unparsed_bytes_count_from_the_last_request() {
        let now = Instant::now();
        let mut monitor = Monitor::new(SECOND, 1000);
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        let mut before = None;
        let mut scan = |requests, is_busy, received| {
            let status = (requests > 0).then_some(ConnectionStatus { is_busy, requests, last_active: now });
            let seen =
                Observation::new(before, status, || Unread::Nothing, now).with_received(before, received);
            before = Some(seen);
            monitor.connections.insert(peer, seen);
            !monitor.flooding().is_empty()
        };
        assert!(!scan(0, false, 1000));
        assert!(scan(0, false, 1001));
        assert!(!scan(1, true, 5000), "it was a request");
        assert!(!scan(1, false, 6000));
        assert!(scan(1, true, 6001), "also behind a request that is being served");
    }
}
