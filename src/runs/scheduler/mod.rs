//! [`Scheduler`]: decides which check starts next, and has the threads that run checks.
//!
//! The checks of all runs wait here. Each worker takes the next one that may start now:
//!
//! - Each host has a few checks at once, over all runs, whose number follows its answers. Checks that find it full wait
//!   in its queue, and none passes them. One whose turn comes while another of its hosts is full keeps its place until its
//!   turn there. A host that asked for a pause, or whose circuit is open, is not contacted, and a module in quarantine is
//!   not asked. A module can have its own rate.
//! - A check whose question another check of the account is asking waits for its answer, without a worker or a place, and
//!   so does one for a feed that another check fetches. One that has found something, and waits for the control check that
//!   another makes, lends its worker and its places meanwhile.
//! - A free worker goes to the account with the fewest running checks, and to its run with the fewest. While other
//!   searches have checks, those of batches have a quarter of the workers, and they come last at each host.
//! - A run starts with some of the checks that are expected to hold it longest: slow ones, and those of hosts that few
//!   checks may ask at once. The rest starts with popular and fast platforms, so that hits come early.
//!
//! The browsers are a host to which checks in them go as well, and where runs take turns. Each run has such a host for its
//! pictures, a few of which are fetched at once.

mod host;
mod state;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::warn;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::health::HealthTable;
use super::shared_answers::SharedAnswers;
use crate::base::ids::AccountId;
use crate::base::threads;
use crate::modules::outcome::{Outcome, Pause, Report};
use crate::modules::reason::Reason;
use crate::modules::terms::Denial;
pub use host::{Feedback, GroupId};
use host::{START, TaskId};
pub use state::{BROWSERS, Kind, Permit, Scheduler, Task, Turn, Work, pictures_of};
use state::{GroupState, State, TakenFrom, Waiting};

/// The longest time for which a site's `Retry-After` is followed, so that a wrong one does not disable a module
/// permanently.
const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);
/// The time after which a worker without a check ends. The stacks and caches of hundreds of threads take tens of
/// megabytes.
const IDLE: Duration = Duration::from_secs(10);
/// The stack size of a worker. Rules are not recursive, and TLS needs some tens of KiB. Untouched pages use only address
/// space.
const STACK_BYTES: usize = 512 * 1024;
/// The number of threads that are left for request workers, connections, drivers and the database.
const RESERVE: usize = 128;
/// The number of workers from which on it is found out how many more can be started.
const FIRST_WORKERS: usize = 32;

/// Returns the report of a check that is not made because of a host or a quarantine.
pub fn denied_report(denial: Denial) -> Report {
    let (outcome, reason, circuit) = denial.end();
    let mut report = Report::bare(outcome, reason);
    report.evidence.circuit = circuit;
    report
}

/// The place of a run in the scheduler. Dropping it removes the checks that wait.
pub struct Group {
    scheduler: Arc<Scheduler>,
    /// Its number.
    pub id: GroupId,
}

impl Group {
    /// Removes everything that waits.
    pub fn cancel(&self) {
        let mut state = self.scheduler.state.lock();
        let removed = state.cancel(self.id);
        // Checks of other runs may go on.
        self.scheduler.call_workers(state);
        // It may own much, so the state is not locked meanwhile.
        drop(removed);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.scheduler.state.lock().groups.remove(&self.id);
        self.cancel();
    }
}

impl Scheduler {
    /// Creates a scheduler with up to `workers` threads, and up to `pages` checks in browsers at once. It never has more
    /// than `most_of_host` concurrent checks of one host, but at least one, does not contact hosts whose circuit is open,
    /// and does not ask modules in quarantine.
    pub fn new(
        workers: usize,
        pages: usize,
        most_of_host: usize,
        health: Arc<HealthTable>,
        answers: SharedAnswers,
    ) -> Arc<Self> {
        let state = Mutex::new(State::of(workers.max(1), pages, most_of_host));
        Arc::new(Self { state, called: Condvar::new(), health, answers })
    }

    /// Registers a run, until the returned value is dropped. `skips_failing` says whether hosts and modules whose circuit is
    /// open are not asked, except for trials.
    pub fn join(
        self: &Arc<Self>,
        account: Option<AccountId>,
        is_of_batch: bool,
        skips_failing: bool,
    ) -> Group {
        let mut state = self.state.lock();
        let id = state.next_id();
        let (ready, running) = (VecDeque::new(), HashMap::new());
        let group = GroupState { account, is_of_batch, skips_failing, ready, running };
        state.groups.insert(id, group);
        Group { scheduler: Arc::clone(self), id }
    }

    /// Adds tasks to a group, unless it has ended.
    pub fn add(self: &Arc<Self>, group: GroupId, mut tasks: Vec<(Task, Work)>) {
        let mut state = self.state.lock();
        tasks.sort_by_cached_key(|(task, _)| {
            let rank = task.module.as_ref().and_then(|module| module.entry().rank).unwrap_or(u32::MAX);
            // Fast modules come first, in steps of half a second at an unknown host. Within a step, they are ordered by
            // popularity.
            ((task.expected / at_once(&state, task)).as_millis() / 250, rank)
        });
        for (task, work) in tasks {
            let id = state.next_id();
            let Some(GroupState { ready, .. }) = state.groups.get_mut(&group) else { return };
            match task.kind {
                Kind::Check => ready.push_back(id),
                Kind::Picture | Kind::IfFree => ready.push_front(id),
            }
            state.tasks.insert(id, Waiting { task, work, group, has_followed: false, kept: Vec::new() });
        }
        self.call_workers(state);
    }

    /// Takes the next task that may start.
    fn take(self: &Arc<Self>, state: &mut State, now: Instant) -> Option<(Work, Turn)> {
        state.return_delayed(now);
        loop {
            let (id, from) = state.next()?;
            if let Some(turn) = self.try_to_start(state, id, from, now) {
                return Some((state.tasks.remove(&id)?.work, turn));
            }
        }
    }

    /// Starts a task from an end of its run, or from the queue of a host, if nothing keeps it. Otherwise, it waits for that.
    fn try_to_start(
        self: &Arc<Self>,
        state: &mut State,
        id: TaskId,
        from: TakenFrom,
        now: Instant,
    ) -> Option<Turn> {
        let turns = state.turns_of(id, &from, now);
        let &Waiting { ref task, group, has_followed, .. } = state.tasks.get(&id)?;
        let GroupState { account, is_of_batch, skips_failing, .. } = *state.groups.get(&group)?;
        if let Some(question) = &task.question {
            if let Some(report) = self.answers.get(question) {
                return Some(Err(Box::new(report)));
            }
            if !has_followed && let Some(followers) = state.asking.get_mut(question) {
                followers.push(id);
                return None;
            }
        }
        let (module, question) = (task.module.clone(), task.question.clone());
        let mut hosts = match self.choose_source(state, task, skips_failing, now) {
            Ok(hosts) => hosts,
            Err(denial) => return Some(Err(Box::new(denied_report(denial)))),
        };
        // A check that keeps places of hosts waits for a later one in this order, so that none wait for each other.
        hosts.sort_unstable_by(|one, other| other.cmp(one));
        for (at, name) in hosts.iter().enumerate() {
            let Some(host) = state.hosts.get_mut(name) else { continue };
            // A check from the queue of the host has waited for its turn there, but not at its other hosts.
            if turns.contains(name) && host.has_place(is_of_batch) || host.admits_newcomer(is_of_batch) {
                continue;
            }
            if task.kind == Kind::IfFree {
                state.tasks.remove(&id);
            } else {
                let owner = if name == BROWSERS { (None, Some(group)) } else { (account, None) };
                // Others would take the place that it has waited for. Those of batches come last anyway.
                let keeps_place = !is_of_batch && hosts[..at].iter().any(|name| turns.contains(name));
                host.wait(id, owner, is_of_batch, keeps_place);
                if keeps_place {
                    state.keep(id, &hosts[..at], now);
                }
            }
            return None;
        }
        if let Some(module) = &module
            && let Err(at) = state.reserve(module, now, now)
        {
            state.delayed.insert((at, id));
            return None;
        }
        // A quarantine that has begun since then does not stop it.
        let tried = module.as_ref().filter(|_| skips_failing);
        let module_trial = tried.and_then(|module| self.health.module_access(module).ok()).flatten();
        state.begin(id, from, &hosts, now);
        let is_tried = |host: &&String| skips_failing && self.health.circuits.of(host).is_some();
        let trials = hosts.iter().filter(is_tried).cloned().collect();
        Some(Ok(Box::new(Permit {
            scheduler: Arc::clone(self),
            group,
            task: id,
            hosts,
            question,
            skips_failing,
            trials,
            tried: Mutex::default(),
            module_trial,
            module,
            began: now,
            feedback: Feedback::Neutral,
        })))
    }

    /// Returns the hosts of the first source without a host that must not be contacted now, unless the module must not be
    /// asked.
    fn choose_source(
        &self,
        state: &State,
        task: &Task,
        skips_failing: bool,
        now: Instant,
    ) -> Result<Vec<String>, Denial> {
        let denial = |name: &String| match state.hosts.get(name) {
            Some(host) if host.is_paused(now) => Some(Denial::Pause),
            _ if !skips_failing => None,
            _ => self.health.circuits.denial(name),
        };
        let module = task.module.as_ref().filter(|_| skips_failing);
        if let Some(denial) = module.and_then(|module| self.health.module_denial(module)) {
            return Err(denial);
        }
        let mut first = None;
        for hosts in &task.sources {
            match hosts.iter().find_map(denial) {
                None => return Ok(hosts.clone()),
                Some(denial) => first = first.or(Some(denial)),
            }
        }
        first.map_or_else(|| Ok(Vec::new()), Err)
    }

    /// Pauses hosts for all runs, for the requested time but at most ten minutes.
    pub fn pause(&self, pauses: &[Pause]) {
        let (mut state, now) = (self.state.lock(), Instant::now());
        for Pause { host, secs } in pauses {
            let end = now + Duration::from_secs(*secs).min(LONGEST_PAUSE);
            let host = state.host(host, now);
            host.paused_until = host.paused_until.max(Some(end));
        }
    }

    /// Removes pauses that have ended, and the limits of hosts that were not queried for ten minutes.
    pub fn sweep(&self, now: Instant) {
        self.state.lock().hosts.retain(|_, host| {
            host.paused_until = host.paused_until.filter(|end| now < *end);
            !host.is_forgettable(now)
        });
    }

    /// Lets workers look for checks if some may be ready. Each worker that finds one calls the next, unless all are started.
    fn call_workers(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let ready = state.ready();
        if state.idle > 0 {
            // One that is idle also waits for the time of the first check that waits for one.
            if ready > 0 || !state.delayed.is_empty() {
                self.called.notify_one();
            }
            return;
        }
        if state.threads + ready > FIRST_WORKERS && !std::mem::replace(&mut state.is_measured, true) {
            let (before, wanted) = (state.threads, state.workers);
            let startable = threads::startable(wanted.saturating_sub(before) + RESERVE, STACK_BYTES);
            limit_workers(&mut state, before + startable.saturating_sub(RESERVE));
        }
        let missing = (state.workers + state.lent).saturating_sub(state.threads).min(ready);
        state.threads += missing;
        drop(state);
        let start = |_: &usize| {
            let scheduler = Arc::clone(self);
            threads::start("check", STACK_BYTES, move || scheduler.work()).is_ok()
        };
        let started = (0..missing).take_while(start).count();
        if started < missing {
            let mut state = self.state.lock();
            state.threads -= missing - started;
            let most = state.threads;
            limit_workers(&mut state, most);
        }
    }

    /// Runs checks until there are none for a while.
    fn work(self: &Arc<Self>) {
        let mut state = self.state.lock();
        let mut worked_at = Instant::now();
        loop {
            let now = Instant::now();
            if state.threads > state.workers + state.lent {
                state.threads -= 1;
                return self.call_workers(state);
            }
            if let Some((work, turn)) = self.take(&mut state, now) {
                self.call_workers(state);
                // The count is in the store, so the state is not locked meanwhile.
                let turn = turn.and_then(|permit| match permit.is_within_day() {
                    true => Ok(permit),
                    false => Err(Box::new(Report::bare(Outcome::Skipped, Reason::DailyLimit))),
                });
                threads::guard("a check", || work(turn));
                state = self.state.lock();
                worked_at = Instant::now();
                continue;
            }
            if state.threads > 1 && now >= worked_at + IDLE {
                state.threads -= 1;
                return;
            }
            let next_time = state.delayed.first().map(|(at, _)| *at);
            state.idle += 1;
            self.called.wait_until(&mut state, next_time.unwrap_or(now + IDLE).min(now + IDLE));
            state.idle -= 1;
        }
    }

    /// Returns the busy and all workers.
    pub fn load(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.threads - state.idle - state.lent, state.workers)
    }

    /// Returns the number of checks in browsers.
    pub fn busy_in_browsers(&self) -> usize {
        self.state.lock().hosts.get(BROWSERS).map_or(0, |host| host.busy)
    }

    /// Returns the number of checks that wait.
    pub fn waiting(&self) -> usize {
        self.state.lock().tasks.values().filter(|waiting| waiting.task.kind == Kind::Check).count()
    }
}

/// Returns how many checks of the hosts that a task needs first may run at once now.
fn at_once(state: &State, task: &Task) -> u32 {
    let unknown = START.min(state.most_of_host.max(1));
    let hosts = task.sources.first().into_iter().flatten();
    let least = hosts.map(|name| state.hosts.get(name).map_or(unknown, |host| host.limit)).min();
    least.and_then(|least| u32::try_from(least).ok()).unwrap_or(u32::MAX)
}

/// Lowers the number of workers to those that can be started, but not below the first ones.
fn limit_workers(state: &mut State, most: usize) {
    let most = most.max(FIRST_WORKERS);
    if most < state.workers {
        warn!("only {most} of {} check workers can be started: {}", state.workers, threads::LIMITS);
        state.workers = most;
    }
}

#[cfg(test)]
mod tests;
