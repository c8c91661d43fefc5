//! The server: bind, start, load, shutdown.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::bell::Bell;
use super::closing::{Closer, Closing, Order};
use super::config::{
    LINGER, MAX_PIPELINED, OWN_STACK_BYTES, REFUSAL_QUEUE, REFUSAL_WORKERS, ServerConfig, WORKER_STACK_BYTES,
};
use super::connections::Connections;
use super::core::{Core, InFlight};
use super::crew::Crew;
use super::generation::Intakes;
use super::handler::Handler;
use super::load::{Counters, Gauge, Load};
use super::sockets::Sockets;
use super::streams::Streams;
use super::supervisor::Supervisor;
use super::workers::Workers;
use super::{limits, listener, probe};

/// A server that listens but takes no requests yet: clients wait in the backlog.
pub struct Server {
    config: ServerConfig,
    listener: TcpListener,
    address: SocketAddr,
    is_adopted: bool,
    gauge: Gauge,
}

impl Server {
    /// Opens the listening socket. Listening on anything but loopback logs a warning: this server stands
    /// behind a reverse proxy.
    ///
    /// # Errors
    /// When the configuration is out of range ([`io::ErrorKind::InvalidInput`]), the address can't be
    /// listened on.
    pub fn bind(config: &ServerConfig) -> io::Result<Self> {
        config.validate()?;
        Self::on(listener::open(config)?, false, config)
    }

    /// Takes a socket that is listening already, as from [`super::activated_listener`]; `config.listen` is
    /// not looked at. It stays open for its owner: who comes after this server's shutdown waits for the next.
    ///
    /// # Errors
    /// As [`Server::bind`], and when the socket does not listen.
    pub fn from_listener(listener: TcpListener, config: &ServerConfig) -> io::Result<Self> {
        config.validate()?;
        listener::adopt(&listener, config)?;
        Self::on(listener, true, config)
    }

    fn on(listener: TcpListener, is_adopted: bool, config: &ServerConfig) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener::warn_if_open(address);
        if config.adjust_descriptor_limit {
            limits::adjust_descriptor_limit();
        }
        let connections_max = config.max_connections.unwrap_or_else(limits::connections_for_descriptors);
        let gauge = Gauge {
            counters: Arc::new(Counters::new(config, connections_max)),
            crew: Arc::new(Crew::new(config.request_workers, config.request_queue)),
            streams: Arc::new(Streams::new(config.max_streams, config.stream_stack_bytes)),
        };
        Ok(Self { config: config.clone(), listener, address, is_adopted, gauge })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Reads the load; for the handler, which is made before the server starts.
    pub fn gauge(&self) -> Gauge {
        self.gauge.clone()
    }

    /// Begins to take requests.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub fn start(self, handler: Arc<dyn Handler>) -> io::Result<RunningServer> {
        probe::notice_panics();
        let (orders, taken) = mpsc::channel();
        let bodies = self.config.body_workers;
        let core = Arc::new(Core {
            handler,
            sockets: Sockets::new(self.address.port()),
            connections: Connections::new(MAX_PIPELINED),
            closer: Closer::new(orders),
            intakes: Intakes::default(),
            crew: Arc::clone(&self.gauge.crew),
            bodies: Workers::start("http-body", bodies, self.config.request_queue, WORKER_STACK_BYTES)?,
            refusals: Workers::start("http-refuse", REFUSAL_WORKERS, REFUSAL_QUEUE, WORKER_STACK_BYTES)?,
            streams: Arc::clone(&self.gauge.streams),
            counters: Arc::clone(&self.gauge.counters),
            in_flight: InFlight::default(),
            is_draining: AtomicBool::new(false),
            config: self.config,
        });
        Crew::start(&core)?;
        let closing = Closing::new(Arc::clone(&core));
        let closing = spawn("http-close", move || closing.run(&taken))?;
        let listener = Arc::new(self.listener);
        let bell = Arc::new(Bell::new()?);
        let own = listener::own_address(self.address);
        let supervisor = Supervisor::new(Arc::clone(&core), Arc::clone(&listener), own, Arc::clone(&bell))?;
        let supervisor = spawn("http-watch", move || supervisor.run())?;
        Ok(RunningServer {
            core,
            listener,
            address: self.address,
            is_adopted: self.is_adopted,
            gauge: self.gauge,
            bell,
            supervisor: Some(supervisor),
            closing: Some(closing),
        })
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).stack_size(OWN_STACK_BYTES).spawn(work)
}

/// A server at work. Dropping it shuts it down at once.
pub struct RunningServer {
    core: Arc<Core>,
    listener: Arc<TcpListener>,
    address: SocketAddr,
    is_adopted: bool,
    gauge: Gauge,
    bell: Arc<Bell>,
    supervisor: Option<JoinHandle<()>>,
    closing: Option<JoinHandle<()>>,
}

/// How a shutdown went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Requests, waits and streams that were not answered to their end.
    pub left: usize,
}

impl RunningServer {
    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The present load.
    pub fn load(&self) -> Load {
        self.gauge.load()
    }

    /// Takes no more connections (new ones are refused) and no more requests (503), and waits until what is
    /// in flight is answered, at most for `drain`. Waits and streams end when the product ends them: wake
    /// them before.
    pub fn shutdown(mut self, drain: Duration) -> Drained {
        self.end(drain)
    }

    /// The first half of [`RunningServer::shutdown`], without waiting; for who has to wake waits and streams
    /// after it.
    pub fn stop_taking(&self) {
        if self.core.is_draining.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Err(error) = self.end_accepting() {
            log::warn!("the listening socket can't be shut down: {error}");
        }
        self.bell.ring();
    }

    /// Makes `accept()` fail from here on, which ends the accept loop.
    fn end_accepting(&self) -> io::Result<()> {
        if self.is_adopted {
            // Its owner goes on listening: new clients wait in the backlog for the next server. The loop is
            // in an `accept()` that still waits; one connection more, and it finds none.
            self.listener.set_nonblocking(true)?;
            return probe::poke(listener::own_address(self.address));
        }
        // The kernel refuses new connections.
        SockRef::from(&*self.listener).shutdown(std::net::Shutdown::Both)
    }

    fn end(&mut self, drain: Duration) -> Drained {
        let Some(supervisor) = self.supervisor.take() else { return Drained { left: 0 } };
        self.stop_taking();
        let until = Instant::now() + drain;
        let left = self.core.in_flight.wait_for_none(drain);
        if left == 0 {
            // The last answers are on their way; what is not gone by then never goes.
            self.core.connections.wait_for_closing(until.min(Instant::now() + LINGER * 2));
        }
        self.bell.end();
        let _ = supervisor.join();
        self.core.crew.end();
        self.core.closer.order(Order::Stop);
        if let Some(closing) = self.closing.take() {
            let _ = closing.join();
        }
        Drained { left }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}
