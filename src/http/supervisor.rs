//! The thread that keeps tiny_http alive: looks at its sockets, pokes, probes, and rebuilds a dead accept loop.

use std::collections::{HashMap, HashSet};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::bell::Bell;
use super::closing::Order;
use super::config::{
    LONGEST_LOOK_PAUSE, LOOK_AT_NEW, LOOK_EVERY, LOOK_SHARE, MAX_POKES, REBUILD_BACKOFF, REBUILD_DESCRIPTORS,
    RETIRE_AFTER,
};
use super::core::Core;
use super::farewell::Farewell;
use super::generation::Generation;
use super::probe::{Probes, poke, take_panic_notice};
use super::sockets::{descriptors_are_free, is_out_of_descriptors};
use super::watchlist::Watchlist;

/// The thread's state.
pub(super) struct Supervisor {
    core: Arc<Core>,
    listener: Arc<TcpListener>,
    own: SocketAddr,
    bell: Arc<Bell>,
    probes: Arc<Probes>,
    /// The last one lives; those before have connections left, perhaps.
    generations: Vec<Generation>,
    watchlist: Watchlist,
    next_look: Instant,
    /// Not before, whoever knocks.
    earliest_look: Instant,
    /// Someone has knocked since the last look.
    is_called: bool,
    next_probe: Instant,
    unanswered: u32,
    /// A thread of tiny_http's panicked, and no probe was answered since.
    is_suspicious: bool,
    backoff: Duration,
    next_rebuild: Instant,
}

/// So many unanswered probes in a row mean that the accept loop is gone, if nothing else points to it: one
/// could be forgotten by tiny_http, or late on a crowded machine.
const UNANSWERED_PROBES: u32 = 3;
/// A loop that only does not answer may live; each such rebuild leaves it standing. Enough is enough.
const MOST_GENERATIONS: usize = 64;

impl Supervisor {
    pub(super) fn new(
        core: Arc<Core>,
        listener: Arc<TcpListener>,
        own: SocketAddr,
        bell: Arc<Bell>,
    ) -> std::io::Result<Self> {
        let now = Instant::now();
        let mut supervisor = Self {
            watchlist: Watchlist::new(core.config.head_timeout),
            next_probe: now + core.config.probe_every,
            core,
            listener,
            own,
            bell,
            probes: Arc::new(Probes::new()),
            generations: Vec::new(),
            next_look: now,
            earliest_look: now,
            is_called: false,
            unanswered: 0,
            is_suspicious: false,
            backoff: REBUILD_BACKOFF.0,
            next_rebuild: now,
        };
        let first = supervisor.build()?;
        supervisor.generations.push(first);
        Ok(supervisor)
    }

    /// Works until the bell rings for the last time.
    pub(super) fn run(mut self) {
        while !self.bell.is_over() {
            self.wait();
            let is_draining = self.core.is_draining.load(Ordering::Acquire);
            if Instant::now() >= self.next_look || is_draining {
                self.look(is_draining);
            }
            if !is_draining {
                self.keep_alive(Instant::now());
            }
        }
    }

    /// Waits for the time of the next look. A knock brings it forward: new connections are those that tiny_http
    /// forgets.
    fn wait(&mut self) {
        let is_open = !self.is_called && !self.core.is_draining.load(Ordering::Acquire);
        let door = is_open.then_some(&*self.listener);
        if self.bell.wait(door, self.next_look.saturating_duration_since(Instant::now())) {
            self.is_called = true;
            let soon = self.earliest_look.max(Instant::now() + LOOK_AT_NEW);
            self.next_look = self.next_look.min(soon);
        }
    }

    fn build(&self) -> std::io::Result<Generation> {
        Generation::start(&self.listener, &self.core, &self.probes, &self.bell)
    }

    fn look(&mut self, is_draining: bool) {
        let begun = Instant::now();
        match self.core.sockets.accepted() {
            Ok(accepted) => {
                let peers: HashSet<SocketAddr> = accepted.iter().map(|socket| socket.peer).collect();
                let standings: HashMap<_, _> =
                    peers.iter().map(|peer| (*peer, self.core.connections.standing(*peer))).collect();
                let stuck = self.watchlist.update(&accepted, &standings, begun);
                self.core.connections.purge(&peers, PURGE_AGE, begun);
                self.core.counters.connections.store(peers.len(), Ordering::Relaxed);
                self.close_surplus(peers.len(), is_draining, begun);
                if !is_draining {
                    self.poke(stuck);
                }
            }
            Err(error) => log::warn!("can't look at the connections: {error}"),
        }
        let usual = if self.watchlist.has_new(begun) { LOOK_AT_NEW } else { LOOK_EVERY };
        let fair = (begun.elapsed() * LOOK_SHARE).min(LONGEST_LOOK_PAUSE);
        self.is_called = false;
        self.earliest_look = begun + fair;
        self.next_look = begun + fair.max(usual);
    }

    /// Closes what sends its head too slowly, and idle connections over the limit; all idle ones at the end.
    fn close_surplus(&self, count: usize, is_draining: bool, now: Instant) {
        let most = if is_draining { 0 } else { self.core.counters.connections_max };
        let surplus = count.saturating_sub(most);
        let overdue = self.watchlist.overdue(now);
        if !overdue.is_empty() {
            log::debug!("{} connections sent no whole request in time", overdue.len());
        }
        if surplus > 0 && !is_draining {
            log::warn!("{surplus} connections too many; idle ones are closed");
        }
        for peer in self.watchlist.longest_idle(surplus).into_iter().chain(overdue) {
            self.core.close_if_idle(peer);
        }
    }

    fn poke(&self, stuck: usize) {
        for _ in 0..stuck.min(MAX_POKES) {
            if let Err(error) = poke(self.own) {
                log::debug!("a poke failed: {error}");
                break;
            }
        }
    }

    fn keep_alive(&mut self, now: Instant) {
        if take_panic_notice() {
            self.is_suspicious = true;
            self.next_probe = now;
        }
        let is_dead = self.generations.last().is_none_or(Generation::is_dead);
        if !is_dead && now >= self.next_probe {
            let is_told = self.probe();
            // A suspicion does not wait for the usual time until there is a descriptor to look into it.
            let pause =
                if self.is_suspicious && !is_told { LOOK_EVERY } else { self.core.config.probe_every };
            self.next_probe = Instant::now() + pause;
        }
        if self.generations.last().is_none_or(Generation::is_dead) && now >= self.next_rebuild {
            self.rebuild();
        }
        self.retire();
    }

    /// Whether it told anything: without a descriptor for it, it does not.
    fn probe(&mut self) -> bool {
        match self.probes.is_answered(self.own) {
            Ok(true) => {
                self.unanswered = 0;
                self.is_suspicious = false;
                self.backoff = REBUILD_BACKOFF.0;
            }
            Err(error) if is_out_of_descriptors(&error) => {
                log::debug!("no descriptor is left to probe the accept loop");
                self.core.make_room(&self.watchlist);
                return false;
            }
            Ok(false) | Err(_) => self.unanswered += 1,
        }
        let enough = if self.is_suspicious { 1 } else { UNANSWERED_PROBES };
        if self.unanswered < enough {
            return true;
        }
        self.unanswered = 0;
        if self.generations.len() < MOST_GENERATIONS {
            log::warn!("the accept loop doesn't answer");
            self.generations.iter().for_each(Generation::give_up);
        } else {
            log::error!("the accept loop doesn't answer, and was rebuilt too often already");
        }
        true
    }

    fn rebuild(&mut self) {
        self.next_rebuild = Instant::now() + self.backoff;
        self.backoff = (self.backoff * 2).min(REBUILD_BACKOFF.1);
        if !descriptors_are_free(REBUILD_DESCRIPTORS) {
            return self.core.make_room(&self.watchlist);
        }
        match self.build() {
            Ok(generation) => {
                self.generations.push(generation);
                self.core.counters.rebuilds.fetch_add(1, Ordering::Relaxed);
                self.next_probe = Instant::now();
                log::warn!("the accept loop is rebuilt");
            }
            Err(error) => log::error!("the accept loop can't be rebuilt yet: {error}"),
        }
    }

    /// Lets go of dead generations that have no connection left.
    fn retire(&mut self) {
        let last = self.generations.len().saturating_sub(1);
        let busy = self.core.streams.open() > 0;
        let mut index = 0;
        self.generations.retain(|generation| {
            index += 1;
            index > last || busy || !generation.has_been_quiet(RETIRE_AFTER)
        });
    }
}

/// A connection may have sent its first request after the sockets were looked at.
const PURGE_AGE: Duration = Duration::from_secs(1);

impl Core {
    /// Closes connections that do nothing, so that descriptors come free.
    fn make_room(&self, watchlist: &Watchlist) {
        for peer in watchlist.longest_idle(REBUILD_DESCRIPTORS) {
            self.close_if_idle(peer);
        }
    }

    fn close_if_idle(&self, peer: SocketAddr) {
        if self.connections.close_if_idle(peer, Instant::now()) {
            self.closer.order(Order::Close(Farewell::cut_off(peer, Vec::new())));
        }
    }
}
