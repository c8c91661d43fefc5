//! What keeps runs going beside their drivers: leases, runs without a driver, memory, the shutdown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::{info, warn};

use super::driver;
use super::ending;
use super::journal::{Resumable, Write};
use super::live::{LiveRun, Stopped};
use super::scheduler::Job;
use super::service::{Runs, idempotency_valid_since};
use crate::modules::query::Query;

/// How often leases of waiting runs are renewed and runs without a driver are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How often old idempotency keys are removed.
const FORGET_EVERY: Duration = Duration::from_secs(60 * 60);
/// How often what checks taught is written down, and what those of other processes taught is read.
const SHARE_HEALTH_EVERY: Duration = Duration::from_secs(5);
/// Runs taken over at once.
const TAKE_OVER_RUNS: usize = 16;

/// When things are due.
pub(super) struct Agenda {
    look: Instant,
    share_health: Instant,
    forget: Instant,
}

impl Agenda {
    /// Everything is due at once.
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { look: now, share_health: now, forget: now }
    }
}

fn is_due(moment: &mut Instant, every: Duration) -> bool {
    let due = Instant::now() >= *moment;
    if due {
        *moment = Instant::now() + every;
    }
    due
}

impl Runs {
    /// What has to be done every now and then: the housekeeper calls it about once a second.
    pub fn keep_house(&self) {
        self.drop_ended();
        self.workshop.courtesy.sweep(Instant::now());
        self.scheduler.start_drivers();
        // Held to the end: a shutdown that releases the leases waits for it, and nothing is taken after.
        let mut agenda = self.agenda.lock();
        if self.is_shutting_down() {
            return;
        }
        // Where the leases of our own waiting runs could not be renewed, they would be taken for lost.
        if is_due(&mut agenda.look, LOOK_EVERY) && self.renew_waiting() {
            self.take_over();
        }
        if is_due(&mut agenda.share_health, SHARE_HEALTH_EVERY) {
            self.share_health();
        }
        if is_due(&mut agenda.forget, FORGET_EVERY) {
            self.forget_idempotency();
        }
    }

    fn drop_ended(&self) {
        let now = Instant::now();
        self.live.write().retain(|_, run| {
            let ended = run.ended_at().is_some_and(|at| now.duration_since(at) >= self.config.keep_ended);
            let gone = matches!(run.stopped(), Some(Stopped::LeaseLost | Stopped::Deleted));
            !(gone || ended && run.is_stored())
        });
    }

    /// Runs that wait have no driver that renews their lease. `false`: the store does not answer.
    fn renew_waiting(&self) -> bool {
        let workshop = &self.workshop;
        for run in self.scheduler.waiting() {
            let until = workshop.lease_until();
            match workshop.journal.checkpoint(run.id(), workshop.instance, &run.checkpoint(), until) {
                Ok(Write::Done) => {}
                Ok(Write::LeaseLost) => run.stop(Stopped::LeaseLost),
                Err(error) => {
                    warn!("run {}: its lease was not renewed: {error}", run.id());
                    return false;
                }
            }
        }
        true
    }

    fn take_over(&self) {
        if !self.scheduler.has_room() {
            return;
        }
        let workshop = &self.workshop;
        let (now, until) = (workshop.clock.now(), workshop.lease_until());
        match workshop.journal.take_over(workshop.instance, self.config.simulated, now, until, TAKE_OVER_RUNS)
        {
            Ok(runs) => runs.into_iter().for_each(|run| self.resume(run)),
            Err(error) => warn!("interrupted runs could not be looked for: {error}"),
        }
    }

    fn resume(&self, from: Resumable) {
        let id = from.summary.id;
        if self.live(id).is_some_and(|run| run.stopped().is_none()) {
            // Our own lease had run out (the store or this machine stood still), and is renewed by now:
            // its driver goes on.
            return;
        }
        let Ok(query) = Query::parse(from.summary.search_type, &from.summary.query) else {
            // It was valid when it was accepted: another version of this program accepted it.
            let run = LiveRun::resume(from);
            return driver::fail(&self.workshop, &run, "this version cannot go on with the search");
        };
        if self.is_suppressed(&query) {
            let run = LiveRun::resume(from);
            let why = "what it looks for is no longer searched";
            return ending::store(&self.workshop, &run, ending::failed(&self.workshop, "suppressed", why));
        }
        let done: Vec<&str> = from.done.iter().map(|report| report.module.as_str()).collect();
        let (mut modules, mut gone) = (Vec::new(), Vec::new());
        for module in from.modules.iter().filter(|module| !done.contains(&module.as_str())) {
            match self.catalog.get(module) {
                Some(known) => modules.push(Arc::clone(known)),
                None => gone.push(module.clone()),
            }
        }
        info!("run {id}: resumed with {} of {} modules left", modules.len(), from.modules.len());
        let run = Arc::new(LiveRun::resume(from));
        self.hold(&run);
        self.scheduler.submit(Job { run, query, modules, gone });
    }

    /// One at a time: at the start, then under the agenda's lock.
    pub(super) fn share_health(&self) {
        let health = &self.workshop.health;
        match self.workshop.journal.share_health(self.config.simulated, &health.to_write()) {
            Ok(stored) => health.written(stored),
            Err(error) => {
                health.not_written();
                warn!("what checks taught was not written down: {error}");
            }
        }
    }

    fn forget_idempotency(&self) {
        let before = idempotency_valid_since(self.workshop.clock.now());
        if let Err(error) = self.workshop.journal.forget_idempotency(before) {
            warn!("old idempotency keys were not removed: {error}");
        }
    }

    /// Stops all runs at a checkpoint and lets go of them, so that this or another instance may go on
    /// with them at once; writes down what checks taught. Readers and waiters are woken. Waits at most until the given moment.
    pub fn shut_down(&self, until: Instant) {
        *self.shutdown.lock() = true;
        self.shutdown_began.notify_all();
        for run in self.live.read().values() {
            run.stop(Stopped::Shutdown);
        }
        if !self.scheduler.close(until) {
            warn!("some runs did not stop in time");
        }
        let _agenda = self.agenda.lock();
        self.release_leases();
        self.share_health();
    }

    pub(super) fn release_leases(&self) {
        let workshop = &self.workshop;
        if let Err(error) = workshop.journal.release(workshop.instance, workshop.clock.now()) {
            warn!("the leases were not released, they end by themselves: {error}");
        }
    }
}
