//! The periodic tasks of runs, and the shutdown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::{log, warn};

use super::family::advance::advance_idle;
use super::service::Runs;
use crate::model::start::Idempotency;

/// The maximum interval of searches for runs without a driver, besides the searches of free drivers. The interval is
/// a tenth of the length of a lease if that is shorter.
const DISPATCH_EVERY: Duration = Duration::from_secs(5);
/// The interval at which old idempotency keys are removed.
const EXPIRE_KEYS_EVERY: Duration = Duration::from_secs(60 * 60);
/// The time after which what is still unconfirmed is undone. A database server that was suspended may commit an earlier
/// transaction after it answers again; by then idle transactions (30 s), locks and statements have timed out.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(60);
/// The interval at which what was learned is stored, and what others have learned is read.
const SHARE_HEALTH_EVERY: Duration = Duration::from_secs(5);

fn is_due(moment: &mut Instant, every: Duration) -> bool {
    let due = Instant::now() >= *moment;
    if due {
        *moment = Instant::now() + every;
    }
    due
}

impl Runs {
    /// Waits until the shutdown begins, a task becomes due early, or the given moment is reached. Returns whether the
    /// shutdown has begun.
    pub fn wait(&self, until: Instant) -> bool {
        self.drivers.wait(until)
    }

    /// Makes the periodic tasks that start runs due now, because there may be some to start.
    pub fn wake(&self) {
        self.drivers.wake_maintenance();
    }

    /// Removes cached answers that no later check will use. The maintenance thread calls this every few seconds.
    pub fn sweep_caches(&self) {
        self.checker.evict_expired();
        self.scheduler.answers().sweep(Instant::now());
    }

    /// Executes the periodic tasks that are due. The maintenance thread calls this about once a second.
    pub fn run_due_tasks(self: &Arc<Self>) {
        self.sweep();
        self.scheduler.sweep(Instant::now());
        // The lock is held to the end. A shutdown, which releases the leases, waits for it, so no run is taken over
        // afterwards.
        let [dispatch, share_health, expire_keys] = &mut *self.due.lock();
        if self.drivers.is_shutting_down() {
            return;
        }
        if self.drivers.take_wake_up() {
            *dispatch = Instant::now();
        }
        if is_due(dispatch, DISPATCH_EVERY.min(self.config.limits.lease / 10)) {
            advance_idle(self);
            self.dispatch();
            self.feed_batches();
        }
        if is_due(share_health, SHARE_HEALTH_EVERY) {
            self.health.share();
            if let Err(error) = self.store.undo_unconfirmed(CONFIRMED_WITHIN) {
                log!(error.log_level(), "cannot undo what was not confirmed: {error}");
            }
        }
        if is_due(expire_keys, EXPIRE_KEYS_EVERY) {
            let before = Idempotency::valid_since(self.clock.now());
            if let Err(error) = self.store.forget_idempotency(before) {
                log!(error.log_level(), "cannot remove expired idempotency keys: {error}");
            }
        }
    }

    /// Saves and stops all runs and releases them, so that this or another instance can resume them at once.
    /// Stores what was learned, and wakes readers and waiting threads. Waits until the given moment at most.
    pub fn shut_down(&self, until: Instant) {
        self.drivers.shut_down();
        self.stop_all();
        if !self.drivers.wait_for_all(until) {
            warn!("some runs did not stop in time");
        }
        let _due = self.due.lock();
        self.release_leases();
        self.health.share();
    }
}
