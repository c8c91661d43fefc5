//! The life cycle of a server: bind, start, shutdown; and what all of its threads share.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::net::{Shutdown, shutdown};
use uuid::Uuid;

use super::config::ServerConfig;
use super::handler::Handler;
use super::listener;
use super::threads::{Load, Threads};
use crate::base::count::{ActiveCount, Counter};
use crate::base::descriptors;

/// The pause between two looks whether all requests are answered.
const DRAIN_TICK: Duration = Duration::from_millis(5);

/// A server that listens but takes no requests yet. Clients wait in the backlog.
pub struct Server {
    pub(super) config: ServerConfig,
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    pub(super) threads: Arc<Threads>,
}

impl Server {
    /// Opens the listening socket. A server on an address that other machines can reach needs a reverse proxy in
    /// front of it; the module documentation says why.
    ///
    /// # Errors
    /// Returns an error if the server cannot listen on the address or start its threads.
    pub fn bind(config: &ServerConfig) -> io::Result<Self> {
        Self::from_listener(listener::open(config)?, config)
    }

    /// Creates a server with a socket that listens. `config.listen` is ignored.
    ///
    /// # Errors
    /// Returns an error if the socket has no address, or if a thread cannot be started.
    pub fn from_listener(listener: TcpListener, config: &ServerConfig) -> io::Result<Self> {
        let address = listener.local_addr()?;
        // The pool panics if it cannot start a thread.
        let threads = catch_unwind(|| Threads::new(config, descriptors::streams(config.max_streams)))
            .map_err(|_| io::Error::other("cannot start the request workers"))?;
        Ok(Self { config: config.clone(), listener, address, threads: Arc::new(threads) })
    }

    /// Returns the address on which the server listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the threads, of which the handler may read the load.
    pub fn threads(&self) -> Arc<Threads> {
        Arc::clone(&self.threads)
    }

    /// Starts to take requests.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn start(self, handler: Arc<dyn Handler>) -> io::Result<RunningServer> {
        let server = Arc::new(Shared {
            server: self,
            handler,
            in_flight: ActiveCount::default(),
            severed: Severed::default(),
            is_draining: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            received: Counter::default(),
            knock_path: format!("/{}", Uuid::new_v4().simple()),
        });
        server.start_accepting()?;
        Ok(RunningServer(server))
    }
}

/// The state that all threads of a running server share.
pub(super) struct Shared {
    pub(super) server: Server,
    pub(super) handler: Arc<dyn Handler>,
    /// The number of requests that are not answered yet.
    pub(super) in_flight: ActiveCount,
    pub(super) severed: Severed,
    /// Whether the server has stopped taking requests.
    is_draining: AtomicBool,
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

/// A server that takes requests. Dropping it shuts it down without waiting for requests.
pub struct RunningServer(Arc<Shared>);

impl RunningServer {
    /// Returns the current load.
    pub fn load(&self) -> Load {
        self.0.server.threads.load()
    }

    /// Refuses new connections, answers new requests with 503, and waits for `drain` at most until all requests are
    /// answered. Waits and streams end only when the handler ends them, so notify them before. Returns the number of
    /// requests, waits and streams that were not answered completely.
    pub fn shutdown(self, drain: Duration) -> u64 {
        self.stop_taking();
        let (until, mut quiet_looks) = (Instant::now() + drain, 0);
        loop {
            let left = self.0.in_flight.get();
            quiet_looks = if left == 0 { quiet_looks + 1 } else { 0 };
            // Between two looks the receiving thread counts a request that it was just about to receive.
            if quiet_looks == 2 || Instant::now() >= until {
                return left;
            }
            thread::sleep(DRAIN_TICK);
        }
    }

    /// Executes the first half of [`RunningServer::shutdown`] without waiting, so that waits and streams can be
    /// notified after it.
    pub fn stop_taking(&self) {
        if self.0.is_draining.swap(true, Ordering::AcqRel) {
            return;
        }
        // From this point on, Linux refuses new connections, and `accept()` fails, which ends the accept loop.
        if let Err(error) = shutdown(&self.0.server.listener, Shutdown::Both) {
            log::warn!("cannot shut the listening socket down: {error}");
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.stop_taking();
        self.0.is_stopped.store(true, Ordering::Release);
    }
}
