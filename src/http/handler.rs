//! What the server asks of the product.

use std::io;
use std::time::Duration;

use super::request::Request;
use super::response::Response;

/// Turns requests into replies. Shared by all request workers; must not block for long: what waits
/// goes into [`Reply::Later`] or [`Reply::Stream`].
pub trait Handler: Send + Sync + 'static {
    /// Answers one request. A panic in here is answered by [`Handler::refuse`] with
    /// [`Refusal::Internal`].
    fn handle(&self, request: Request) -> Reply;

    /// Words an answer to a request that the server itself turns down, or that has no place.
    /// `request` is there as far as it could be read (its body is empty).
    fn refuse(&self, refusal: Refusal, request: Option<&Request>) -> Response;
}

/// Why the server turns a request down without asking the handler (or instead of its reply).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// 400: the head or the framing is not what HTTP allows; says what.
    Malformed(&'static str),
    /// 408: the body did not come in time.
    BodyTimeout,
    /// 413: the body is larger than allowed.
    BodyTooLarge,
    /// 414: the target is too long.
    TargetTooLong,
    /// 431: the head is too large.
    HeadTooLarge,
    /// 503: request queue, streams or memory are used up; come back after this time.
    Overloaded {
        /// Whole seconds.
        retry_after: Duration,
    },
    /// 503: the server is shutting down.
    ShuttingDown,
    /// 500: the handler panicked.
    Internal,
}

impl Refusal {
    /// The status that says so.
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed(_) => 400,
            Self::BodyTimeout => 408,
            Self::BodyTooLarge => 413,
            Self::TargetTooLong => 414,
            Self::HeadTooLarge => 431,
            Self::Overloaded { .. } | Self::ShuttingDown => 503,
            Self::Internal => 500,
        }
    }
}

/// How a request is answered.
pub enum Reply {
    /// At once.
    Now(Response),
    /// Worked out on a thread of its own, which may wait; over the limit of such threads: 503, and the work
    /// is not begun. A stream that comes of it takes no further place.
    Later(Box<dyn FnOnce() -> Reply + Send>),
    /// A body that comes in pieces, on a thread of its own; over the limit: 503. The response's own
    /// body is ignored; it is sent with `Connection: close` and the connection is closed after it.
    Stream(Response, StreamBody),
}

/// Writes a streamed body, piece by piece, until it returns.
pub type StreamBody = Box<dyn FnOnce(&mut dyn StreamSink) -> StreamEnd + Send>;

/// What a streamed body writes to.
pub trait StreamSink {
    /// Sends a piece and flushes it. Blocks at most as long as the configured write timeout.
    ///
    /// # Errors
    /// The reader is gone or takes nothing: end the stream.
    fn send(&mut self, piece: &[u8]) -> io::Result<()>;
}

/// How a streamed body ended, for logs and counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// All was sent.
    Complete,
    /// The reader went away or was too slow.
    ReaderGone,
}
