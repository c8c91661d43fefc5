//! The life cycle of a server: bind, start, load, shutdown.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::dispatcher::Dispatcher;
use super::probe::{self, Probe};
use super::shared::{InFlight, Shared};
use super::supervisor::Supervisor;
use super::thread_group::ThreadGroup;
use super::wake_up::WakeUp;
use super::worker_pool::WorkerPool;
use super::{limits, listener};
use crate::base::descriptors;
use crate::http::config::{LINGER, MAX_PIPELINED, MAX_REFUSALS, OWN_STACK_BYTES, ServerConfig};
use crate::http::connection::closer::{Closer, Command};
use crate::http::connection::closing_thread::ClosingThread;
use crate::http::connection::shared::Connections;
use crate::http::connection::sockets::Sockets;
use crate::http::connection::table::ConnectionTable;
use crate::http::handler::Handler;
use crate::http::load::{Counters, Load, LoadReader};

/// A server that listens but takes no requests yet. Clients wait in the backlog.
pub struct Server {
    config: ServerConfig,
    listener: TcpListener,
    address: SocketAddr,
    is_adopted: bool,
    load_reader: LoadReader,
}

impl Server {
    /// Opens the listening socket. A server on an address that other machines can reach needs a reverse proxy in
    /// front of it; the module documentation says why.
    ///
    /// # Errors
    /// Returns an error if the server cannot listen on the address.
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
        if config.adjust_descriptor_limit {
            descriptors::adjust_limit();
        }
        let connections_max = config.max_connections.unwrap_or_else(limits::max_connections);
        // Without connections that are left, streams would keep out all other requests.
        let max_streams = config.max_streams.min((connections_max * 3 / 4).max(1));
        if max_streams < config.max_streams {
            log::warn!(
                "the limits on file descriptors and threads allow {connections_max} connections: {max_streams} streams \
                 and waiting requests are open at once instead of {}; raise them (`ulimit -n`, `LimitNOFILE=`)",
                config.max_streams
            );
        }
        let load_reader = LoadReader {
            counters: Arc::new(Counters::new(config, connections_max)),
            streams: Arc::new(ThreadGroup::new("http-stream", max_streams, config.stream_stack_bytes)),
        };
        Ok(Self { config: config.clone(), listener, address, is_adopted, load_reader })
    }

    /// Returns the address on which the server listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns a reader of the load. The handler may need it before the server starts.
    pub fn load_reader(&self) -> LoadReader {
        self.load_reader.clone()
    }

    /// Starts to take requests.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn start(self, handler: Arc<dyn Handler>) -> io::Result<RunningServer> {
        probe::install_panic_hook();
        let (commands, received) = mpsc::channel();
        let connections = Arc::new(Connections {
            sockets: Sockets::new(self.address.port()),
            table: ConnectionTable::new(MAX_PIPELINED),
            closer: Closer::new(commands),
        });
        let dispatcher = self.dispatcher(handler, &connections)?;
        dispatcher.start_workers()?;
        let serving = Arc::clone(&dispatcher);
        let serve = Box::new(move |request| serving.take(request));
        let closing = ClosingThread::new(connections, Arc::clone(&dispatcher.queues), serve);
        let closing = spawn("http-close", move || closing.run(&received))?;
        let listener = Arc::new(self.listener);
        let own = listener::own_address(self.address);
        let supervisor = Supervisor::new(Arc::clone(&dispatcher), Arc::clone(&listener), own)?;
        let supervisor = spawn("http-supervisor", move || supervisor.run())?;
        Ok(RunningServer {
            dispatcher,
            listener,
            address: self.address,
            is_adopted: self.is_adopted,
            load_reader: self.load_reader,
            supervisor: Some(supervisor),
            closing: Some(closing),
        })
    }

    fn dispatcher(
        &self,
        handler: Arc<dyn Handler>,
        connections: &Arc<Connections>,
    ) -> io::Result<Arc<Dispatcher>> {
        let config = &self.config;
        let counters = Arc::clone(&self.load_reader.counters);
        let group = |name, max| Arc::new(ThreadGroup::new(name, max, config.stream_stack_bytes));
        Ok(Arc::new(Dispatcher {
            pool: WorkerPool::new(config.request_queue, Arc::clone(&counters)),
            bodies: group("http-body", config.max_bodies),
            refusals: group("http-refuse", MAX_REFUSALS),
            queues: Arc::default(),
            probe: Probe::new(),
            wake_up: Arc::new(WakeUp::new()?),
            shared: Arc::new(Shared {
                config: config.clone(),
                handler,
                connections: Arc::clone(connections),
                streams: Arc::clone(&self.load_reader.streams),
                counters,
                in_flight: InFlight::default(),
                is_draining: AtomicBool::new(false),
            }),
        }))
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).stack_size(OWN_STACK_BYTES).spawn(work)
}

/// A server that takes requests. Dropping it shuts it down without waiting for requests.
pub struct RunningServer {
    dispatcher: Arc<Dispatcher>,
    listener: Arc<TcpListener>,
    address: SocketAddr,
    is_adopted: bool,
    load_reader: LoadReader,
    supervisor: Option<JoinHandle<()>>,
    closing: Option<JoinHandle<()>>,
}

/// The result of a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// The number of requests, waits and streams that were not answered completely.
    pub left: usize,
}

impl RunningServer {
    /// Returns the address on which the server listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the current load.
    pub fn load(&self) -> Load {
        self.load_reader.load()
    }

    /// Refuses new connections, answers new requests with 503, and waits for `drain` at most until all requests are
    /// answered. Waits and streams end only when the handler ends them, so notify them before.
    pub fn shutdown(mut self, drain: Duration) -> Drained {
        self.stop(drain)
    }

    /// Executes the first half of [`RunningServer::shutdown`] without waiting, so that waits and streams can be
    /// notified after it.
    pub fn stop_taking(&self) {
        if self.dispatcher.shared.is_draining.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Err(error) = self.stop_accepting() {
            log::warn!("cannot shut the listening socket down: {error}");
        }
        self.dispatcher.wake_up.wake();
    }

    /// Makes `accept()` fail, which ends the accept loop.
    fn stop_accepting(&self) -> io::Result<()> {
        if self.is_adopted {
            // The socket's owner continues to listen, and new clients wait in the backlog for the next server. The
            // loop still waits in a blocking `accept()`. After one more connection the next call fails.
            self.listener.set_nonblocking(true)?;
            return probe::connect_to_self(listener::own_address(self.address));
        }
        // From this point on, Linux refuses new connections.
        SockRef::from(&*self.listener).shutdown(std::net::Shutdown::Both)
    }

    fn stop(&mut self, drain: Duration) -> Drained {
        let Some(supervisor) = self.supervisor.take() else { return Drained { left: 0 } };
        self.stop_taking();
        let until = Instant::now() + drain;
        let Dispatcher { shared, pool, wake_up, .. } = &*self.dispatcher;
        let left = shared.in_flight.wait_for_none(drain);
        // The supervisor's last scan closes the remaining connections, whose next requests would not be answered.
        wake_up.stop();
        let _ = supervisor.join();
        if left == 0 {
            // The last answers are still being sent. A client that needs longer does not get its answer.
            shared.connections.table.wait_for_closing(until.min(Instant::now() + LINGER * 2));
        }
        pool.stop();
        shared.connections.closer.send(Command::Stop);
        if let Some(closing) = self.closing.take() {
            let _ = closing.join();
        }
        Drained { left }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}
