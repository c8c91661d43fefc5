//! [`Signals`]: requests of other threads to the driver of a run.

use std::time::Instant;

use jiff::Timestamp;
use parking_lot::{Condvar, Mutex};

/// A function that wakes another thread.
pub type Waker = Box<dyn Fn() + Send + Sync>;

/// The reasons why a process stops driving a run that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The server shuts down. The run is resumed later or by another instance.
    Shutdown,
    /// Another instance drives the run.
    LeaseLost,
    /// The owner deleted the run.
    Deleted,
}

/// Requests of other threads to the driver of a run: to stop, to end the run early, or to save. Each wakes
/// it.
#[derive(Default)]
pub struct Signals {
    told: Mutex<Told>,
    is_told: Condvar,
}

#[derive(Default)]
struct Told {
    stopped: Option<Stopped>,
    /// The time at which the owner stopped the run. Its driver then ends it with what it has.
    stopped_at: Option<Timestamp>,
    /// Whether the driver is to save before the next save is due.
    wants_save: bool,
    wake_driver: Option<Waker>,
}

impl Signals {
    pub(super) fn new(stopped_at: Option<Timestamp>) -> Self {
        Self { told: Mutex::new(Told { stopped_at, ..Told::default() }), is_told: Condvar::new() }
    }

    /// Returns the reason why this process no longer drives the run, if it was stopped.
    pub fn stopped(&self) -> Option<Stopped> {
        self.told.lock().stopped
    }

    /// Returns the time at which the owner stopped the run, or the following of its leads.
    pub fn stopped_at(&self) -> Option<Timestamp> {
        self.told.lock().stopped_at
    }

    /// Returns whether checks of the run are no longer wanted, for whichever reason.
    pub(in crate::runs) fn wants_no_checks(&self) -> bool {
        let told = self.told.lock();
        told.stopped.is_some() || told.stopped_at.is_some()
    }

    /// Returns whether this copy of the run is out of date, because another instance drives the run or it was deleted.
    pub(in crate::runs) fn is_gone(&self) -> bool {
        matches!(self.stopped(), Some(Stopped::LeaseLost | Stopped::Deleted))
    }

    /// Returns whether a save was requested since the last call.
    pub(in crate::runs) fn take_save_request(&self) -> bool {
        std::mem::take(&mut self.told.lock().wants_save)
    }

    /// Wakes the driver and lets it save, which tells whether the run was stopped through another instance.
    pub(in crate::runs) fn request_save(&self) {
        self.tell(|told| told.wants_save = true);
    }

    /// Sets the waker of the driver.
    pub(in crate::runs) fn set_driver(&self, waker: Waker) {
        self.told.lock().wake_driver = Some(waker);
    }

    /// Waits until the run is stopped, or the moment is reached.
    pub(in crate::runs) fn wait_until_stopped(&self, until: Instant) {
        let mut told = self.told.lock();
        while told.stopped.is_none() && !self.is_told.wait_until(&mut told, until).timed_out() {}
    }

    /// Stops the run in this process, unless it was stopped for another reason before.
    pub(super) fn stop(&self, why: Stopped) {
        self.tell(|told| {
            told.stopped.get_or_insert(why);
        });
    }

    /// Lets the driver end the run with what it has.
    pub(super) fn end_early(&self, at: Timestamp) {
        self.tell(|told| told.stopped_at = Some(at));
    }

    fn tell(&self, change: impl FnOnce(&mut Told)) {
        let mut told = self.told.lock();
        change(&mut told);
        if let Some(wake) = &told.wake_driver {
            wake();
        }
        self.is_told.notify_all();
    }
}
