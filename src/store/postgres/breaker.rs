//! Keeps callers from queueing up for a server that is away.
//!
//! While it is known to be away one caller at a time finds out whether it is back, and waits for that as long as
//! anyone does; all others are told at once. So a request is refused within one wait however many there are, and
//! sixteen request workers go on saying so.

use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

/// Whether the server is away.
#[derive(Default)]
pub(super) struct Breaker {
    away_since: Mutex<Option<Instant>>,
    turn: Mutex<()>,
}

impl Breaker {
    /// Since when it is known to be away.
    pub(super) fn away_since(&self) -> Option<Instant> {
        *self.away_since.lock()
    }

    /// The right to find out whether it is back. `None`: someone else is at it.
    pub(super) fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        self.turn.try_lock()
    }

    /// It does not answer.
    pub(super) fn open(&self) {
        self.away_since.lock().get_or_insert_with(Instant::now);
    }

    /// It answers.
    pub(super) fn close(&self) {
        *self.away_since.lock() = None;
    }
}
