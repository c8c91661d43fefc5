//! What all threads of a server share.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::config::ServerConfig;
use super::handler::Handler;
use super::threads::Threads;
use crate::base::count::{ActiveCount, Counter};

/// The state that all threads of a server share.
pub(super) struct Shared {
    pub(super) config: ServerConfig,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) threads: Arc<Threads>,
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    /// The number of requests that are not answered yet.
    pub(super) in_flight: ActiveCount,
    pub(super) severed: Severed,
    /// Whether the server has stopped taking requests.
    pub(super) is_draining: AtomicBool,
    /// Whether the server's own threads end.
    pub(super) is_stopped: AtomicBool,
    /// The number of received requests.
    pub(super) received: Counter,
    /// A random path that no client can request, by which a knock is recognised.
    pub(super) knock_path: String,
}

impl Shared {
    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }
}

/// The connections of which no further request is served, because it is not known where their next request begins, or
/// because a stream on them broke off.
///
/// Fault of tiny_http: a connection cannot be closed, and after a head that can be read in two ways tiny_http reads on.
/// Cure: its further requests are dropped unanswered for a while. What is on its way comes within that time, and a proxy
/// ends the connection because the answer asks for it. Test: `hostile_clients_get_their_answers`.
#[derive(Default)]
pub(super) struct Severed(Mutex<HashMap<SocketAddr, Instant>>);

/// The time for which requests of a severed connection are dropped. It is short, since another connection may have the same
/// port soon.
const SEVERED_FOR: Duration = Duration::from_secs(5);

impl Severed {
    /// Severs the connection of this peer, on which nothing is read for `pause` at most.
    pub(super) fn add(&self, peer: SocketAddr, pause: Duration) {
        let mut peers = self.0.lock();
        peers.retain(|_, until| *until > Instant::now());
        peers.insert(peer, Instant::now() + SEVERED_FOR + pause);
    }

    /// Returns whether a request of this peer must be dropped.
    pub(super) fn contains(&self, peer: SocketAddr) -> bool {
        self.0.lock().get(&peer).is_some_and(|until| *until > Instant::now())
    }
}
