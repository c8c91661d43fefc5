//! The interface between the server and the service that it serves.

use std::io::Write;
use std::time::Duration;

use super::request::Request;
use super::response::Response;

/// A service that turns requests into replies. All request workers share one handler, and it must not block for long:
/// work that waits belongs in [`Reply::Later`] or [`Reply::Stream`].
pub trait Handler: Send + Sync + 'static {
    /// Answers one request. After a panic, also one of later work, the client gets the answer of [`Handler::refuse`] to
    /// [`Refusal::Internal`].
    fn handle(&self, request: Request) -> Reply;

    /// Renders the answer to a request that the server refuses. There is no request if its head is not valid, and it has
    /// no body.
    fn refuse(&self, refusal: Refusal, request: Option<&Request>) -> Response;
}

/// The reason why the server or a router refuses a request without the handler, or instead of the handler's reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// 400: the head or the framing violates HTTP. Contains the violation, as a text for the client.
    Malformed(&'static str),
    /// 404: no route has this path.
    NotFound,
    /// 405: the path supports only the methods in this value of `Allow`.
    MethodNotAllowed(String),
    /// 408: the body did not arrive in time.
    BodyTimeout,
    /// 411: the body comes in chunks.
    LengthRequired,
    /// 413: the body is larger than allowed.
    BodyTooLarge,
    /// 414: the target is too long.
    TargetTooLong,
    /// 431: the head is too large.
    HeadTooLarge,
    /// 503: a limit on queued requests or threads is reached.
    Overloaded {
        /// The time after which the client may try again, in whole seconds.
        retry_after: Duration,
    },
    /// 503: the server is shutting down.
    ShuttingDown,
    /// 500: the handler panicked with this message, which is only for the log.
    Internal(String),
}

impl Refusal {
    /// Returns the status of the answer, the part of the request that is at fault, and the mistake.
    pub fn parts(&self) -> (u16, &'static str, &'static str) {
        match self {
            Self::Malformed(mistake) => (400, "request", *mistake),
            Self::NotFound => (404, "target", "unknown address"),
            Self::MethodNotAllowed(_) => (405, "method", "this address does not support this method"),
            Self::BodyTimeout => (408, "body", "the body did not arrive in time"),
            Self::LengthRequired => (
                411,
                "body",
                "send a Content-Length: a body in chunks is only read behind a proxy that collects it",
            ),
            Self::BodyTooLarge => (413, "body", "the body is too large"),
            Self::TargetTooLong => (414, "target", "the request target is too long"),
            Self::HeadTooLarge => (431, "headers", "the request headers are too large"),
            Self::Overloaded { .. } => (503, "", "the server is overloaded"),
            Self::ShuttingDown => (503, "", "the server is shutting down"),
            Self::Internal(_) => (500, "", "the server failed"),
        }
    }
}

/// The reply to a request.
pub enum Reply {
    /// A complete response.
    Now(Response),
    /// Work that may wait and runs on a separate thread. If there are too many such threads, the client gets 503 and
    /// the work is not run. A stream that it returns runs on the same thread.
    Later(Box<dyn FnOnce() -> Reply + Send>),
    /// A body that a separate thread sends in pieces, or 503 if there are too many such threads. The body of the
    /// response is ignored. The connection is closed after the stream.
    Stream(Response, StreamBody),
}

/// A function that writes a streamed body. It returns whether the body is complete; otherwise the connection is closed, so
/// that it does not look complete. The bytes are sent when they are flushed or 32 KiB are gathered, which blocks for the
/// configured peer timeout at most. A write fails if the reader has disconnected or takes nothing; the stream must end then.
pub type StreamBody = Box<dyn FnOnce(&mut dyn Write) -> bool + Send>;
