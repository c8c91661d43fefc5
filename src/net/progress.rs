//! [`Progress`]: the state that a client shares with its connection.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use ureq::Error;
use ureq::unversioned::transport::NextTimeout;

use super::allowance::Allowance;

/// How far the current request has come. Clones share one state.
#[derive(Debug, Clone)]
pub(super) struct Progress(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    stage: Stage,
    allowance: Allowance,
    /// Whether a connection is open, in use or idle.
    is_open: bool,
    /// Whether a byte of the answer was received.
    has_answer: bool,
    /// The time until which reading may wait, if that is shorter than the request's deadline.
    patience: Option<Instant>,
}

/// The stage of a request's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The request uses an idle connection.
    Reused,
    /// No connection is established.
    Connecting,
    /// A new connection was established at that time.
    Connected(Instant),
}

impl Progress {
    /// Returns the state of a client that has no connection.
    pub(super) fn new(allowance: Allowance) -> Self {
        let stage = Stage::Connecting;
        let state = State { stage, allowance, is_open: false, has_answer: false, patience: None };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Begins a further request, which uses the idle connection.
    pub(super) fn restart(&self, allowance: Allowance) {
        let mut state = self.0.lock();
        (state.stage, state.allowance) = (Stage::Reused, allowance);
        (state.has_answer, state.patience) = (false, None);
    }

    /// Records that a connection is about to be established.
    pub(super) fn connecting(&self) {
        self.0.lock().stage = Stage::Connecting;
    }

    /// Records that a connection has been established.
    pub(super) fn connected(&self) {
        let mut state = self.0.lock();
        (state.stage, state.is_open) = (Stage::Connected(Instant::now()), true);
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

    /// Returns an error if the request may not receive more bytes.
    pub(super) fn check_allowance(&self) -> Result<(), Error> {
        self.0.lock().allowance.check()
    }

    /// Limits the time for the rest of the answer.
    pub(super) fn read_until(&self, limit: Instant) {
        self.0.lock().patience = Some(limit);
    }

    /// Returns the timeout, shortened to the limit that [`Progress::read_until`] has set.
    pub(super) fn shortened(&self, mut timeout: NextTimeout) -> NextTimeout {
        if let Some(limit) = self.0.lock().patience {
            let left = limit.saturating_duration_since(Instant::now());
            timeout.after = timeout.after.min(left.into());
        }
        timeout
    }

    pub(super) fn stage(&self) -> Stage {
        self.0.lock().stage
    }

    /// Returns whether a connection is open.
    pub(super) fn is_open(&self) -> bool {
        self.0.lock().is_open
    }

    /// Returns whether the request went over an idle connection and got nothing back. The server may have closed the
    /// connection before it could see the request.
    pub(super) fn went_unanswered(&self) -> bool {
        let state = self.0.lock();
        state.stage == Stage::Reused && !state.has_answer
    }
}
