//! Orders the requests of each connection, and distributes them to the right threads.

use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use super::exchange::Exchange;
use super::probe::Probe;
use super::shared::Shared;
use super::thread_group::ThreadGroup;
use super::wake_up::WakeUp;
use super::worker_pool::{Task, WorkerPool};
use crate::http::config::{RETRY_AFTER_QUEUE, WORKER_STACK_BYTES};
use crate::http::connection::closer::{CloseRequest, Command};
use crate::http::connection::request_queue::{Received, Receiver, RequestQueue, RequestQueues};
use crate::http::connection::sockets::peer_key;
use crate::http::connection::table::Arrival;
use crate::http::handler::Refusal;

/// A dispatcher that receives requests and distributes them.
pub(super) struct Dispatcher {
    pub(super) shared: Arc<Shared>,
    pub(super) queues: Arc<RequestQueues>,
    /// The handler that answers requests.
    pub(super) pool: WorkerPool<Box<Exchange>>,
    /// The threads that read bodies that may be slow to arrive.
    pub(super) bodies: Arc<ThreadGroup>,
    /// The threads that render refusals, because all request workers may be busy.
    pub(super) refusals: Arc<ThreadGroup>,
    pub(super) probe: Probe,
    /// The wake-up of the supervisor.
    pub(super) wake_up: Arc<WakeUp>,
}

impl Dispatcher {
    /// Starts the request workers.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub(super) fn start_workers(self: &Arc<Self>) -> io::Result<()> {
        for _ in 0..self.shared.config.request_workers {
            let dispatcher = Arc::clone(self);
            let worker = thread::Builder::new().name("http-request".to_owned());
            worker.stack_size(WORKER_STACK_BYTES).spawn(move || dispatcher.work())?;
        }
        Ok(())
    }

    /// Runs the loop of a request worker.
    fn work(self: &Arc<Self>) {
        while let Some(task) = self.pool.next_task() {
            match task {
                Task::Serve(exchange) => self.serve(*exchange),
                Task::Lead(queue) => {
                    let exchange = self.receive(&queue, Receiver::Worker);
                    self.pool.pass_lead(&queue);
                    if let Some(exchange) = exchange {
                        self.serve(exchange);
                    }
                }
            }
        }
    }

    /// Serves a request. A panic ends the exchange, not the thread.
    fn serve(&self, exchange: Exchange) {
        let busy = &self.shared.counters.workers_busy;
        busy.fetch_add(1, Ordering::Relaxed);
        let outcome = catch_unwind(AssertUnwindSafe(|| exchange.serve()));
        busy.fetch_sub(1, Ordering::Relaxed);
        if outcome.is_err() {
            log::error!("serving a request panicked");
        }
    }

    /// Runs the loop of an accept loop's receiving thread.
    pub(super) fn receive_all(self: &Arc<Self>, queue: &Arc<RequestQueue>) {
        self.pool.wait_for_lead(queue);
        while !queue.is_stopping() {
            if let Some(exchange) = self.receive(queue, Receiver::OwnThread) {
                self.submit(exchange);
            }
            self.pool.pass_lead(queue);
            self.pool.wait_for_lead(queue);
        }
    }

    /// Waits for a request, a wake-up or the end of the accept loop. Returns an exchange that can be served now.
    fn receive(self: &Arc<Self>, queue: &RequestQueue, receiver: Receiver) -> Option<Exchange> {
        match queue.receive(receiver) {
            Received::Request { request, order: _order } => {
                if self.probe.is_probe(&request) {
                    Probe::answer(request);
                    return None;
                }
                queue.note_request();
                catch_unwind(AssertUnwindSafe(|| self.arrive(request))).unwrap_or_else(|_| {
                    log::error!("receiving a request panicked");
                    None
                })
            }
            Received::Woken => None,
            Received::Ended(error) => {
                if !self.shared.is_draining() {
                    log::warn!("the accept loop ended: {error}");
                }
                self.wake_up.wake();
                None
            }
        }
    }

    /// Adds a request to the table of connections. Returns an exchange if it can be served now. Never waits.
    fn arrive(self: &Arc<Self>, request: tiny_http::Request) -> Option<Exchange> {
        let Some(peer) = request.remote_addr().copied().map(peer_key) else {
            // Only the peer of a Unix socket has no address, and the server cannot listen on such a socket.
            std::mem::forget(request);
            return None;
        };
        let connections = &self.shared.connections;
        match connections.table.arrive(peer, request, Instant::now()) {
            Arrival::Serve(request) => return self.begin(peer, request),
            Arrival::Waits => {}
            Arrival::TooMany(requests) => {
                log::warn!("connection closed: more than {} requests were waiting", requests.len() - 1);
                connections.closer.send(Command::Close(CloseRequest::abort(peer, requests)));
            }
            Arrival::Closing(request) => connections.closer.send(Command::Late(peer, request)),
        }
        None
    }

    /// Adds a request that the closing thread has assigned to a new connection.
    pub(super) fn take(self: &Arc<Self>, request: tiny_http::Request) {
        if let Some(exchange) = self.arrive(request) {
            self.submit(exchange);
        }
    }

    /// Begins an exchange. Returns it if it can be served now.
    fn begin(self: &Arc<Self>, peer: SocketAddr, request: tiny_http::Request) -> Option<Exchange> {
        let turn = Turn::begin(Arc::clone(self), peer);
        let exchange = Exchange::new(Arc::clone(&self.shared), peer, request, Box::new(turn));
        if self.shared.is_draining() {
            self.refuse(exchange, Refusal::ShuttingDown);
            return None;
        }
        if !exchange.waits_for_body() {
            return Some(exchange);
        }
        let dispatcher = Arc::clone(self);
        let read = move |exchange: Exchange| {
            if let Some(exchange) = exchange.read_body() {
                dispatcher.submit(exchange);
            }
        };
        if let Err(exchange) = self.bodies.run(exchange, read) {
            self.refuse_overload(exchange);
        }
        None
    }

    /// Gives an exchange to a request worker, or refuses it.
    fn submit(&self, exchange: Exchange) {
        if let Err(exchange) = self.pool.submit(Box::new(exchange)) {
            self.refuse_overload(*exchange);
        }
    }

    fn refuse_overload(&self, exchange: Exchange) {
        self.shared.count_refused();
        self.refuse(exchange, Refusal::Overloaded { retry_after: RETRY_AFTER_QUEUE });
    }

    /// Refuses a request on a separate thread. Closes the connection if there is no thread for it.
    fn refuse(&self, exchange: Exchange, refusal: Refusal) {
        let _ = self.refusals.run(exchange, move |exchange| exchange.refuse(refusal));
    }
}

/// The turn of one request of a connection. When it is dropped, the connection's next request is served.
struct Turn {
    dispatcher: Arc<Dispatcher>,
    peer: SocketAddr,
}

impl Turn {
    fn begin(dispatcher: Arc<Dispatcher>, peer: SocketAddr) -> Self {
        dispatcher.shared.in_flight.enter();
        Self { dispatcher, peer }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let shared = &self.dispatcher.shared;
        shared.in_flight.leave();
        if let Some(request) = shared.connections.table.finish(self.peer, Instant::now())
            && let Some(exchange) = self.dispatcher.begin(self.peer, request)
        {
            self.dispatcher.submit(exchange);
        }
    }
}
