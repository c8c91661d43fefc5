//! The periodic tasks of the runs, and their shutdown.

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
/// The interval at which what was learnt is stored, and what others have learnt is read.
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
        self.context.drivers.wait(until)
    }

    /// Makes the periodic tasks that start runs due now, because there may be some to start.
    pub fn wake(&self) {
        self.context.drivers.wake_maintenance();
    }

    /// Removes cached answers that no later check will use. The maintenance thread calls this every few seconds.
    pub fn sweep_caches(&self) {
        self.context.checker.evict_expired();
        self.context.scheduler.answers().sweep(Instant::now());
    }

    /// Executes the periodic tasks that are due. The maintenance thread calls this about once a second.
    pub fn run_due_tasks(self: &Arc<Self>) {
        self.registry.sweep();
        self.context.scheduler.sweep(Instant::now());
        // The lock is held to the end. A shutdown, which releases the leases, waits for it, so no run is taken over
        // afterwards.
        let mut schedule = self.schedule.lock();
        if self.context.drivers.is_shutting_down() {
            return;
        }
        if self.context.drivers.take_wake_up() {
            schedule.dispatch = Instant::now();
        }
        if is_due(&mut schedule.dispatch, DISPATCH_EVERY.min(self.context.limits.lease / 10)) {
            advance_idle(&self.context);
            self.dispatch();
            self.feed_batches();
        }
        if is_due(&mut schedule.share_health, SHARE_HEALTH_EVERY) {
            self.context.health.share();
            self.undo_unconfirmed();
        }
        if is_due(&mut schedule.expire_keys, EXPIRE_KEYS_EVERY) {
            self.expire_idempotency_keys();
        }
    }

    fn expire_idempotency_keys(&self) {
        let before = Idempotency::valid_since(self.context.clock.now());
        if let Err(error) = self.context.store.forget_idempotency(before) {
            log!(error.log_level(), "cannot remove expired idempotency keys: {error}");
        }
    }

    fn undo_unconfirmed(&self) {
        if let Err(error) = self.context.store.undo_unconfirmed(CONFIRMED_WITHIN) {
            log!(error.log_level(), "cannot undo what was not confirmed: {error}");
        }
    }

    /// Saves and stops all runs and releases them, so that this or another instance can resume them at once.
    /// Stores what was learnt, and wakes readers and waiting threads. Waits until the given moment at most.
    pub fn shut_down(&self, until: Instant) {
        self.context.drivers.shut_down();
        self.registry.stop_all();
        if !self.context.drivers.wait_for_all(until) {
            warn!("some runs did not stop in time");
        }
        let _agenda = self.schedule.lock();
        self.release_leases();
        self.context.health.share();
    }
}
