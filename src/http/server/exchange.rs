//! One request, from its turn to its answer.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::shared::Shared;
use crate::http::config::{ANSWER_DEADLINE, INLINE_BODY_BYTES, RETRY_AFTER_STREAMS};
use crate::http::connection::body;
use crate::http::connection::chunked::ChunkedWriter;
use crate::http::connection::closer::CloseRequest;
use crate::http::connection::writer::{
    Progress, WriteTimeouts, Writer, write_response, write_without_waiting,
};
use crate::http::handler::{Refusal, Reply, StreamBody};
use crate::http::message::encoding::accepts_gzip;
use crate::http::message::head::{self, Framing, Persistence, RawHead};
use crate::http::message::render::{RenderOptions, RenderedResponse, stream_head};
use crate::http::message::request::Request;
use crate::http::message::response::Response;

/// The refusal of a request for which no stream thread is left.
const NO_THREAD: Refusal = Refusal::Overloaded { retry_after: RETRY_AFTER_STREAMS };

/// A request that is being served. Dropping it without an answer closes its connection.
pub(super) struct Exchange {
    shared: Arc<Shared>,
    /// The request, or `None` after it is answered.
    request: Option<tiny_http::Request>,
    /// The checked request, with its body after that is read.
    checked: Option<Request>,
    peer: SocketAddr,
    received: Instant,
    /// Whether the body may be unread.
    is_body_pending: bool,
    persistence: Persistence,
    is_head: bool,
    accepts_gzip: bool,
    /// A guard that lets the connection's next request be served when it is dropped. Its type is hidden, because it
    /// belongs to the dispatcher, which imports this file.
    _turn: Box<dyn Send>,
}

impl Exchange {
    pub(super) fn new(
        shared: Arc<Shared>,
        peer: SocketAddr,
        request: tiny_http::Request,
        turn: Box<dyn Send>,
    ) -> Self {
        let head = raw_head(&request);
        let (persistence, is_head) = (head.persistence(), head.method == "HEAD");
        let accepts_gzip = accepts_gzip(head.values("accept-encoding"));
        let is_body_pending = !head.is_body_buffered(INLINE_BODY_BYTES);
        Self {
            shared,
            request: Some(request),
            checked: None,
            peer,
            received: Instant::now(),
            is_body_pending,
            persistence,
            is_head,
            accepts_gzip,
            _turn: turn,
        }
    }

    /// Returns whether reading the body may take time.
    pub(super) fn waits_for_body(&self) -> bool {
        self.is_body_pending
    }

    /// Runs the handler and sends the answer. A request worker calls this.
    pub(super) fn serve(mut self) {
        let checked = self.checked.take();
        match checked.map_or_else(|| self.read_request(), Ok) {
            Ok(request) => self.handle(request),
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// Reads the body. Returns an exchange that is ready for a request worker, unless the request was refused.
    pub(super) fn read_body(mut self) -> Option<Self> {
        match self.read_request() {
            Ok(request) => {
                self.checked = Some(request);
                Some(self)
            }
            Err(refusal) => {
                self.refuse(refusal);
                None
            }
        }
    }

    fn read_request(&mut self) -> Result<Request, Refusal> {
        let Some(inner) = &mut self.request else { return Err(Refusal::Internal) };
        let (config, connections) = (&self.shared.config, &self.shared.connections);
        let (mut request, framing) = head::check(&raw_head(inner), self.peer.ip(), &config.trusted_proxies)?;
        let max = config.max_body_bytes_on(&request.path);
        request.body = if self.is_body_pending {
            body::read(inner, framing, self.peer, connections, config, max)?
        } else {
            body::read_buffered(inner, framing, max)?
        };
        self.is_body_pending = false;
        // tiny_http accepts malformed chunks, so the bytes after a chunked body cannot be trusted.
        self.persistence.close |= framing == Framing::Chunked;
        Ok(request)
    }

    fn handle(self, request: Request) {
        match catch_unwind(AssertUnwindSafe(|| self.shared.handler.handle(request))) {
            Ok(Reply::Now(response)) => self.answer(&response),
            Ok(Reply::Stream(head, body)) => self.start_stream(head, body),
            Ok(Reply::Later(work)) => {
                self.on_stream_thread(move |exchange| exchange.reply(Reply::Later(work)));
            }
            Err(_) => {
                log::error!("the handler panicked");
                self.refuse(Refusal::Internal);
            }
        }
    }

    /// Sends a streamed answer on a separate thread.
    fn start_stream(mut self, head: Response, body: StreamBody) {
        let parts = self.valid_parts();
        let Some(request) = self.request.take() else { return };
        // Not on the thread of the stream: tiny_http drops the request with a buffer of 8 KiB on the stack, which would
        // take memory as long as the stream lasts.
        let input = (self, request.into_writer());
        let streams = Arc::clone(&input.0.shared.streams);
        let work = move |(exchange, writer): (Self, Writer)| exchange.stream(writer, &head, body);
        if let Err((exchange, writer)) = streams.run(input, work) {
            exchange.shared.count_refused();
            let refusal = exchange.shared.refusal_response(NO_THREAD, parts.as_ref());
            exchange.send(writer, &refusal);
        }
    }

    /// Sends a reply without a time limit on its work. This is called on a separate thread.
    fn reply(mut self, mut reply: Reply) {
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
            Reply::Stream(head, body) => {
                if let Some(request) = self.request.take() {
                    self.stream(request.into_writer(), &head, body);
                }
            }
            Reply::Later(_) => self.refuse(Refusal::Internal),
        }
    }

    fn on_stream_thread(self, work: impl FnOnce(Self) + Send + 'static) {
        let streams = Arc::clone(&self.shared.streams);
        if let Err(exchange) = streams.run(self, work) {
            exchange.shared.count_refused();
            exchange.refuse(NO_THREAD);
        }
    }

    /// Answers with a refusal.
    pub(super) fn refuse(mut self, refusal: Refusal) {
        let response = self.shared.refusal_response(refusal, self.valid_parts().as_ref());
        // After a malformed head, the next bytes could be a body or another request.
        self.persistence.close |= !matches!(refusal, Refusal::Overloaded { .. } | Refusal::Internal);
        self.answer(&response);
    }

    /// Returns the valid parts of the request, unless it is answered.
    fn valid_parts(&self) -> Option<Request> {
        let head = raw_head(self.request.as_ref()?);
        Some(head::valid_parts(&head, self.peer.ip(), &self.shared.config.trusted_proxies))
    }

    fn answer(mut self, response: &Response) {
        let Some(request) = self.request.take() else { return };
        if self.is_body_pending {
            // A write through tiny_http would wait for the body.
            self.persistence.close = true;
            let bytes = RenderedResponse::new(response, self.render_options()).into_bytes();
            return self.close(|peer, mut waiting| {
                waiting.insert(0, request);
                CloseRequest::with_answer(peer, waiting, bytes)
            });
        }
        self.send(request.into_writer(), response);
    }

    fn send(mut self, mut writer: Writer, response: &Response) {
        self.persistence.close |= self.shared.is_draining() || self.is_late();
        let mut rendered = RenderedResponse::new(response, self.render_options());
        match write_without_waiting(&mut *writer, &mut rendered) {
            Ok(Progress::Done) => self.finish(writer),
            Ok(Progress::Slow) => self.answer_slowly(writer, rendered),
            Err(_) => self.close(CloseRequest::abort),
        }
    }

    /// Returns whether the idle timeout of the connection is nearly over. tiny_http waits for the next request while
    /// this one is served, and closes the connection after the answer. The answer announces the end of the
    /// connection, because the client's next request would be lost. Test:
    /// `an_answer_after_the_idle_timeout_announces_the_end_of_the_connection`.
    fn is_late(&self) -> bool {
        self.received.elapsed() >= self.shared.config.idle_timeout * 9 / 10
    }

    /// Writes the rest of an answer on a separate thread, so that a slow reader does not hold a request worker.
    fn answer_slowly(self, writer: Writer, rendered: RenderedResponse) {
        let streams = Arc::clone(&self.shared.streams);
        let timeouts =
            WriteTimeouts { stall: self.shared.config.write_timeout, total: Some(ANSWER_DEADLINE) };
        let outcome = streams.run((self, writer, rendered), move |(exchange, mut writer, mut rendered)| {
            match write_response(&mut *writer, &mut rendered, timeouts) {
                Ok(()) => exchange.finish(writer),
                Err(_) => exchange.close(CloseRequest::abort),
            }
        });
        if let Err((exchange, ..)) = outcome {
            exchange.shared.count_refused();
            exchange.close(CloseRequest::abort);
        }
    }

    /// Sends a streamed answer. This is called on a separate thread.
    fn stream(mut self, writer: Writer, response: &Response, body: StreamBody) {
        let timeouts = WriteTimeouts { stall: self.shared.config.stream_write_timeout, total: None };
        let options = self.render_options();
        self.persistence.close = true;
        let mut sink = ChunkedWriter::new(writer, !options.is_http_1_0, timeouts);
        let head = sink.send_raw(&stream_head(response, options));
        if head.is_err() || self.is_head {
            return self.end_stream(sink, head.is_ok());
        }
        let end = catch_unwind(AssertUnwindSafe(|| body(&mut sink)));
        if end.is_err() {
            log::error!("a stream's body panicked");
        }
        // A stream that broke must not look complete.
        let is_complete = matches!(end, Ok(true)) && sink.end().is_ok();
        self.end_stream(sink, is_complete);
    }

    fn end_stream(self, sink: ChunkedWriter, is_complete: bool) {
        let writer = sink.into_writer();
        if is_complete {
            self.finish(writer);
        } else {
            self.close(CloseRequest::abort);
        }
    }

    /// Ends the exchange after its answer.
    fn finish(self, writer: Writer) {
        if self.persistence.close && !self.persistence.is_closed_by_tiny_http {
            self.close(|peer, waiting| CloseRequest::after_answer(peer, waiting, writer));
        } else {
            // The writer is dropped before the turn, because the next answer waits for it.
            drop(writer);
        }
    }

    fn close(&self, how: impl FnOnce(SocketAddr, Vec<tiny_http::Request>) -> CloseRequest) {
        self.shared.connections.close(self.peer, how);
    }

    fn render_options(&self) -> RenderOptions {
        let Persistence { is_http_1_0, close, .. } = self.persistence;
        RenderOptions { is_head: self.is_head, close, is_http_1_0, accepts_gzip: self.accepts_gzip }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            self.close(|peer, mut waiting| {
                waiting.insert(0, request);
                CloseRequest::abort(peer, waiting)
            });
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
