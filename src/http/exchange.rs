//! One request from its turn to its answer.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::answer::{Form, Rendered, stream_head};
use super::body;
use super::closing::Order;
use super::config::{ANSWER_DEADLINE, INLINE_BODY_BYTES, RETRY_AFTER_STREAMS};
use super::core::Core;
use super::encoding;
use super::farewell::Farewell;
use super::handler::{Refusal, Reply, StreamBody, StreamEnd};
use super::head::{self, Framing, Persistence, RawHead};
use super::request::Request;
use super::response::Response;
use super::sink::PieceSink;
use super::writing::{Attempt, Patience, Writer, send_patiently, send_promptly};

/// A request in hand. Dropped without an answer, it closes its connection.
pub(super) struct Exchange {
    /// There until the answer.
    request: Option<tiny_http::Request>,
    /// The request as the handler sees it, once it is read whole.
    whole: Option<Request>,
    peer: SocketAddr,
    came: Instant,
    /// Unread bytes of the body may stand between this request and the next.
    body_is_pending: bool,
    persistence: Persistence,
    is_head: bool,
    takes_gzip: bool,
    turn: ConnectionTurn,
}

/// The connection's next request may come when this is dropped.
struct ConnectionTurn {
    core: Arc<Core>,
    peer: SocketAddr,
}

impl Exchange {
    pub(super) fn begin(core: Arc<Core>, peer: SocketAddr, request: tiny_http::Request) -> Self {
        core.in_flight.enter();
        let head = raw_head(&request);
        let (persistence, is_head) = (head.persistence(), head.method == "HEAD");
        let takes_gzip = encoding::takes_gzip(head.values("accept-encoding"));
        let body_is_pending = !head.body_is_at_hand(INLINE_BODY_BYTES);
        let turn = ConnectionTurn { core, peer };
        Self {
            request: Some(request),
            whole: None,
            peer,
            came: Instant::now(),
            body_is_pending,
            persistence,
            is_head,
            takes_gzip,
            turn,
        }
    }

    /// Whether the body has to be waited for.
    pub(super) fn body_is_pending(&self) -> bool {
        self.body_is_pending
    }

    /// Answers a request whose body is at hand. On a request worker.
    pub(super) fn serve(mut self) {
        let whole = self.whole.take();
        match whole.map_or_else(|| self.read_request(), Ok) {
            Ok(request) => self.handle(request),
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// Reads a request with its body and gives it to a request worker. On a body worker.
    pub(super) fn read_and_pass_on(mut self) {
        match self.read_request() {
            Ok(request) => {
                let core = Arc::clone(&self.turn.core);
                self.whole = Some(request);
                core.queue(self);
            }
            Err(refusal) => self.refuse(refusal),
        }
    }

    fn read_request(&mut self) -> Result<Request, Refusal> {
        let Self { request: Some(inner), body_is_pending, turn: ConnectionTurn { core, peer }, .. } = self
        else {
            return Err(Refusal::Internal);
        };
        let config = &core.config;
        let (mut request, framing) = head::check(&raw_head(inner), peer.ip(), &config.trusted_proxies)?;
        request.body = if *body_is_pending {
            body::read(inner, framing, *peer, core)?
        } else {
            body::read_at_hand(inner, framing, config.max_body_bytes)?
        };
        *body_is_pending = false;
        // tiny_http takes chunked bodies more loosely than we would; nothing after one is believed.
        self.persistence.close |= framing == Framing::Chunked;
        Ok(request)
    }

    fn handle(self, request: Request) {
        let core = Arc::clone(&self.turn.core);
        match catch_unwind(AssertUnwindSafe(|| core.handler.handle(request))) {
            Ok(Reply::Now(response)) => self.answer(&response),
            Ok(reply) => self.on_own_thread(&core, move |exchange| exchange.reply(reply)),
            Err(_) => {
                log::error!("the handler panicked");
                self.refuse(Refusal::Internal);
            }
        }
    }

    /// Sends a reply, however long it takes. On a thread of its own.
    fn reply(self, mut reply: Reply) {
        while let Reply::Later(work) = reply {
            reply = match catch_unwind(AssertUnwindSafe(work)) {
                Ok(reply) => reply,
                Err(_) => {
                    log::error!("the handler panicked");
                    return self.refuse(Refusal::Internal);
                }
            };
        }
        match reply {
            Reply::Now(response) => self.answer(&response),
            Reply::Stream(head, body) => self.stream(&head, body),
            Reply::Later(_) => self.refuse(Refusal::Internal),
        }
    }

    fn on_own_thread(self, core: &Core, work: impl FnOnce(Self) + Send + 'static) {
        if let Err(exchange) = core.streams.run(self, work) {
            core.counters.refused.fetch_add(1, Ordering::Relaxed);
            exchange.refuse(Refusal::Overloaded { retry_after: RETRY_AFTER_STREAMS });
        }
    }

    /// Answers in the server's place.
    pub(super) fn refuse(mut self, refusal: Refusal) {
        let core = Arc::clone(&self.turn.core);
        let trusted = &core.config.trusted_proxies;
        let request =
            self.request.as_ref().map(|inner| head::salvage(&raw_head(inner), self.peer.ip(), trusted));
        let response = core.word(refusal, request.as_ref());
        // After a head that is not sound, what follows can't be told from a body.
        self.persistence.close |= !matches!(refusal, Refusal::Overloaded { .. } | Refusal::Internal);
        self.answer(&response);
    }

    /// Ends the connection without a word.
    pub(super) fn abandon(self) {
        drop(self);
    }

    fn answer(mut self, response: &Response) {
        let Some(request) = self.request.take() else { return };
        self.persistence.close |= self.turn.core.is_draining.load(Ordering::Acquire) || self.is_late();
        if self.body_is_pending {
            // To write to tiny_http would wait for the body.
            self.persistence.close = true;
            let mut answer = Rendered::new(response, self.form());
            let mut bytes = Vec::new();
            while !answer.rest().is_empty() {
                bytes.extend_from_slice(answer.rest());
                answer.advance(answer.rest().len());
            }
            return self.close(|peer, mut waiting| {
                waiting.insert(0, request);
                Farewell::with_answer(peer, waiting, bytes)
            });
        }
        let mut answer = Rendered::new(response, self.form());
        let mut writer = request.into_writer();
        match send_promptly(&mut *writer, &mut answer) {
            Ok(Attempt::Done) => self.finish(writer),
            Ok(Attempt::Slow) => self.answer_slowly(writer, answer),
            Err(_) => self.close(Farewell::cut_off),
        }
    }

    /// tiny_http has waited for the connection's next request meanwhile, as long as a connection may be idle: it
    /// closes, or is about to, once this answer is out. The client is told, for what it sent next there would be lost.
    fn is_late(&self) -> bool {
        self.came.elapsed() >= self.turn.core.config.idle_timeout * 9 / 10
    }

    /// A slow reader must not hold a request worker.
    fn answer_slowly(self, writer: Writer, answer: Rendered) {
        let core = Arc::clone(&self.turn.core);
        let patience = Patience { stall: core.config.write_timeout, whole: Some(ANSWER_DEADLINE) };
        let burden = (self, writer, answer);
        let outcome =
            core.streams.run(burden, move |(exchange, mut writer, mut answer)| {
                match send_patiently(&mut *writer, &mut answer, patience) {
                    Ok(()) => exchange.finish(writer),
                    Err(_) => exchange.close(Farewell::cut_off),
                }
            });
        if let Err((exchange, ..)) = outcome {
            core.counters.refused.fetch_add(1, Ordering::Relaxed);
            exchange.close(Farewell::cut_off);
        }
    }

    /// Sends a streamed answer. On a thread of its own.
    fn stream(mut self, response: &Response, body: StreamBody) {
        let Some(request) = self.request.take() else { return };
        let patience = Patience { stall: self.turn.core.config.stream_write_timeout, whole: None };
        let form = self.form();
        self.persistence.close = true;
        let mut sink = PieceSink::new(request.into_writer(), !form.is_old, patience);
        let begun = sink.send_raw(&stream_head(response, form));
        if begun.is_err() || self.is_head {
            return self.end_stream(sink, begun.is_ok());
        }
        let end = catch_unwind(AssertUnwindSafe(|| body(&mut sink)));
        if end.is_err() {
            log::error!("a stream's body panicked");
        }
        // A stream that broke must not look complete.
        let is_complete = matches!(end, Ok(StreamEnd::Complete)) && sink.end().is_ok();
        self.end_stream(sink, is_complete);
    }

    fn end_stream(self, sink: PieceSink, is_complete: bool) {
        let writer = sink.into_writer();
        if is_complete {
            self.finish(writer);
        } else {
            self.close(Farewell::cut_off);
        }
    }

    /// The answer is out.
    fn finish(self, writer: Writer) {
        if self.persistence.close && !self.persistence.closes_itself {
            self.close(|peer, waiting| Farewell::after(peer, waiting, writer));
        } else {
            // Before the turn: the next answer waits for it.
            drop(writer);
        }
    }

    fn close(&self, farewell: impl FnOnce(SocketAddr, Vec<tiny_http::Request>) -> Farewell) {
        let core = &self.turn.core;
        let waiting = core.connections.close(self.peer);
        core.closer.order(Order::Close(farewell(self.peer, waiting)));
    }

    fn form(&self) -> Form {
        let Persistence { is_old, close, .. } = self.persistence;
        Form { head_only: self.is_head, close, is_old, takes_gzip: self.takes_gzip }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            self.close(|peer, mut waiting| {
                waiting.insert(0, request);
                Farewell::cut_off(peer, waiting)
            });
        }
    }
}

impl Drop for ConnectionTurn {
    fn drop(&mut self) {
        self.core.in_flight.leave();
        if let Some(request) = self.core.connections.finish(self.peer, Instant::now()) {
            self.core.dispatch(self.peer, request);
        }
    }
}

fn raw_head(request: &tiny_http::Request) -> RawHead<'_> {
    let version = request.http_version();
    let headers =
        request.headers().iter().map(|header| (header.field.as_str().as_str(), header.value.as_str()));
    RawHead {
        method: request.method().as_str(),
        target: request.url(),
        version: (version.0, version.1),
        headers: headers.collect(),
    }
}
