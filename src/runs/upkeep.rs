//! What keeps runs going beside their drivers: leases, runs without a driver, memory, the shutdown.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use log::{info, warn};

use super::driver;
use super::ending;
use super::journal::{Claim, Lease, Resumable};
use super::live::{LiveRun, Stopped};
use super::scheduler::Job;
use super::service::{Runs, idempotency_valid_since};
use crate::base::ids::RunId;
use crate::modules::query::Query;

/// How often leases of waiting runs are renewed and runs without a driver are looked for: ten times in the
/// length of a lease, at least this often.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How often old idempotency keys are removed.
const FORGET_EVERY: Duration = Duration::from_secs(60 * 60);
/// How often what checks taught is written down, and what those of other processes taught is read.
const SHARE_HEALTH_EVERY: Duration = Duration::from_secs(5);
/// How long after the store was away no run is taken over: leases have run out meanwhile, and those who still
/// drive have this long to renew them (they try every second or two).
const RENEWAL_TIME: Duration = Duration::from_secs(10);
/// Runs taken over at once.
const TAKE_OVER_RUNS: usize = 16;

/// When things are due.
pub(super) struct Agenda {
    look: Instant,
    share_health: Instant,
    forget: Instant,
    take_over_from: Instant,
}

impl Agenda {
    /// Everything is due at once.
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { look: now, share_health: now, forget: now, take_over_from: now }
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
        self.board.sweep();
        self.workshop.courtesy.sweep(Instant::now());
        self.scheduler.start_drivers();
        // Held to the end: a shutdown that releases the leases waits for it, and nothing is taken after.
        let mut agenda = self.agenda.lock();
        if self.is_shutting_down() {
            return;
        }
        self.settle_doubts();
        if self.called.swap(false, Ordering::Relaxed) {
            agenda.look = Instant::now();
        }
        // Where the leases of our own waiting runs could not be renewed, they would be taken for lost.
        if is_due(&mut agenda.look, LOOK_EVERY.min(self.config.limits.lease / 10)) {
            let may_take = Instant::now() >= agenda.take_over_from;
            if !self.renew_waiting() || may_take && !self.take_over() {
                agenda.take_over_from = Instant::now() + RENEWAL_TIME;
            }
        }
        if is_due(&mut agenda.share_health, SHARE_HEALTH_EVERY) {
            self.share_health();
        }
        if is_due(&mut agenda.forget, FORGET_EVERY) {
            self.forget_idempotency();
        }
    }

    pub(super) fn drop_ended(&self) {
        self.live.write().retain(|_, run| !self.is_in_the_way(run));
    }

    /// Runs that wait have no driver that renews their lease. `false`: the store does not answer.
    fn renew_waiting(&self) -> bool {
        let waiting = self.scheduler.waiting();
        let leases: Vec<(RunId, Lease)> = waiting.iter().map(|run| (run.id(), run.lease())).collect();
        if leases.is_empty() {
            return true;
        }
        match self.workshop.journal.renew(&leases, self.workshop.limits.lease) {
            Ok(lost) => {
                waiting.iter().filter(|run| lost.contains(&run.id())).for_each(|run| run.lose());
                true
            }
            Err(error) => {
                warn!("the leases of waiting runs were not renewed: {error}");
                false
            }
        }
    }

    /// `false`: the store does not answer.
    fn take_over(&self) -> bool {
        let mut taken = TAKE_OVER_RUNS;
        while taken == TAKE_OVER_RUNS && self.scheduler.has_room() {
            let driven = self.driven();
            let claim = Claim {
                owner: self.workshop.instance,
                simulated: self.config.simulated,
                except: &driven,
                holds: self.workshop.limits.lease,
                limit: TAKE_OVER_RUNS,
            };
            match self.workshop.journal.take_over(&claim) {
                Ok(runs) => {
                    taken = runs.len();
                    runs.into_iter().for_each(|run| self.resume(run));
                }
                Err(error) => {
                    warn!("interrupted runs could not be looked for: {error}");
                    return false;
                }
            }
        }
        true
    }

    /// Runs that are driven here or wait for it. Where the store or this machine stood still, their leases
    /// have run out: their drivers renew them, unless another instance is faster.
    fn driven(&self) -> Vec<RunId> {
        let live = self.live.read();
        let driven = live.values().filter(|run| run.stopped().is_none() && run.ended_at().is_none());
        driven.map(|run| run.id()).collect()
    }

    fn resume(&self, from: Resumable) {
        let id = from.summary.id;
        if let Some(before) = self.live(id) {
            // An ended run that the store did not take, say. What its driver still writes is refused.
            before.lose();
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
        self.workshop.figures.taken_over.one();
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
        self.duty.notify_all();
        self.board.tell_all();
        for run in self.live.read().values() {
            run.stop(Stopped::Shutdown);
        }
        if !self.scheduler.close(until) {
            warn!("some runs did not stop in time");
        }
        let _agenda = self.agenda.lock();
        self.settle_doubts();
        self.release_leases();
        self.share_health();
    }

    pub(super) fn release_leases(&self) {
        let workshop = &self.workshop;
        if let Err(error) = workshop.journal.release(workshop.instance) {
            warn!("the leases were not released, they end by themselves: {error}");
        }
    }

    /// Waits until there is something for [`Self::keep_house`] to do before its time, or the moment has come.
    /// `true`: the shutdown has begun.
    pub fn wait_for_duty(&self, until: Instant) -> bool {
        let mut down = self.shutdown.lock();
        if !*down && !self.called.load(Ordering::Relaxed) {
            self.duty.wait_until(&mut down, until);
        }
        *down
    }

    /// There may be runs to take over.
    pub(super) fn call_to_duty(&self) {
        let _down = self.shutdown.lock();
        self.called.store(true, Ordering::Relaxed);
        self.duty.notify_all();
    }
}
