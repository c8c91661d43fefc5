//! [`Progress`]: the state that a client shares with its connection, and [`Allowance`]: the bytes that a request may
//! receive. They are counted at the socket, so that everything counts: TLS, heads, interim answers, chunk heads, trailers
//! and bodies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use ureq::Error;

/// How far the current request has come, and its limits. Clones share one state.
#[derive(Debug, Clone)]
pub(super) struct Progress(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    allowance: Allowance,
    /// The time at which reading and writing end.
    deadline: Instant,
    /// Whether the connection is open, in use or idle.
    is_open: bool,
    /// Whether a byte of the answer was received.
    has_answer: bool,
}

impl Progress {
    /// Returns the state of a connection that is about to be established, until `deadline`.
    pub(super) fn new(allowance: Allowance, deadline: Instant) -> Self {
        Self(Arc::new(Mutex::new(State { allowance, deadline, is_open: false, has_answer: false })))
    }

    /// Begins a request.
    pub(super) fn begin(&self, allowance: Allowance, deadline: Instant) {
        let mut state = self.0.lock();
        (state.allowance, state.deadline, state.has_answer) = (allowance, deadline, false);
    }

    /// Records that the connection has been established.
    pub(super) fn connected(&self) {
        self.0.lock().is_open = true;
    }

    /// Records that the connection has been closed.
    pub(super) fn closed(&self) {
        self.0.lock().is_open = false;
    }

    /// Records that a part of the answer has been received.
    pub(super) fn answered(&self) {
        self.0.lock().has_answer = true;
    }

    /// Counts bytes received at the socket.
    pub(super) fn received(&self, bytes: usize) {
        self.0.lock().allowance.count(bytes);
    }

    /// Returns the deadline, or an error if the request may not receive more bytes.
    pub(super) fn read_until(&self) -> Result<Instant, Error> {
        let state = self.0.lock();
        state.allowance.check().map(|()| state.deadline)
    }

    pub(super) fn deadline(&self) -> Instant {
        self.0.lock().deadline
    }

    /// Brings the deadline forward.
    pub(super) fn end_before(&self, limit: Instant) {
        let mut state = self.0.lock();
        state.deadline = state.deadline.min(limit);
    }

    /// Returns whether the connection is open.
    pub(super) fn is_open(&self) -> bool {
        self.0.lock().is_open
    }

    /// Returns whether a part of the answer has been received.
    pub(super) fn has_answer(&self) -> bool {
        self.0.lock().has_answer
    }
}

/// The number of bytes allowed for each hop besides its body: the head, and the TLS handshake with its certificates.
pub(super) const HOP_BYTES: u64 = 128 * 1024;

/// The number of bytes allowed for a body besides twice its decoded limit: chunk heads, TLS records, compressed
/// blocks.
const BODY_OVERHEAD: u64 = 64 * 1024;

/// The number of bytes that all hops of one request may receive together. Clones share one count.
#[derive(Debug, Clone)]
pub(super) struct Allowance(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    granted: AtomicU64,
    received: AtomicU64,
}

impl Allowance {
    /// Creates an allowance for a body of `body_limit` decoded bytes. Compressed data is never much longer than the
    /// decoded data, except for a stream of empty blocks, which exceeds the allowance.
    pub(super) fn for_body(body_limit: usize) -> Self {
        let granted = AtomicU64::new(2 * body_limit as u64 + BODY_OVERHEAD);
        Self(Arc::new(Counts { granted, received: AtomicU64::new(0) }))
    }

    /// Increases the allowance by that many bytes.
    pub(super) fn grant(&self, bytes: u64) {
        self.0.granted.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn count(&self, bytes: usize) {
        self.0.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns an error if all granted bytes have been received.
    pub(super) fn check(&self) -> Result<(), Error> {
        let granted = self.0.granted.load(Ordering::Relaxed);
        let is_left = self.0.received.load(Ordering::Relaxed) < granted;
        if is_left { Ok(()) } else { Err(Error::BodyExceedsLimit(granted)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hops_of_a_request_share_one_byte_limit() {
        let allowance = Allowance::for_body(1000);
        allowance.grant(HOP_BYTES);
        let first_hop = allowance.clone();
        first_hop.count(2000 + 64 * 1024 + 1000);
        allowance.check().unwrap();
        allowance.grant(HOP_BYTES);
        first_hop.count(2 * 128 * 1024 - 1001);
        allowance.check().unwrap();
        first_hop.count(1);
        assert!(matches!(allowance.check(), Err(Error::BodyExceedsLimit(_))));
    }
}
