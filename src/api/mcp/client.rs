//! [`Client`]: the sender of a request while it is answered.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::api::call_table::CallInProgress;

/// The sender of a request. The transports implement it.
pub(super) trait Client {
    /// Returns whether nobody waits for the answer any more.
    fn is_gone(&mut self) -> bool;

    /// Sends a notification that belongs to the request.
    fn notify(&mut self, notification: &Value);
}

/// A client that gets one JSON document as the answer.
pub(super) struct WaitingClient(pub(super) CallInProgress);

impl Client for WaitingClient {
    fn is_gone(&mut self) -> bool {
        self.0.is_cancelled()
    }

    fn notify(&mut self, _: &Value) {}
}

/// A client that reads the answer as a stream of events.
pub(super) struct StreamingClient<'a> {
    out: &'a mut dyn Write,
    call: CallInProgress,
    keep_alive: Duration,
    written_at: Instant,
    has_failed: bool,
}

impl<'a> StreamingClient<'a> {
    /// `keep_alive` is the time without a message after which a comment is sent.
    pub(super) fn new(out: &'a mut dyn Write, call: CallInProgress, keep_alive: Duration) -> Self {
        Self { out, call, keep_alive, written_at: Instant::now(), has_failed: false }
    }

    /// Sends a message. Returns whether the client still reads.
    pub(super) fn send(&mut self, message: &Value) -> bool {
        self.write(format!("event: message\ndata: {message}\n\n").as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> bool {
        let written: io::Result<()> = self.out.write_all(bytes);
        self.written_at = Instant::now();
        self.has_failed |= written.is_err();
        !self.has_failed
    }
}

impl Client for StreamingClient<'_> {
    /// Since 2026-07-28, a client cancels by closing the stream, which only a write shows.
    fn is_gone(&mut self) -> bool {
        if self.written_at.elapsed() >= self.keep_alive {
            self.write(b":\n\n");
        }
        self.has_failed || self.call.is_cancelled()
    }

    fn notify(&mut self, notification: &Value) {
        self.send(notification);
    }
}

/// A client at the other end of a channel of lines.
pub(super) struct LineClient<'a> {
    /// Writes a line.
    pub(super) send: &'a (dyn Fn(&Value) + Sync),
    /// The call.
    pub(super) call: CallInProgress,
    /// Whether the client has closed the channel.
    pub(super) has_ended: &'a AtomicBool,
}

impl Client for LineClient<'_> {
    fn is_gone(&mut self) -> bool {
        self.call.is_cancelled() || self.has_ended.load(Ordering::Relaxed)
    }

    fn notify(&mut self, notification: &Value) {
        (self.send)(notification);
    }
}
