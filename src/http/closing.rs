//! The thread that closes connections: dropping tiny_http's request or writer does not.
//!
//! A connection is closed in steps: send the last answer, if there is one; end our direction; read off what
//! still comes, until the peer ends its own or its time is over; end both; wait until the socket is gone and all that came from it is taken. To
//! close at once would reset the connection and could destroy the answer on its way; to forget it at once
//! would let what tiny_http still reads from it pass for a new connection's. Nothing here waits for a client.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::config::{CLOSING_TICK, LONGEST_LOOK_PAUSE};
use super::core::Core;
use super::disposal::dispose;
use super::farewell::{Case, Farewell};

/// What the thread is asked to do.
pub(super) enum Order {
    /// Close a connection.
    Close(Farewell),
    /// A request that came from the address of a connection in closing.
    Bin(SocketAddr, tiny_http::Request),
    /// Cut off what this peer sends unless the watch is lifted by then.
    Watch(u64, SocketAddr, Instant),
    /// Lift a watch.
    Lift(u64),
    /// Go home.
    Stop,
}

/// The thread's state.
pub(super) struct Closing {
    core: Arc<Core>,
    cases: HashMap<SocketAddr, Case>,
    /// Requests from the addresses of closing connections: their last words, or new connections' first.
    late: Vec<(SocketAddr, tiny_http::Request)>,
    watches: HashMap<u64, (SocketAddr, Instant)>,
    next_look: Instant,
}

/// A look at very many sockets takes milliseconds: it gets at most one part in so many of the time.
const LOOK_PAUSE: u32 = 10;
/// Orders taken in a row: a flood of them must not keep the thread from closing what floods it.
const ORDERS_IN_A_ROW: usize = 256;

impl Closing {
    pub(super) fn new(core: Arc<Core>) -> Self {
        let next_look = Instant::now();
        Self { core, cases: HashMap::new(), late: Vec::new(), watches: HashMap::new(), next_look }
    }

    /// Works until told to stop.
    pub(super) fn run(mut self, orders: &Receiver<Order>) {
        let mut goes_on = true;
        while goes_on {
            goes_on = match orders.recv_timeout(self.pause()) {
                Ok(order) => {
                    let mut more = orders.try_iter().take(ORDERS_IN_A_ROW);
                    self.take(order) && more.all(|order| self.take(order))
                }
                Err(RecvTimeoutError::Timeout) => true,
                Err(RecvTimeoutError::Disconnected) => false,
            };
            self.step(Instant::now());
        }
        self.cases.values_mut().for_each(Case::end);
        // The process is about to end; to drop them could wait for clients.
        std::mem::forget(std::mem::take(&mut self.late));
    }

    fn pause(&self) -> Duration {
        let is_idle = self.cases.is_empty() && self.watches.is_empty() && self.late.is_empty();
        if is_idle { Duration::from_secs(3600) } else { CLOSING_TICK }
    }

    /// False when told to stop.
    fn take(&mut self, order: Order) -> bool {
        match order {
            Order::Close(farewell) => self.close(farewell),
            Order::Bin(peer, request) => self.late.push((peer, request)),
            Order::Watch(id, peer, until) => {
                self.watches.insert(id, (peer, until));
            }
            Order::Lift(id) => {
                self.watches.remove(&id);
            }
            Order::Stop => return false,
        }
        true
    }

    fn close(&mut self, farewell: Farewell) {
        match self.cases.get_mut(&farewell.peer) {
            Some(case) => case.merge(farewell),
            None => {
                self.cases.insert(farewell.peer, Case::new(farewell));
            }
        }
    }

    fn step(&mut self, now: Instant) {
        if now >= self.next_look {
            let looked = self.find_new(now).and_then(|()| self.look_for_ended(now));
            if let Err(error) = looked.and_then(|()| self.judge_late()) {
                log::error!("can't look for the sockets to close: {error}");
            }
            self.next_look = now + (now.elapsed() * LOOK_PAUSE).min(LONGEST_LOOK_PAUSE);
        }
        let core = &self.core;
        self.cases.retain(|peer, case| {
            case.step(now, &core.intakes);
            if case.is_gone() {
                core.connections.forget(*peer);
            }
            !case.is_gone()
        });
    }

    /// Finds, in one look, the sockets of new cases and of overdue watches.
    fn find_new(&mut self, now: Instant) -> io::Result<()> {
        let late: Vec<(u64, SocketAddr)> =
            self.watches.iter().filter(|(_, (_, until))| *until <= now).map(|(id, w)| (*id, w.0)).collect();
        let new: Vec<SocketAddr> =
            self.cases.iter().filter(|(_, case)| case.is_new()).map(|(peer, _)| *peer).collect();
        if new.is_empty() && late.is_empty() {
            return Ok(());
        }
        let wanted = new.iter().copied().chain(late.iter().map(|(_, peer)| *peer)).collect();
        let mut found = self.core.sockets.pin(&wanted)?;
        for (id, peer) in late {
            self.watches.remove(&id);
            if let Some(socket) = found.get(&peer) {
                socket.shutdown(Shutdown::Read);
            }
        }
        for peer in new {
            if let Some(case) = self.cases.get_mut(&peer) {
                case.found(found.remove(&peer), now);
            }
        }
        Ok(())
    }

    /// Looks which of the ended connections are gone.
    fn look_for_ended(&mut self, now: Instant) -> io::Result<()> {
        let ended: HashSet<u64> = self.cases.values().filter_map(|case| case.ended_socket(now)).collect();
        if ended.is_empty() {
            return Ok(());
        }
        let open = self.core.sockets.still_open(&ended)?;
        for case in self.cases.values_mut() {
            if let Some(inode) = case.ended_socket(now) {
                case.looked(open.contains(&inode), now, &self.core.intakes);
            }
        }
        Ok(())
    }

    /// A late request with a newer socket behind it is served; any other is dropped.
    fn judge_late(&mut self) -> io::Result<()> {
        if self.late.is_empty() {
            return Ok(());
        }
        let found = self.core.sockets.pin(&self.late.iter().map(|(peer, _)| *peer).collect())?;
        for (peer, request) in std::mem::take(&mut self.late) {
            match (self.cases.get_mut(&peer), found.get(&peer)) {
                (Some(case), Some(socket)) if case.is_followed_by(socket) => {
                    case.end();
                    self.cases.remove(&peer);
                    self.core.connections.forget(peer);
                    self.core.take(request);
                }
                (Some(case), _) => case.merge(Farewell::cut_off(peer, vec![request])),
                (None, Some(_)) => self.core.take(request),
                (None, None) => dispose(request),
            }
        }
        Ok(())
    }
}

/// Gives orders to the closing thread.
pub(super) struct Closer {
    orders: Sender<Order>,
    next_watch: AtomicU64,
}

/// A time limit on what a peer sends; dropping it lifts the limit.
pub(super) struct Watch {
    orders: Sender<Order>,
    id: u64,
}

impl Closer {
    pub(super) fn new(orders: Sender<Order>) -> Self {
        Self { orders, next_watch: AtomicU64::new(0) }
    }

    pub(super) fn order(&self, order: Order) {
        // The thread ends last. What comes later still must not be dropped: that would wait for a client.
        if let Err(refused) = self.orders.send(order) {
            std::mem::forget(refused);
        }
    }

    /// From `until` on, a read from this peer finds the end.
    pub(super) fn watch(&self, peer: SocketAddr, until: Instant) -> Watch {
        let id = self.next_watch.fetch_add(1, Ordering::Relaxed);
        self.order(Order::Watch(id, peer, until));
        Watch { orders: self.orders.clone(), id }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Lift(self.id));
    }
}
