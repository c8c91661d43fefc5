//! What the supervisor remembers of the connections between two looks.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::config::NEW_FOR;
use super::connections::Standing;
use super::sockets::{Accepted, Unread};

/// The connections of the last look.
pub(super) struct Watchlist {
    seen: HashMap<SocketAddr, Seen>,
    head_timeout: Duration,
}

#[derive(Clone, Copy)]
struct Seen {
    first: Instant,
    /// Since when nothing of it is in hand.
    idle_since: Option<Instant>,
    /// The peer sends nothing more; pokes end so.
    has_ended: bool,
    /// Requests it had sent, if bytes lay unread then.
    unread_at: Option<u64>,
    /// No request has come from it.
    is_unserved: bool,
}

impl Watchlist {
    pub(super) fn new(head_timeout: Duration) -> Self {
        Self { seen: HashMap::new(), head_timeout }
    }

    /// Takes a look's outcome. Gives the number of connections that have bytes unread and no request in hand
    /// for the second time running: tiny_http has forgotten them.
    pub(super) fn update(
        &mut self,
        accepted: &[Accepted],
        standings: &HashMap<SocketAddr, Option<Standing>>,
        now: Instant,
    ) -> usize {
        let mut done = HashSet::with_capacity(accepted.len());
        let mut next = HashMap::with_capacity(accepted.len());
        let mut stuck = 0;
        for socket in accepted {
            if !done.insert(socket.peer) {
                continue;
            }
            let before = self.seen.get(&socket.peer).copied();
            let standing = standings.get(&socket.peer).copied().flatten();
            let unread = || socket.unread();
            let seen = Seen::now(before, standing, unread, now);
            if seen.unread_at.is_some() && before.is_some_and(|before| before.unread_at == seen.unread_at) {
                stuck += 1;
            }
            next.insert(socket.peer, seen);
        }
        self.seen = next;
        stuck
    }

    /// Connections that have sent no whole request for too long.
    pub(super) fn overdue(&self, now: Instant) -> Vec<SocketAddr> {
        let is_overdue = |since: Instant| now.saturating_duration_since(since) >= self.head_timeout;
        self.idle().filter(|(_, since)| is_overdue(*since)).map(|(peer, _)| peer).collect()
    }

    /// So many connections, those first that have ended, then those that have done nothing for longest.
    pub(super) fn longest_idle(&self, count: usize) -> Vec<SocketAddr> {
        if count == 0 {
            return Vec::new();
        }
        let idle = |(peer, seen): (&SocketAddr, &Seen)| Some((!seen.has_ended, seen.idle_since?, *peer));
        let mut idle: Vec<_> = self.seen.iter().filter_map(idle).collect();
        idle.sort_unstable();
        idle.into_iter().take(count).map(|(_, _, peer)| peer).collect()
    }

    /// Whether there are connections that have only just come.
    pub(super) fn has_new(&self, now: Instant) -> bool {
        let is_new = |seen: &Seen| seen.is_unserved && now.saturating_duration_since(seen.first) < NEW_FOR;
        self.seen.values().any(is_new)
    }

    fn idle(&self) -> impl Iterator<Item = (SocketAddr, Instant)> {
        self.seen.iter().filter_map(|(peer, seen)| Some((*peer, seen.idle_since?)))
    }
}

impl Seen {
    fn now(
        before: Option<Self>,
        standing: Option<Standing>,
        unread: impl Fn() -> Unread,
        now: Instant,
    ) -> Self {
        let first = before.map_or(now, |before| before.first);
        if standing.is_some_and(|standing| standing.is_busy) {
            return Self { first, idle_since: None, has_ended: false, unread_at: None, is_unserved: false };
        }
        let unread = unread();
        let served = standing.map_or(0, |standing| standing.served);
        Self {
            first,
            idle_since: Some(standing.map_or(first, |standing| standing.last_active)),
            has_ended: unread == Unread::End,
            unread_at: (unread == Unread::Bytes).then_some(served),
            is_unserved: served == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_busy_connection_is_neither_idle_nor_stuck() {
        let now = Instant::now();
        let busy = Standing { is_busy: true, served: 3, last_active: now };
        let seen = Seen::now(None, Some(busy), || Unread::Bytes, now + SECOND);
        assert!(seen.idle_since.is_none() && seen.unread_at.is_none());
    }

    #[test]
    fn idleness_counts_from_the_last_answer_or_from_the_first_look() {
        let start = Instant::now();
        let fresh = Seen::now(None, None, || Unread::Nothing, start);
        assert_eq!(fresh.idle_since, Some(start));
        let later = Seen::now(Some(fresh), None, || Unread::Nothing, start + SECOND);
        assert_eq!(later.idle_since, Some(start));
        let answered = Standing { is_busy: false, served: 1, last_active: start + SECOND };
        let after = Seen::now(Some(later), Some(answered), || Unread::Bytes, start + SECOND * 2);
        assert_eq!((after.idle_since, after.unread_at), (Some(start + SECOND), Some(1)));
    }

    #[test]
    fn a_connection_is_new_until_its_first_request_or_for_a_moment() {
        let start = Instant::now();
        let mut list = Watchlist::new(SECOND);
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        list.seen.insert(peer, Seen::now(None, None, || Unread::Nothing, start));
        assert!(list.has_new(start) && !list.has_new(start + NEW_FOR));
        let busy = Standing { is_busy: true, served: 1, last_active: start };
        for standing in [busy, Standing { is_busy: false, ..busy }] {
            list.seen.insert(peer, Seen::now(None, Some(standing), || Unread::Nothing, start));
            assert!(!list.has_new(start));
        }
    }

    #[test]
    fn overdue_and_longest_idle() {
        let start = Instant::now();
        let peer = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let seen = |idle_since| Seen {
            first: start,
            idle_since,
            has_ended: false,
            unread_at: None,
            is_unserved: false,
        };
        let mut list = Watchlist::new(SECOND * 10);
        list.seen.insert(peer(1), seen(Some(start)));
        list.seen.insert(peer(2), seen(Some(start + SECOND * 5)));
        list.seen.insert(peer(3), seen(None));
        assert_eq!(list.overdue(start + SECOND * 9), []);
        assert_eq!(list.overdue(start + SECOND * 10), [peer(1)]);
        assert_eq!(list.longest_idle(5), [peer(1), peer(2)]);
        assert_eq!(list.longest_idle(1), [peer(1)]);
        list.seen.insert(peer(4), Seen { has_ended: true, ..seen(Some(start + SECOND * 9)) });
        assert_eq!(list.longest_idle(2), [peer(4), peer(1)]);
    }
}
