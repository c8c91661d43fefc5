//! [`Lifecycle`]: the shutdown of the process, and the wake-up of its maintenance thread.

use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// The shutdown of the process, and the wake-up of its maintenance thread. All parts that start or end runs share it.
#[derive(Debug, Default)]
pub(super) struct Lifecycle {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_shutting_down: bool,
    is_woken: bool,
}

impl Lifecycle {
    /// Returns whether the shutdown has begun.
    pub(super) fn is_shutting_down(&self) -> bool {
        self.state.lock().is_shutting_down
    }

    /// Begins the shutdown, which cannot be undone.
    pub(super) fn shut_down(&self) {
        self.state.lock().is_shutting_down = true;
        self.changed.notify_all();
    }

    /// Wakes the maintenance thread, because there may be runs without a driver.
    pub(super) fn wake_maintenance(&self) {
        self.state.lock().is_woken = true;
        self.changed.notify_all();
    }

    /// Returns whether the maintenance thread was woken since the last call.
    pub(super) fn take_wake_up(&self) -> bool {
        std::mem::take(&mut self.state.lock().is_woken)
    }

    /// Waits until the maintenance thread is woken, the shutdown begins, or the given moment is reached. Returns
    /// whether the shutdown has begun.
    pub(super) fn wait(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        if !state.is_shutting_down && !state.is_woken {
            self.changed.wait_until(&mut state, until);
        }
        state.is_shutting_down
    }
}
