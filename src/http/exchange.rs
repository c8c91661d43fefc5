//! One request, from its arrival to its answer.
//!
//! Fault of tiny_http: it writes an answer in two parts, which meet Nagle's algorithm and delayed acknowledgements, and
//! buffers a response whose length is not known to its end. Cure: answers are written through `into_writer`, each in
//! one write where possible, and streams in chunks, each in one write. Test:
//! `a_stream_comes_piece_by_piece_and_then_ends`.

use std::any::Any;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::config::{BODY_THREADS, RETRY_AFTER_STREAMS, SEND_BUFFER_BYTES};
use super::handler::{Refusal, Reply, StreamBody};
use super::head::Head;
use super::render;
use super::request::Request;
use super::response::Response;
use super::server::Shared;

/// tiny_http's writer of one answer. Dropping it lets the connection's next answer be written.
type Writer = Box<dyn Write + Send>;

/// A request that is being served.
pub(super) struct Exchange {
    shared: Arc<Shared>,
    _in_flight: Arc<()>,
    /// The request of tiny_http, or `None` after it is answered.
    raw: Option<tiny_http::Request>,
    /// The writer of a stream that is about to begin.
    writer: Option<Writer>,
    /// The head. The handler gets the request in it, with the body. In a box, since thousands of streams have small stacks.
    head: Box<Head>,
    pub(super) peer: SocketAddr,
    received: Instant,
}

impl Exchange {
    /// Begins to serve a request, or returns the refusal of its head with it.
    pub(super) fn new(
        shared: &Arc<Shared>,
        raw: tiny_http::Request,
        peer: SocketAddr,
    ) -> (Self, Option<Refusal>) {
        let mut head = Box::new(Head::read(&raw, &shared.server.config.trusted_proxies));
        if head.length.is_none() {
            shared.severed.add(peer, ANY_TIME);
        }
        let refusal = head.refusal.take();
        let (shared, _in_flight) = (Arc::clone(shared), shared.in_flight.enter());
        let raw = Some(raw);
        (Self { shared, _in_flight, raw, writer: None, head, peer, received: Instant::now() }, refusal)
    }

    /// Returns whether reading or dropping the body may take time.
    pub(super) fn waits_for_body(&self) -> bool {
        self.head.is_body_unread
    }

    /// Reads the body, runs the handler and sends the answer. A request worker calls this. Work that waits, and streams, go to
    /// a thread of their own.
    pub(super) fn serve(mut self) {
        if let Err(refusal) = self.read_body() {
            return self.refuse(refusal);
        }
        let request = std::mem::take(&mut self.head.request);
        let reply = catch_unwind(AssertUnwindSafe(|| self.shared.handler.handle(request)));
        if matches!(reply, Ok(Reply::Now(_)) | Err(_)) {
            return self.reply(reply);
        }
        let Some(thread) = self.shared.server.threads.start(0) else {
            self.shared.server.threads.refused.one();
            return self.refuse(Refusal::Overloaded { retry_after: RETRY_AFTER_STREAMS });
        };
        if matches!(reply, Ok(Reply::Stream(..))) {
            // Not on the thread of the stream: tiny_http drops the request with a buffer of 8 KiB on the stack,
            // which would take memory as long as the stream lasts.
            self.writer = self.take_writer();
        }
        thread.send(Box::new(move || self.reply(reply))).unwrap_or_default();
    }

    /// Reads the whole body, unless that is done. After an error the end of the request may not be reached.
    pub(super) fn read_body(&mut self) -> Result<(), Refusal> {
        let length = self.head.length.unwrap_or_default();
        let max = self.shared.server.config.max_body_bytes_on(&self.head.request.path);
        let Some(raw) = self.raw.as_mut().filter(|_| length > 0) else { return Ok(()) };
        if length > HARMLESS_BYTES {
            return Err(Refusal::BodyTooLarge);
        }
        let is_kept = length <= max as u64;
        let until = Instant::now() + self.shared.server.config.body_timeout;
        let body = read_whole(&mut raw.as_reader().take(length), length, is_kept, until);
        self.head.is_body_unread = body.is_err();
        if !is_kept {
            return Err(Refusal::BodyTooLarge);
        }
        (self.head.request.body, self.head.length) = (body?, Some(0));
        Ok(())
    }

    /// Sends the reply of the handler, or of its later work.
    fn reply(self, reply: thread::Result<Reply>) {
        match reply {
            Err(panic) => self.refuse(Refusal::Internal(message_of(panic.as_ref()))),
            Ok(Reply::Now(response)) => self.answer(&response),
            Ok(Reply::Later(work)) => self.reply(catch_unwind(AssertUnwindSafe(work))),
            Ok(Reply::Stream(head, body)) => self.stream(head, body),
        }
    }

    fn stream(mut self, head: Response, body: StreamBody) {
        let Some(writer) = self.take_writer() else { return };
        self.head.options.close = true;
        let piece = render::stream_head(&head, self.head.options);
        // It would last as long as the stream.
        drop(head);
        let mut sink = Sink { writer, is_chunked: !self.head.options.is_http_1_0, has_failed: false, piece };
        let mut is_complete = sink.send(0).is_ok();
        if is_complete && !self.head.options.is_head {
            let end = catch_unwind(AssertUnwindSafe(|| body(&mut sink)));
            if let Err(panic) = &end {
                log::error!("a stream broke: {}", message_of(panic.as_ref()));
            }
            // A stream that broke must not look complete.
            is_complete = matches!(end, Ok(true)) && sink.end().is_ok();
        }
        if !is_complete && !sink.has_failed {
            self.shared.severed.add(self.peer, Duration::ZERO);
        }
    }

    /// Answers with a refusal.
    pub(super) fn refuse(mut self, refusal: Refusal) {
        if matches!(refusal, Refusal::Overloaded { .. } | Refusal::ShuttingDown) {
            // The connection can go on if the whole body comes.
            let _ = self.read_body();
        }
        // Who sends a malformed head may mean another end of the request.
        self.head.options.close |= !matches!(refusal, Refusal::Overloaded { .. } | Refusal::Internal(_));
        let render = AssertUnwindSafe(|| self.shared.handler.refuse(refusal, self.parts().as_ref()));
        let response = catch_unwind(render).unwrap_or_else(|_| Response::empty(500));
        self.answer(&response);
    }

    /// Returns the request without its body, unless its head is not valid or it is answered.
    fn parts(&self) -> Option<Request> {
        let head = Head::read(self.raw.as_ref()?, &self.shared.server.config.trusted_proxies);
        head.refusal.is_none().then_some(head.request)
    }

    fn answer(mut self, response: &Response) {
        let Some(mut writer) = self.take_writer() else { return };
        self.head.options.close |= self.shared.is_draining() || self.is_late();
        let (first, rest) = render::response(response, self.head.options);
        // A large answer waits for its reader, which must not hold a request worker. Nor does a smaller one wait, unless
        // its reader has left earlier answers unread.
        let is_large = rest.len() > SEND_BUFFER_BYTES;
        let thread = is_large.then(|| self.shared.server.threads.start(BODY_THREADS)).flatten();
        let write = move || {
            // After a failed write the connection is over.
            let _ =
                writer.write_all(&first).and_then(|()| writer.write_all(&rest)).and_then(|()| writer.flush());
            drop(writer);
            drop(self);
        };
        match thread {
            Some(thread) => thread.send(Box::new(write)).unwrap_or_default(),
            None => write(),
        }
    }

    /// Drops the rest of the body, which may take any time, and returns the writer of the answer. There is none if the
    /// body is too large to be dropped.
    fn take_writer(&mut self) -> Option<Writer> {
        let Some(raw) = self.raw.take() else { return self.writer.take() };
        if !self.head.is_body_unread {
            return into_writer(raw);
        }
        self.head.options.close = true;
        self.shared.severed.add(self.peer, ANY_TIME);
        let writer = into_writer(raw);
        // The sender may pause before it sends more of a body that was not dropped to its end.
        self.shared.severed.add(self.peer, self.shared.server.config.idle_timeout);
        writer
    }

    /// Returns whether a good part of the connection's idle timeout is over. For tiny_http it began with the request, but
    /// for a proxy its own, of two thirds of this one at most, begins with the answer. The answer announces the end of
    /// the connection, because the client's next request could meet it and be lost. Test:
    /// `a_late_answer_announces_the_end_of_the_connection`.
    fn is_late(&self) -> bool {
        self.received.elapsed() >= self.shared.server.config.idle_timeout / 3
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        drop(self.take_writer());
    }
}

/// Returns the message of a panic.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref().map(String::as_str));
    format!("the handler panicked: {}", text.unwrap_or("for an unknown reason"))
}

/// The time for which a connection is severed until it is known when its next bytes are read.
const ANY_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The announced size above which a body is not read, and dropping it needs a trial.
const HARMLESS_BYTES: u64 = 16 * 1024 * 1024;

/// Drops the unread rest of a request's body, and returns the writer of its answer.
///
/// Fault of tiny_http: the rest is read into a buffer of the *announced* size. A request with
/// `Content-Length: 1000000000000000` would abort the process. Cure: such an allocation is tried first; if it fails,
/// the request is leaked with its thread and two descriptors. Test: `no_announced_length_ends_the_process`.
fn into_writer(raw: tiny_http::Request) -> Option<Writer> {
    let announced = raw.body_length().unwrap_or(0);
    if announced as u64 > HARMLESS_BYTES {
        let mut buffer = Vec::<u8>::new();
        let is_possible = buffer.try_reserve_exact(announced).is_ok();
        // Without this, the compiler may remove the unused allocation, and the trial would always succeed.
        std::hint::black_box(&mut buffer);
        if !is_possible {
            log::error!("request leaked: its announced body of {announced} bytes cannot be allocated");
            std::mem::forget(raw);
            return None;
        }
    }
    Some(raw.into_writer())
}

/// Reads a body of this length to its end. Returns it if it `is_kept`.
fn read_whole(body: &mut dyn Read, length: u64, is_kept: bool, until: Instant) -> Result<Vec<u8>, Refusal> {
    let (mut kept, mut left, mut buffer) = (Vec::new(), length, [0; 8 * 1024]);
    while left > 0 {
        let read = body.read(&mut buffer);
        if Instant::now() >= until {
            return Err(Refusal::BodyTimeout);
        }
        match read {
            Ok(0) => return Err(Refusal::Malformed("the body is shorter than announced")),
            Ok(bytes) => {
                left -= bytes as u64;
                if is_kept {
                    kept.extend_from_slice(&buffer[..bytes]);
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(Refusal::BodyTimeout);
            }
            Err(_) => return Err(Refusal::Malformed("the body is incomplete")),
        }
    }
    Ok(kept)
}

/// The writer of a streamed body: see [`StreamBody`]. It sends a piece as a chunk if the client supports chunks.
struct Sink {
    writer: Writer,
    is_chunked: bool,
    has_failed: bool,
    /// The head, and then what is gathered for the next piece, behind room for the size of its chunk. One buffer serves
    /// all pieces, because the allocator keeps the freed ones of each of thousands of threads.
    piece: Vec<u8>,
}

/// The room for the size of a chunk: six hexadecimal digits and the end of the line.
const CHUNK_HEAD: usize = 8;
/// The number of bytes that are gathered before they are sent.
const PIECE_BYTES: usize = 32 * 1024;
/// The number of bytes of the buffer that is kept between two pieces.
const KEPT_BYTES: usize = 2 * 1024;

impl Sink {
    /// Sends the gathered bytes from that place on.
    fn send(&mut self, from: usize) -> io::Result<()> {
        let sent = match self.has_failed {
            true => Err(ErrorKind::BrokenPipe.into()),
            false => self.writer.write_all(&self.piece[from..]).and_then(|()| self.writer.flush()),
        };
        self.has_failed = sent.is_err();
        self.piece.truncate(CHUNK_HEAD);
        self.piece.shrink_to(KEPT_BYTES);
        sent
    }

    fn end(&mut self) -> io::Result<()> {
        self.flush()?;
        self.piece.extend_from_slice(if self.is_chunked { b"0\r\n\r\n" } else { b"" });
        self.send(CHUNK_HEAD)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.piece.len() + bytes.len() > PIECE_BYTES {
            self.flush()?;
        }
        // A chunk has at most as many bytes as its head has digits for.
        let taken = bytes.len().min(16 * PIECE_BYTES);
        self.piece.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        let length = self.piece.len() - CHUNK_HEAD;
        // An empty chunk would end the body.
        match (length, self.is_chunked) {
            (0, _) => Ok(()),
            (_, false) => self.send(CHUNK_HEAD),
            (_, true) => {
                self.piece[..CHUNK_HEAD].copy_from_slice(format!("{length:06x}\r\n").as_bytes());
                self.piece.extend_from_slice(b"\r\n");
                self.send(0)
            }
        }
    }
}
