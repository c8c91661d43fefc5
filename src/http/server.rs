//! The life cycle of a server: bind, start, shutdown.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{Shutdown, shutdown};
use uuid::Uuid;

use super::config::ServerConfig;
use super::handler::Handler;
use super::listener;
use super::shared::{Severed, Shared};
use super::threads::{Load, Threads};
use crate::base::count::{ActiveCount, Counter};
use crate::base::descriptors;

/// The pause between two looks whether all requests are answered.
const DRAIN_TICK: Duration = Duration::from_millis(5);

/// A server that listens but takes no requests yet. Clients wait in the backlog.
pub struct Server {
    config: ServerConfig,
    listener: TcpListener,
    address: SocketAddr,
    threads: Arc<Threads>,
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
        let Self { config, listener, address, threads } = self;
        let server = Arc::new(Shared {
            config,
            handler,
            threads,
            listener,
            address,
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

/// A server that takes requests. Dropping it shuts it down without waiting for requests.
pub struct RunningServer(Arc<Shared>);

impl RunningServer {
    /// Returns the address on which the server listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.0.address
    }

    /// Returns the current load.
    pub fn load(&self) -> Load {
        self.0.threads.load()
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
        if let Err(error) = shutdown(&self.0.listener, Shutdown::Both) {
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
