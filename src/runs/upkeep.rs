//! What keeps runs going beside their drivers: leases, runs without a driver, memory, the shutdown.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use log::{error, info, warn};

use super::earlier::Earlier;
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
/// How long no run is taken over once the store that was away is back: leases have run out meanwhile, and those who
/// still drive have this long to renew them (they try every second or two).
const RENEWAL_TIME: Duration = Duration::from_secs(10);
/// Runs taken over at once.
const TAKE_OVER_RUNS: usize = 16;
/// How often a run may be taken over. One that ends each process that drives it (for want of memory, say) would go from
/// instance to instance for ever. A run outlives this many restarts, and never needs them: its own time is minutes.
const MOST_TAKE_OVERS: u64 = 64;
/// What becomes known of a run that was taken over more often.
const INTERRUPTED: &str = "the search was interrupted too many times and is not tried again";

/// When things are due.
pub(super) struct Agenda {
    look: Instant,
    share_health: Instant,
    forget: Instant,
    take_overs: TakeOvers,
}

/// Whether runs may be taken over.
#[derive(Debug, Clone, Copy)]
struct TakeOvers {
    /// The store did not answer when it was asked last.
    was_away: bool,
    not_before: Instant,
}

impl TakeOvers {
    fn store_is_away(&mut self) {
        self.was_away = true;
    }

    /// The store answers at that moment: whether it has done so for long enough.
    fn store_answers(&mut self, now: Instant) -> bool {
        if std::mem::take(&mut self.was_away) {
            self.not_before = now + RENEWAL_TIME;
        }
        now >= self.not_before
    }
}

impl Agenda {
    /// Everything is due at once.
    pub(super) fn new() -> Self {
        let now = Instant::now();
        let take_overs = TakeOvers { was_away: false, not_before: now };
        Self { look: now, share_health: now, forget: now, take_overs }
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
        if is_due(&mut agenda.look, LOOK_EVERY.min(self.config.limits.lease / 10)) {
            self.look_after_leases(&mut agenda.take_overs);
        }
        if is_due(&mut agenda.share_health, SHARE_HEALTH_EVERY) {
            self.share_health();
        }
        if is_due(&mut agenda.forget, FORGET_EVERY) {
            self.forget_idempotency();
        }
    }

    /// Drops from memory what earlier checks brought and no later one will use; the housekeeper calls it every now and
    /// then.
    pub fn forget_what_is_over(&self) {
        self.workshop.checker.keep_house();
    }

    pub(super) fn drop_ended(&self) {
        self.live.write().retain(|_, run| !self.is_in_the_way(run));
    }

    fn look_after_leases(&self, take_overs: &mut TakeOvers) {
        // Where the leases of our own waiting runs could not be renewed, they would be taken for lost.
        if !self.renew_waiting(take_overs.was_away) {
            return take_overs.store_is_away();
        }
        if take_overs.store_answers(Instant::now()) && !self.take_over() {
            take_overs.store_is_away();
        }
    }

    /// Runs that wait have no driver that renews their lease. `false`: the store does not answer. It is asked `anyway`
    /// where there are none, too.
    fn renew_waiting(&self, anyway: bool) -> bool {
        let waiting = self.scheduler.waiting();
        let leases: Vec<(RunId, Lease)> = waiting.iter().map(|run| (run.id(), run.lease())).collect();
        if leases.is_empty() && !anyway {
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
        if from.lease.epoch > MOST_TAKE_OVERS {
            error!(
                "run {id}: taken over {MOST_TAKE_OVERS} times, it is given up: it may be what ends the processes"
            );
            return self.give_up(from, "internal_error", INTERRUPTED);
        }
        let Ok(query) = Query::parse(from.summary.search_type, &from.summary.query) else {
            // It was valid when it was accepted: another version of this program accepted it.
            return self.give_up(from, "internal_error", "this version cannot go on with the search");
        };
        if self.is_suppressed(&query) {
            return self.give_up(from, "suppressed", "what it looks for is no longer searched");
        }
        let done: Vec<&str> = from.done.iter().map(|report| report.module.as_str()).collect();
        let (mut modules, mut gone) = (Vec::new(), Vec::new());
        for module in from.modules.iter().filter(|module| !done.contains(&module.as_str())) {
            match self.catalog.get(module) {
                Some(known) => modules.push(Arc::clone(known)),
                None => gone.push(module.clone()),
            }
        }
        let earlier = Earlier::of(&from.done, &self.catalog);
        self.workshop.figures.taken_over.one();
        info!("run {id}: resumed with {} of {} modules left", modules.len(), from.modules.len());
        let run = Arc::new(LiveRun::resume(from));
        if self.hold(&run) {
            self.scheduler.submit(Job { run, query, modules, gone, earlier });
        }
    }

    /// Ends a run that was taken over and is not gone on with. The housekeeper tries it once: it has leases to renew.
    fn give_up(&self, from: Resumable, code: &str, message: &str) {
        let run = LiveRun::resume(from);
        let ending = ending::failed(&self.workshop, code, message);
        if let Err(error) = ending::store_once(&self.workshop, &run, &ending) {
            warn!(
                "run {}: that it is not gone on with was not stored, and is tried again: {error}",
                run.id()
            );
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_renew_leases_begins_when_the_store_is_back() {
        let start = Instant::now();
        let mut take_overs = TakeOvers { was_away: false, not_before: start };
        assert!(take_overs.store_answers(start));
        take_overs.store_is_away();
        // It was away for much longer than that time.
        let back = start + 10 * RENEWAL_TIME;
        assert!(!take_overs.store_answers(back));
        assert!(!take_overs.store_answers(back + RENEWAL_TIME / 2));
        assert!(take_overs.store_answers(back + RENEWAL_TIME));
        // It goes away again in the meantime.
        take_overs.store_is_away();
        take_overs.store_is_away();
        assert!(!take_overs.store_answers(back + 2 * RENEWAL_TIME));
        assert!(take_overs.store_answers(back + 3 * RENEWAL_TIME));
    }
}
