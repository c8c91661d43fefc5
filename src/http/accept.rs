//! Keeps tiny_http accepting connections, and hands its requests on.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::config::{BODY_THREADS, RETRY_AFTER_QUEUE};
use super::exchange::Exchange;
use super::handler::Refusal;
use super::server::Shared;
use crate::base::threads::start;

/// The stack size of the server's own threads.
const OWN_STACK_BYTES: usize = 128 * 1024;
/// The pauses between knocks: after a request, and, doubled with each knock, while there is none.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// The time limit for the answer to a knock, after which the next one follows.
const KNOCK_TIMEOUT: Duration = Duration::from_millis(100);
/// The time without an answer after which the accept loop counts as ended. A busy machine answers later than usual. It
/// doubles with each replacement that brings no answer, because then it may be the knocks that fail.
const UNANSWERED: Duration = Duration::from_secs(5);
/// The maximum number of requests that wait to be refused. Of a client that causes more, none is answered.
const MAX_REFUSALS: usize = 1024;
/// The pause between two replacements. Each costs some threads for a while.
const REPLACE_PAUSE: Duration = Duration::from_secs(1);
/// The number of descriptors that must be free before the accept loop is replaced. With fewer, the next connection
/// would end it again.
const FREE_DESCRIPTORS: usize = 8;
/// The time without a request after which an accept loop that has ended has no connection left that could send one.
const RETIRE_AFTER: Duration = Duration::from_secs(120);

impl Shared {
    /// Starts to accept connections.
    pub(super) fn start_accepting(self: &Arc<Self>) -> io::Result<()> {
        let (first, shared) = (self.receive()?, Arc::clone(self));
        start("http-accept", OWN_STACK_BYTES, move || shared.keep_accepting(first))
    }

    /// Keeps connections from being forgotten, and starts another tiny_http server when one accepts no more.
    ///
    /// Fault of tiny_http: its thread pool counts a thread that was woken for a connection as free until it runs, so
    /// that several connections at once can wait for a thread while all are busy with long-lived ones. Cure: this
    /// server connects to itself at intervals, which starts a thread that then takes a waiting connection. Test:
    /// `no_connection_to_a_fresh_server_is_stuck_behind_streams`.
    ///
    /// Fault of tiny_http: one failing `accept()`, or a thread that cannot be started, ends its accept loop, the latter
    /// with no sign but that no connection is answered. Cure: another server is started on a duplicate of the
    /// listening socket, and requests of the old one's connections are still received. No client is lost: they wait in
    /// the backlog meanwhile. Tests: `tests/http/recovery.rs`.
    fn keep_accepting(self: &Arc<Self>, mut has_ended: Arc<AtomicBool>) {
        let (mut answered, mut seen) = (Instant::now(), 0);
        let (mut patience, mut pause) = (UNANSWERED, PAUSES.1);
        loop {
            let received = self.received.get();
            pause = if received == seen { PAUSES.1.min(pause * 2) } else { PAUSES.0 };
            seen = received;
            thread::sleep(pause);
            if self.is_stopped.load(Ordering::Acquire) {
                return;
            }
            if self.is_draining() {
                continue;
            }
            if self.knock().is_ok() {
                (answered, patience) = (Instant::now(), UNANSWERED);
            }
            let is_over = has_ended.load(Ordering::Acquire) || answered.elapsed() > patience;
            if is_over && descriptors_are_free() {
                match self.receive() {
                    Ok(next) => {
                        // Nothing marks a loop that panicked. Its receiving thread ends when nothing more comes.
                        has_ended.store(true, Ordering::Release);
                        (has_ended, answered, patience) = (next, Instant::now(), patience * 2);
                        self.server.threads.rebuilds.one();
                        log::warn!("the accept loop had ended and is replaced");
                    }
                    Err(error) => log::error!("cannot replace the accept loop yet: {error}"),
                }
                thread::sleep(REPLACE_PAUSE);
            }
        }
    }

    /// Sends a request to the server itself and waits for the answer. An established connection alone proves nothing: it
    /// may still wait in the backlog.
    fn knock(&self) -> io::Result<()> {
        let mut stream = TcpStream::connect_timeout(&self.server.address, KNOCK_TIMEOUT)?;
        stream.set_read_timeout(Some(KNOCK_TIMEOUT))?;
        stream.write_all(format!("GET {} HTTP/1.0\r\n\r\n", self.knock_path).as_bytes())?;
        stream.read_exact(&mut [0; 12])
    }

    /// Starts a tiny_http server on a duplicate of the listening socket, and a thread that receives its requests. Returns
    /// whether its accept loop has ended with an error.
    fn receive(self: &Arc<Self>) -> io::Result<Arc<AtomicBool>> {
        let listener = self.server.listener.try_clone()?;
        // tiny_http panics if it cannot start a thread.
        let server = catch_unwind(AssertUnwindSafe(|| tiny_http::Server::from_listener(listener, None)))
            .map_err(|_| io::Error::other("tiny_http could not start its threads"))?
            .map_err(io::Error::other)?;
        let has_ended = Arc::<AtomicBool>::default();
        let (shared, of) = (Arc::clone(self), Arc::clone(&has_ended));
        start("http-receive", OWN_STACK_BYTES, move || shared.receive_all(&server, &of))?;
        Ok(has_ended)
    }

    fn receive_all(self: &Arc<Self>, server: &tiny_http::Server, has_ended: &AtomicBool) {
        let mut last = Instant::now();
        while !self.is_stopped.load(Ordering::Acquire) {
            match server.recv_timeout(PAUSES.1) {
                Ok(Some(request)) => {
                    last = Instant::now();
                    if catch_unwind(AssertUnwindSafe(|| self.hand_on(request))).is_err() {
                        log::error!("receiving a request panicked");
                    }
                }
                // No connection is left.
                Ok(None) if has_ended.load(Ordering::Acquire) && last.elapsed() > RETIRE_AFTER => return,
                Ok(None) => {}
                Err(error) => {
                    if !self.is_draining() {
                        log::warn!("the accept loop ended: {error}");
                    }
                    has_ended.store(true, Ordering::Release);
                }
            }
        }
    }

    /// Gives a request to the right threads. Never waits for a client.
    fn hand_on(self: &Arc<Self>, raw: tiny_http::Request) {
        if raw.url() == self.knock_path {
            let _ = raw.respond(tiny_http::Response::empty(204));
            return;
        }
        self.received.one();
        let threads = &self.server.threads;
        // Only the peer of a Unix socket has no address, and the server cannot listen on such a socket.
        let Some(peer) = raw.remote_addr().copied() else { return };
        let is_severed = self.severed.contains(peer);
        let (mut exchange, refusal) = Exchange::new(self, raw, peer);
        let refusal = if self.is_draining() { Some(Refusal::ShuttingDown) } else { refusal };
        if is_severed || refusal.is_some() {
            return self.set_aside(exchange, refusal.filter(|_| !is_severed));
        }
        if !exchange.waits_for_body() {
            return self.queue(exchange);
        }
        let Some(thread) = threads.start(BODY_THREADS) else { return self.refuse_overload(exchange) };
        let shared = Arc::clone(self);
        let work = move || match exchange.read_body() {
            Ok(()) => shared.queue(exchange),
            Err(refusal) => exchange.refuse(refusal),
        };
        thread.send(Box::new(work)).unwrap_or_default();
    }

    /// Gives a request whose body is read to a worker.
    fn queue(&self, exchange: Exchange) {
        let threads = &self.server.threads;
        if threads.workers.queued_count() >= threads.max_queued {
            return self.refuse_overload(exchange);
        }
        threads.workers.execute(move || exchange.serve());
    }

    fn refuse_overload(&self, exchange: Exchange) {
        self.server.threads.refused.one();
        self.set_aside(exchange, Some(Refusal::Overloaded { retry_after: RETRY_AFTER_QUEUE }));
    }

    /// Refuses a request, or drops it unanswered. That may wait for the rest of its body, and for the answers to earlier
    /// requests of its connection. Those with an unread body have no other limit than that of connections, since
    /// tiny_http reads no further request behind such a body.
    fn set_aside(&self, exchange: Exchange, refusal: Option<Refusal>) {
        let threads = &self.server.threads;
        let (waits, is_refused) = (exchange.waits_for_body(), refusal.is_some());
        if is_refused && !waits && threads.refusals.queued_count() >= MAX_REFUSALS {
            // Many requests at once on one connection would use up memory while its first one is served.
            return self.severed.add(exchange.peer, Duration::ZERO);
        }
        let work = move || refusal.map_or((), |refusal| exchange.refuse(refusal));
        match waits.then(|| threads.start(BODY_THREADS)).flatten() {
            Some(thread) => thread.send(Box::new(work)).unwrap_or_default(),
            None if waits || is_refused => threads.refusals.execute(work),
            None => work(),
        }
    }
}

/// Returns whether a number of descriptors can be opened.
fn descriptors_are_free() -> bool {
    let opened: io::Result<Vec<File>> = (0..FREE_DESCRIPTORS).map(|_| File::open("/dev/null")).collect();
    opened.is_ok()
}
