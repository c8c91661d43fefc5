//! [`Progress`]: the state that a client shares with its connection.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use ureq::Error;

use super::allowance::Allowance;

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
