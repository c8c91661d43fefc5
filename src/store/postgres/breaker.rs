//! A circuit breaker for a server that cannot be reached.
//!
//! While the server is known to be unreachable, one caller at a time tries whether it is available again. All others
//! fail at once. Therefore a request fails within one wait, independently of the number of requests, and the request
//! workers stay free.

use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

/// Whether the server is unreachable.
#[derive(Default)]
pub(super) struct Breaker {
    unavailable_since: Mutex<Option<Instant>>,
    probe: Mutex<()>,
}

impl Breaker {
    /// Returns the time since which the server is known to be unreachable.
    pub(super) fn unavailable_since(&self) -> Option<Instant> {
        *self.unavailable_since.lock()
    }

    /// Returns the right to try whether the server is available again, or `None` if another caller has it.
    pub(super) fn try_probe(&self) -> Option<MutexGuard<'_, ()>> {
        self.probe.try_lock()
    }

    /// Records that the server does not answer.
    pub(super) fn open(&self) {
        self.unavailable_since.lock().get_or_insert_with(Instant::now);
    }

    /// Records that the server answers.
    pub(super) fn close(&self) {
        *self.unavailable_since.lock() = None;
    }
}
