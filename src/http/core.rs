//! What all threads of a server share, and the way of a request to its worker.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::closing::{Closer, Order};
use super::config::{RETRY_AFTER_QUEUE, ServerConfig};
use super::connections::{Connections, Turn};
use super::crew::Crew;
use super::exchange::Exchange;
use super::farewell::Farewell;
use super::generation::Intakes;
use super::handler::{Handler, Refusal};
use super::load::Counters;
use super::request::Request;
use super::response::Response;
use super::sockets::{Sockets, peer_key};
use super::streams::Streams;
use super::workers::Workers;

/// The shared parts.
pub(super) struct Core {
    pub(super) config: ServerConfig,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) sockets: Sockets,
    pub(super) connections: Connections<tiny_http::Request>,
    pub(super) closer: Closer,
    pub(super) intakes: Intakes,
    /// Run the handler.
    pub(super) crew: Arc<Crew>,
    /// Read bodies that may be slow to come.
    pub(super) bodies: Workers,
    /// Word refusals, when the request workers may be what is used up.
    pub(super) refusals: Workers,
    pub(super) streams: Arc<Streams>,
    pub(super) counters: Arc<Counters>,
    pub(super) in_flight: InFlight,
    /// No more requests are taken.
    pub(super) is_draining: AtomicBool,
}

impl Core {
    /// Takes a request from tiny_http: gives it back where it can be served at once. Never waits.
    pub(super) fn arrive(self: &Arc<Self>, request: tiny_http::Request) -> Option<Exchange> {
        let Some(peer) = request.remote_addr().copied().map(peer_key) else {
            // Only a unix socket's peer has no address, and there is no way to listen on one.
            std::mem::forget(request);
            return None;
        };
        match self.connections.arrive(peer, request, Instant::now()) {
            Turn::Now(request) => return self.begin(peer, request),
            Turn::Later => {}
            Turn::Flood(requests) => {
                log::warn!("a connection is closed: more than {} requests at once", requests.len() - 1);
                self.closer.order(Order::Close(Farewell::cut_off(peer, requests)));
            }
            Turn::Never(request) => self.closer.order(Order::Bin(peer, request)),
        }
        None
    }

    /// Takes a request from tiny_http, on a thread that has other work.
    pub(super) fn take(self: &Arc<Self>, request: tiny_http::Request) {
        if let Some(exchange) = self.arrive(request) {
            self.queue(exchange);
        }
    }

    /// Begins with a request whose turn it is; gives it back where it can be served at once.
    fn begin(self: &Arc<Self>, peer: SocketAddr, request: tiny_http::Request) -> Option<Exchange> {
        let exchange = Exchange::begin(Arc::clone(self), peer, request);
        if self.is_draining.load(Ordering::Acquire) {
            self.refuse_aside(exchange, Refusal::ShuttingDown);
            return None;
        }
        if !exchange.body_is_pending() {
            return Some(exchange);
        }
        match self.bodies.place() {
            Some(place) => self.bodies.run(place, || exchange.read_and_pass_on()),
            None => self.refuse_for_want_of_place(exchange),
        }
        None
    }

    /// Takes a request whose turn has come.
    pub(super) fn dispatch(self: &Arc<Self>, peer: SocketAddr, request: tiny_http::Request) {
        if let Some(exchange) = self.begin(peer, request) {
            self.queue(exchange);
        }
    }

    /// Has a request worker serve it, or refuses.
    pub(super) fn queue(self: &Arc<Self>, exchange: Exchange) {
        if let Err(exchange) = self.crew.queue(Box::new(exchange)) {
            self.refuse_for_want_of_place(*exchange);
        }
    }

    /// 503, off the pool that is full.
    pub(super) fn refuse_for_want_of_place(self: &Arc<Self>, exchange: Exchange) {
        self.counters.refused.fetch_add(1, Ordering::Relaxed);
        self.refuse_aside(exchange, Refusal::Overloaded { retry_after: RETRY_AFTER_QUEUE });
    }

    fn refuse_aside(self: &Arc<Self>, exchange: Exchange, refusal: Refusal) {
        match self.refusals.place() {
            Some(place) => self.refusals.run(place, move || exchange.refuse(refusal)),
            // A flood beyond words.
            None => exchange.abandon(),
        }
    }

    /// Lets the handler word a refusal.
    pub(super) fn word(&self, refusal: Refusal, request: Option<&Request>) -> Response {
        let worded = catch_unwind(AssertUnwindSafe(|| self.handler.refuse(refusal, request)));
        worded.unwrap_or_else(|_| {
            log::error!("the handler panicked while wording a refusal");
            Response::empty(500)
        })
    }
}

/// Counts the requests that are not answered yet.
#[derive(Default)]
pub(super) struct InFlight {
    count: Mutex<usize>,
    none: Condvar,
}

impl InFlight {
    pub(super) fn enter(&self) {
        *self.count.lock() += 1;
    }

    pub(super) fn leave(&self) {
        let mut count = self.count.lock();
        *count -= 1;
        if *count == 0 {
            self.none.notify_all();
        }
    }

    /// Waits until there is none, or the time is over; gives how many there are.
    pub(super) fn wait_for_none(&self, time: Duration) -> usize {
        let until = Instant::now() + time;
        let mut count = self.count.lock();
        while *count > 0 {
            if self.none.wait_until(&mut count, until).timed_out() {
                break;
            }
        }
        *count
    }
}
