//! [`Drivers`]: the number of driver threads and its limit.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::lifecycle::Lifecycle;

/// A counter of the drivers of this process.
pub(super) struct Drivers {
    lifecycle: Arc<Lifecycle>,
    max: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    taken: usize,
    /// The number of times that no slot was free when one was requested.
    refused: u64,
    closed: bool,
}

/// The right to drive runs, one after the other. Dropping the slot frees it.
pub(super) struct Slot {
    drivers: Arc<Drivers>,
    /// The value of [`State::refused`] when the holder last looked for a run.
    refused: u64,
}

impl Drivers {
    /// Creates a counter that allows at most `max` runs at once, but at least one.
    pub(super) fn new(lifecycle: Arc<Lifecycle>, max: usize) -> Arc<Self> {
        Arc::new(Self { lifecycle, max: max.max(1), state: Mutex::default(), freed: Condvar::new() })
    }

    /// Reserves a slot, if one is free.
    pub(super) fn reserve(self: &Arc<Self>) -> Option<Slot> {
        let mut state = self.state.lock();
        if state.closed {
            return None;
        }
        if state.taken >= self.max {
            state.refused += 1;
            return None;
        }
        state.taken += 1;
        Some(Slot { drivers: Arc::clone(self), refused: state.refused })
    }

    /// Refuses further slots and waits until all are free, at most until the given moment. Returns whether they are
    /// free. Stop the runs first.
    pub(super) fn close(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        state.closed = true;
        while state.taken > 0 {
            if self.freed.wait_until(&mut state, until).timed_out() {
                return state.taken == 0;
            }
        }
        true
    }
}

impl Slot {
    /// Records that the holder looks for a run now. It may miss a run that is queued later.
    pub(super) fn note_look(&mut self) {
        self.refused = self.drivers.state.lock().refused;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.drivers.state.lock();
        state.taken -= 1;
        // A run was queued meanwhile because no slot was free, and no other thread may look for it soon.
        let is_missed = state.refused != self.refused;
        self.drivers.freed.notify_all();
        drop(state);
        if is_missed {
            self.drivers.lifecycle.wake_maintenance();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drivers(max: usize) -> (Arc<Drivers>, Arc<Lifecycle>) {
        let lifecycle = Arc::new(Lifecycle::default());
        (Drivers::new(Arc::clone(&lifecycle), max), lifecycle)
    }

    #[test]
    fn a_run_queued_after_the_last_look_of_a_driver_wakes_the_maintenance_thread() {
        let (drivers, lifecycle) = drivers(1);
        let mut slot = drivers.reserve().unwrap();
        // This run is queued before the holder looks, which finds it.
        assert!(drivers.reserve().is_none());
        slot.note_look();
        drop(slot);
        assert!(!lifecycle.take_wake_up());
        // This run is queued after the holder has looked.
        let mut slot = drivers.reserve().unwrap();
        slot.note_look();
        assert!(drivers.reserve().is_none());
        drop(slot);
        assert!(lifecycle.take_wake_up());
    }

    #[test]
    fn closed_drivers_reserve_no_slot() {
        let (drivers, _) = drivers(2);
        let slot = drivers.reserve().unwrap();
        assert!(!drivers.close(Instant::now()), "one is still taken");
        assert!(drivers.reserve().is_none());
        drop(slot);
        assert!(drivers.close(Instant::now()));
    }
}
