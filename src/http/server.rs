//! The life cycle of a server: bind, start, shutdown.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::accept::Acceptor;
use super::config::ServerConfig;
use super::handler::Handler;
use super::listener;
use super::shared::{Lanes, Load, LoadReader, Severed, Shared};
use crate::base::descriptors::{self, OTHER_DESCRIPTORS};

/// The number of descriptors that tiny_http holds for each connection.
const DESCRIPTORS_PER_CONNECTION: u64 = 2;
/// The time limit for the connection that wakes the accept loop at a shutdown.
const WAKE_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause between two looks whether all requests are answered.
const DRAIN_TICK: Duration = Duration::from_millis(5);

/// A server that listens but takes no requests yet. Clients wait in the backlog.
pub struct Server {
    config: ServerConfig,
    listener: TcpListener,
    address: SocketAddr,
    is_adopted: bool,
    lanes: Arc<Lanes>,
}

impl Server {
    /// Opens the listening socket. A server on an address that other machines can reach needs a reverse proxy in
    /// front of it; the module documentation says why.
    ///
    /// # Errors
    /// Returns an error if the server cannot listen on the address or start its threads.
    pub fn bind(config: &ServerConfig) -> io::Result<Self> {
        Self::on(listener::open(config)?, false, config)
    }

    /// Creates a server with a socket that already listens, for example from
    /// [`activated_listener`](crate::http::activated_listener). `config.listen` is ignored. The socket stays open for
    /// its owner: clients that connect after this server's shutdown wait for the next server.
    ///
    /// # Errors
    /// Returns the same errors as [`Server::bind`], or an error if the socket does not listen.
    pub fn from_listener(listener: TcpListener, config: &ServerConfig) -> io::Result<Self> {
        listener::adopt(&listener, config)?;
        Self::on(listener, true, config)
    }

    fn on(listener: TcpListener, is_adopted: bool, config: &ServerConfig) -> io::Result<Self> {
        let address = listener.local_addr()?;
        // The pool panics if it cannot start a thread.
        let lanes = catch_unwind(|| Lanes::new(config, max_streams(config.max_streams)))
            .map_err(|_| io::Error::other("cannot start the request workers"))?;
        Ok(Self { config: config.clone(), listener, address, is_adopted, lanes: Arc::new(lanes) })
    }

    /// Returns the address on which the server listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns a reader of the load. The handler may need it before the server starts.
    pub fn load_reader(&self) -> LoadReader {
        LoadReader(Arc::clone(&self.lanes))
    }

    /// Starts to take requests.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn start(self, handler: Arc<dyn Handler>) -> io::Result<RunningServer> {
        let shared = Arc::new(Shared {
            severed: Severed::default(),
            config: self.config,
            handler,
            lanes: self.lanes,
            in_flight: AtomicUsize::new(0),
            is_draining: AtomicBool::new(false),
        });
        let (wake, woken) = mpsc::channel();
        let acceptor = Arc::new(Acceptor::new(Arc::clone(&shared), wake));
        let listener = Arc::new(self.listener);
        acceptor.start(Arc::clone(&listener), self.address, woken)?;
        let (address, is_adopted) = (self.address, self.is_adopted);
        Ok(RunningServer { shared, acceptor, listener, address, is_adopted })
    }
}

/// Returns how many streams are open at once: the configured number, or fewer if there are not enough descriptors.
/// Without connections that are left, streams would keep out all other requests.
fn max_streams(configured: usize) -> usize {
    let limit = descriptors::limit();
    let connections = (limit - OTHER_DESCRIPTORS.min(limit / 2)) / DESCRIPTORS_PER_CONNECTION;
    let possible = usize::try_from(connections * 3 / 4).unwrap_or(usize::MAX).max(1);
    if possible < configured {
        log::warn!(
            "the limit on file descriptors is {limit}: {possible} streams and waiting requests are open at once instead \
             of {configured}; raise it (`ulimit -n`, `LimitNOFILE=`)"
        );
    }
    possible.min(configured)
}

/// A server that takes requests. Dropping it shuts it down without waiting for requests.
pub struct RunningServer {
    shared: Arc<Shared>,
    acceptor: Arc<Acceptor>,
    listener: Arc<TcpListener>,
    address: SocketAddr,
    is_adopted: bool,
}

impl RunningServer {
    /// Returns the address on which the server listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the current load.
    pub fn load(&self) -> Load {
        LoadReader(Arc::clone(&self.shared.lanes)).load()
    }

    /// Refuses new connections, answers new requests with 503, and waits for `drain` at most until all requests are
    /// answered. Waits and streams end only when the handler ends them, so notify them before. Returns the number of
    /// requests, waits and streams that were not answered completely.
    pub fn shutdown(self, drain: Duration) -> usize {
        self.stop_taking();
        let (until, mut quiet_looks) = (Instant::now() + drain, 0);
        loop {
            let left = self.shared.in_flight.load(Ordering::Acquire);
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
        if self.shared.is_draining.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Err(error) = self.stop_accepting() {
            log::warn!("cannot shut the listening socket down: {error}");
        }
    }

    /// Makes `accept()` fail, which ends the accept loop.
    fn stop_accepting(&self) -> io::Result<()> {
        if self.is_adopted {
            // The socket's owner continues to listen, and new clients wait in the backlog for the next server. The
            // loop still waits in a blocking `accept()`. After one more connection the next call fails.
            self.listener.set_nonblocking(true)?;
            return TcpStream::connect_timeout(&self.address, WAKE_TIMEOUT).map(drop);
        }
        // From this point on, Linux refuses new connections.
        SockRef::from(&*self.listener).shutdown(Shutdown::Both)
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.stop_taking();
        self.acceptor.stop();
    }
}
