//! [`Maintenance`]: the periodic tasks of the runs, and their shutdown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{Timestamp, ToSpan};
use log::{log, warn};
use parking_lot::Mutex;

use super::batches::feeder::Feeder;
use super::context::RunContext;
use super::dispatcher::Dispatcher;
use super::family::advance::advance_idle;
use super::lifecycle::Lifecycle;

/// The maximum interval of searches for runs without a driver, besides the searches of free drivers. The interval is
/// a tenth of the length of a lease if that is shorter.
const DISPATCH_EVERY: Duration = Duration::from_secs(5);
/// The interval at which old idempotency keys are removed.
const EXPIRE_KEYS_EVERY: Duration = Duration::from_secs(60 * 60);
/// The time after which what is still unconfirmed is undone. A database server that was suspended may commit an earlier
/// transaction after it answers again; by then idle transactions (30 s), locks and statements have timed out.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(60);
/// The interval at which what was learnt is stored, and what others have learnt is read.
const SHARE_HEALTH_EVERY: Duration = Duration::from_secs(5);
/// The times at which the tasks are due.
struct Schedule {
    dispatch: Instant,
    share_health: Instant,
    expire_keys: Instant,
}

impl Schedule {
    /// Creates a schedule in which every task is due at once.
    fn new() -> Self {
        let now = Instant::now();
        Self { dispatch: now, share_health: now, expire_keys: now }
    }
}

fn is_due(moment: &mut Instant, every: Duration) -> bool {
    let due = Instant::now() >= *moment;
    if due {
        *moment = Instant::now() + every;
    }
    due
}

/// The periodic tasks of the runs, and their shutdown.
pub struct Maintenance {
    dispatcher: Arc<Dispatcher>,
    lifecycle: Arc<Lifecycle>,
    feeder: Option<Feeder>,
    schedule: Mutex<Schedule>,
}

impl Maintenance {
    /// Reads what was learnt from the store.
    pub(super) fn new(
        dispatcher: Arc<Dispatcher>,
        lifecycle: Arc<Lifecycle>,
        feeder: Option<Feeder>,
    ) -> Self {
        let schedule = Mutex::new(Schedule::new());
        let maintenance = Self { dispatcher, lifecycle, feeder, schedule };
        maintenance.context().health.share();
        maintenance
    }

    /// Waits until the shutdown begins, a task becomes due early, or the given moment is reached. Returns whether the
    /// shutdown has begun.
    pub fn wait(&self, until: Instant) -> bool {
        self.lifecycle.wait(until)
    }

    /// Makes the periodic tasks that start runs due now, because there may be some to start.
    pub fn wake(&self) {
        self.lifecycle.wake_maintenance();
    }

    /// Removes cached answers that no later check will use. The maintenance thread calls this every few seconds.
    pub fn sweep_caches(&self) {
        self.context().checker.evict_expired();
        self.context().scheduler.answers().sweep(Instant::now());
    }

    /// Executes the periodic tasks that are due. The maintenance thread calls this about once a second.
    pub fn run_due_tasks(&self) {
        self.dispatcher.registry.sweep();
        self.context().scheduler.sweep(Instant::now());
        // The lock is held to the end. A shutdown, which releases the leases, waits for it, so no run is taken over
        // afterwards.
        let mut schedule = self.schedule.lock();
        if self.lifecycle.is_shutting_down() {
            return;
        }
        if self.lifecycle.take_wake_up() {
            schedule.dispatch = Instant::now();
        }
        if is_due(&mut schedule.dispatch, DISPATCH_EVERY.min(self.context().limits.lease / 10)) {
            advance_idle(self.context());
            self.dispatcher.dispatch();
            if let Some(feeder) = &self.feeder {
                feeder.feed();
            }
        }
        if is_due(&mut schedule.share_health, SHARE_HEALTH_EVERY) {
            self.context().health.share();
            self.undo_unconfirmed();
        }
        if is_due(&mut schedule.expire_keys, EXPIRE_KEYS_EVERY) {
            self.expire_idempotency_keys();
        }
    }

    fn expire_idempotency_keys(&self) {
        let before = idempotency_valid_since(self.context().clock.now());
        if let Err(error) = self.context().store.forget_idempotency(before) {
            log!(error.log_level(), "cannot remove expired idempotency keys: {error}");
        }
    }

    fn undo_unconfirmed(&self) {
        if let Err(error) = self.context().store.undo_unconfirmed(CONFIRMED_WITHIN) {
            log!(error.log_level(), "cannot undo what was not confirmed: {error}");
        }
    }

    /// Saves and stops all runs and releases them, so that this or another instance can resume them at once.
    /// Stores what was learnt, and wakes readers and waiting threads. Waits until the given moment at most.
    pub fn shut_down(&self, until: Instant) {
        self.lifecycle.shut_down();
        self.dispatcher.registry.stop_all();
        if !self.dispatcher.drivers.close(until) {
            warn!("some runs did not stop in time");
        }
        let _agenda = self.schedule.lock();
        self.dispatcher.release_leases();
        self.context().health.share();
    }

    fn context(&self) -> &RunContext {
        &self.dispatcher.context
    }
}

/// Returns the moment 24 hours ago, before which idempotency keys expire.
pub fn idempotency_valid_since(now: Timestamp) -> Timestamp {
    now.saturating_sub(24.hours()).unwrap_or(now)
}
