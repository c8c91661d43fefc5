//! [`Scheduler`]: decides which check starts next, and has the threads that run checks.
//!
//! The checks of all runs wait here. Each worker takes the next one that may start now:
//!
//! - Each host has a few checks at once, over all runs, whose number follows its answers. Checks that find it full wait
//!   in its queue, and none passes them. A host that asked for a pause, or whose circuit is open, is not contacted, and a
//!   module in quarantine is not asked. A module can have its own rate.
//! - A check whose question another check of the account is asking waits for its answer, without a worker or a place.
//! - A free worker goes to the account with the fewest running checks, and to its run with the fewest. While other
//!   searches have checks, those of batches have a quarter of the workers, and they come last at each host.
//! - A run starts with some of the checks that are expected to hold it longest: slow ones, and those of hosts that few
//!   checks may ask at once. The rest starts with popular and fast platforms, so that hits come early.
//!
//! Checks in browsers have their own workers, one for each page that can be open.

mod host;
mod state;
pub mod task;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use log::{error, warn};
use parking_lot::{Mutex, MutexGuard};

use super::health::HealthTable;
use super::shared_answers::SharedAnswers;
use crate::base::ids::AccountId;
use crate::base::threads::{self, Reserve};
use crate::modules::outcome::{Outcome, Pause, Report};
use crate::modules::reason::Reason;
use crate::modules::terms::{Access, Denial, ModuleTrial};
pub use host::Feedback;
use host::{AdaptiveLimit, Host};
use state::{Crew, GroupState, State, Waiting};
pub use state::{Permit, Running, Scheduler, Turn, Work};
use task::{Class, GroupId, Kind, Lane, Task, TaskId};

/// The longest time for which a site's `Retry-After` is followed, so that a wrong one does not disable a module
/// permanently.
const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);
/// The time for which a run waits for a trial if nothing else is left to wait for.
const PATIENCE_WITH_TRIALS: Duration = Duration::from_secs(1);
/// The time after which a worker without a check ends. The stacks and caches of hundreds of threads take tens of
/// megabytes.
const IDLE: Duration = Duration::from_secs(10);
/// The stack size of a worker. Rules are not recursive, and TLS needs some tens of KiB. Untouched pages use only address
/// space.
const STACK_BYTES: usize = 512 * 1024;
/// The number of threads that are reserved for request workers, connections, drivers and the database.
const RESERVE: usize = 128;
/// The stack size of a reserved thread, which is that of most threads. The C library would keep many freed stacks of the
/// workers' size.
const RESERVE_STACK_BYTES: usize = 2 * 1024 * 1024;
/// The number of workers that are started one by one. The next check starts all others at once.
const FIRST_WORKERS: usize = 32;
/// The time after which workers that could not be started are tried again.
const RETRY: Duration = Duration::from_secs(10);

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
    id: GroupId,
}

/// The state of a group.
pub struct Look {
    /// Whether checks wait for their turns.
    pub has_waiting: bool,
    /// If only trials run and no check waits, the moment until which the run waits for them.
    pub trials_end: Option<Instant>,
}

impl Group {
    /// Adds tasks.
    pub fn add(&self, tasks: Vec<(Task, Work)>) {
        self.scheduler.add(self.id, tasks);
    }

    /// Returns the state of the group.
    pub fn look(&self) -> Look {
        let state = self.scheduler.state.lock();
        let Some(group) = state.groups.get(&self.id) else {
            return Look { has_waiting: false, trials_end: None };
        };
        let has_waiting = group.waiting > 0;
        let checks = || group.running.values().filter(|check| check.kind.is_check());
        let is_only_trials = !has_waiting && checks().all(|check| check.trial.is_some());
        let last = checks().map(|check| check.since).max().filter(|_| is_only_trials);
        Look { has_waiting, trials_end: last.map(|last| last + PATIENCE_WITH_TRIALS) }
    }

    /// Removes everything that waits. Returns the places of the checks.
    pub fn cancel(&self) -> Vec<usize> {
        let removed = self.scheduler.state.lock().cancel(self.id);
        let checks = removed.iter().filter(|waiting| waiting.task.kind.is_check());
        checks.map(|waiting| waiting.task.place).collect()
    }

    /// Gives up the checks that have begun. They go on without the group.
    pub fn abandon(&self) -> Vec<Running> {
        let mut state = self.scheduler.state.lock();
        let Some(group) = state.groups.get_mut(&self.id) else { return Vec::new() };
        group.running.extract_if(|_, check| check.kind.is_check()).map(|(_, check)| check).collect()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let mut state = self.scheduler.state.lock();
        let removed = state.cancel(self.id);
        state.groups.remove(&self.id);
        // Those of batches may go on.
        self.scheduler.call_workers(state);
        drop(removed);
    }
}

impl Scheduler {
    /// Creates a scheduler with up to `workers` threads, and `browsers` threads for checks in browsers. It never has more
    /// than `most_of_host` concurrent checks of one host, but at least one, does not contact hosts whose circuit is open,
    /// and does not ask modules in quarantine.
    pub fn new(
        [workers, browsers]: [usize; 2],
        most_of_host: usize,
        health: Arc<HealthTable>,
        answers: SharedAnswers,
    ) -> Arc<Self> {
        let crews = [Crew::of("check", workers.max(1)), Crew::of("browser", browsers)];
        let (state, called) = (Mutex::new(State::of(crews)), Default::default());
        Arc::new(Self { most_of_host, state, called, health, answers })
    }

    /// Returns the answers that searches for the same query share.
    pub fn answers(&self) -> &SharedAnswers {
        &self.answers
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
        let (lanes, running) = (Default::default(), HashMap::new());
        let group = GroupState { account, is_of_batch, skips_failing, lanes, waiting: 0, running };
        state.groups.insert(id, group);
        Group { scheduler: Arc::clone(self), id }
    }

    /// Adds tasks to a group, unless it has ended.
    pub fn add(self: &Arc<Self>, group: GroupId, tasks: Vec<(Task, Work)>) {
        let mut state = self.state.lock();
        if !state.groups.contains_key(&group) {
            return;
        }
        let mut orders = Vec::with_capacity(tasks.len());
        for (task, work) in tasks {
            let id = state.next_id();
            let rank = task.module.as_ref().and_then(|module| module.entry().rank).unwrap_or(u32::MAX);
            // Fast modules come first, in steps of half a second. Within a step, they are ordered by popularity.
            let front = (task.expected.as_millis() / 500, rank, id);
            let tail = (Reverse(task.expected / self.at_once(&state, &task)), front);
            orders.push((id, task.kind, front, tail));
            state.tasks.insert(id, Waiting { task, work, group, is_in_lane: true, has_followed: false });
        }
        let Some(group) = state.groups.get_mut(&group) else { return };
        group.waiting += orders.iter().filter(|(_, kind, ..)| kind.is_check()).count();
        orders.sort_unstable_by_key(|(_, _, front, _)| *front);
        for (id, kind, ..) in &orders {
            match kind {
                Kind::IfFree => group.lanes[kind.lane() as usize].push_front(*id),
                _ => group.lanes[kind.lane() as usize].push_back(*id),
            }
        }
        orders.sort_unstable_by_key(|(.., tail)| *tail);
        let in_tail = orders.iter().filter(|(_, kind, ..)| *kind == Kind::Check);
        group.lanes[Lane::Tail as usize].extend(in_tail.map(|(id, ..)| *id));
        self.call_workers(state);
    }

    /// Returns how many checks of the hosts that a task needs first may run at once now.
    fn at_once(&self, state: &State, task: &Task) -> u32 {
        let unknown = AdaptiveLimit::new(self.most_of_host).get();
        let hosts = task.sources.first().into_iter().flatten();
        let least = hosts.map(|name| state.hosts.get(name).map_or(unknown, |host| host.limit.get())).min();
        least.and_then(|least| u32::try_from(least).ok()).unwrap_or(u32::MAX)
    }

    /// Takes the next task that may start.
    fn take(self: &Arc<Self>, state: &mut State, class: Class, now: Instant) -> Option<(Work, Turn)> {
        state.return_delayed(now);
        loop {
            let (id, lane) = state.next(class, self.most_workers(state))?;
            if let Some(turn) = self.try_to_start(state, id, lane, now) {
                return Some((state.remove(id)?, turn));
            }
        }
    }

    /// Starts a task from a lane, or from the queue of a host, if nothing keeps it. Otherwise, it waits for that.
    fn try_to_start(
        self: &Arc<Self>,
        state: &mut State,
        id: TaskId,
        lane: Option<Lane>,
        now: Instant,
    ) -> Option<Turn> {
        let Waiting { task, group, has_followed, .. } = state.tasks.get(&id)?;
        let GroupState { account, is_of_batch, skips_failing: skips, .. } = *state.groups.get(group)?;
        if let Some(question) = &task.question {
            if let Some(report) = self.answers.get(question) {
                return Some(Err(Box::new(report)));
            }
            if !has_followed && let Some(followers) = state.asking.get_mut(question) {
                followers.push(id);
                return None;
            }
        }
        let module = task.module.as_deref().filter(|_| skips);
        let hosts = match module.and_then(|module| self.health.module_denial(module)) {
            Some(denial) => Err(denial),
            None => self.choose_source(state, task, skips, now),
        };
        let hosts = match hosts {
            Ok(hosts) => hosts,
            Err(denial) => return Some(Err(Box::new(denied_report(denial)))),
        };
        for name in &hosts {
            let Some(host) = state.hosts.get_mut(name) else { continue };
            // A check from a queue has waited for its turn.
            let is_free = match lane {
                Some(_) => host.admits_newcomer(is_of_batch),
                None => host.has_place(is_of_batch),
            };
            if is_free {
                continue;
            }
            if task.kind == Kind::IfFree {
                drop(state.remove(id));
            } else {
                host.wait(id, account, is_of_batch);
            }
            return None;
        }
        let trial = match module.map(|module| self.health.module_access(module)) {
            Some(Ok(trial)) => trial,
            // The quarantine has begun since.
            Some(Err(denial)) => return Some(Err(Box::new(denied_report(denial)))),
            None => None,
        };
        let paced = task.module.as_ref().map(|module| (Arc::clone(module.id()), task.pace));
        if let Some((module, pace)) = &paced
            && let Err(at) = state.reserve(module, *pace, now, now)
        {
            if trial.is_some() {
                self.health.quarantines.end_trial(module, false);
            }
            state.delay(id, at);
            return None;
        }
        Some(Ok(Box::new(self.grant(state, id, lane, hosts, trial, now)?)))
    }

    /// Starts a check at its hosts.
    fn grant(
        self: &Arc<Self>,
        state: &mut State,
        id: TaskId,
        lane: Option<Lane>,
        hosts: Vec<String>,
        module_trial: Option<ModuleTrial>,
        now: Instant,
    ) -> Option<Permit> {
        let Waiting { task, group: group_id, .. } = state.tasks.get(&id)?;
        let group = state.groups.get_mut(group_id)?;
        for name in &hosts {
            let host = state.hosts.entry(name.clone()).or_insert_with(|| Host::new(self.most_of_host, now));
            host.begin();
        }
        let begins_trial = |host: &&String| {
            group.skips_failing && matches!(self.health.circuits.access(host), Access::Trial(_))
        };
        let trials: HashMap<String, bool> =
            hosts.iter().filter(begins_trial).map(|host| (host.clone(), false)).collect();
        group.running.insert(
            id,
            Running {
                place: task.place,
                kind: task.kind,
                lane: lane.unwrap_or(task.kind.lane()),
                since: now,
                trial: trials.keys().next().cloned(),
            },
        );
        if let Some(question) = &task.question {
            state.asking.entry(question.clone()).or_default();
        }
        Some(Permit {
            scheduler: Arc::clone(self),
            group: *group_id,
            task: id,
            hosts,
            question: task.question.clone(),
            skips_failing: group.skips_failing,
            trials: Mutex::new(trials),
            module_trial: module_trial.map(|trial| (trial, AtomicBool::new(false))),
            paced: task.module.as_ref().map(|module| (Arc::clone(module.id()), task.pace)),
            began: now,
            feedback: Feedback::Neutral,
        })
    }

    /// Returns the hosts of the first source without a host that must not be contacted now.
    fn choose_source(
        &self,
        state: &State,
        task: &Task,
        skips_open_circuits: bool,
        now: Instant,
    ) -> Result<Vec<String>, Denial> {
        let denial = |name: &String| match state.hosts.get(name) {
            Some(host) if host.is_paused(now) => Some(Denial::Pause),
            _ if !skips_open_circuits => None,
            _ => self.health.circuits.denial(name),
        };
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
            let host = state.hosts.entry(host.clone()).or_insert_with(|| Host::new(self.most_of_host, now));
            host.paused_until = host.paused_until.max(Some(end));
        }
    }

    /// Removes pauses that have ended, and the limits of hosts that were not queried for ten minutes. Starts workers that
    /// could not be started before.
    pub fn sweep(self: &Arc<Self>, now: Instant) {
        let mut state = self.state.lock();
        state.hosts.retain(|_, host| {
            host.paused_until = host.paused_until.filter(|end| now < *end);
            !host.is_forgettable(now)
        });
        state.return_delayed(now);
        self.call_workers(state);
    }

    /// Lets workers look for checks if some may be ready.
    fn call_workers(self: &Arc<Self>, state: MutexGuard<'_, State>) {
        let mut missing = [false; 2];
        for class in [Class::Check, Class::Browser] {
            let crew = &state.crews[class as usize];
            let has_time = crew.timer.is_none() && !state.delayed.is_empty();
            if !has_time && !state.has_ready(class) {
                continue;
            }
            if crew.idle > 0 {
                self.called[class as usize].notify_one();
            } else if crew.threads < crew.wanted {
                missing[class as usize] = true;
            }
        }
        drop(state);
        for class in [Class::Check, Class::Browser].into_iter().filter(|class| missing[*class as usize]) {
            self.start_workers(class);
        }
    }

    /// Starts one worker, or all that are missing if there are many already.
    fn start_workers(self: &Arc<Self>, class: Class) {
        let (name, wanted, before, missing) = {
            let crew = &mut self.state.lock().crews[class as usize];
            let is_limited = crew.limited_until.is_some_and(|until| Instant::now() < until);
            let missing = crew.wanted.saturating_sub(crew.threads);
            let missing = if crew.threads < FIRST_WORKERS { missing.min(1) } else { missing };
            if is_limited || missing == 0 {
                return;
            }
            crew.limited_until = None;
            crew.threads += missing;
            (crew.name, crew.wanted, crew.threads - missing, missing)
        };
        // Dropped at the end, since its threads take some time to end.
        let reserve = (before >= FIRST_WORKERS).then(|| Reserve::start(RESERVE, RESERVE_STACK_BYTES));
        let may_start = reserve.as_ref().is_none_or(|reserve| reserve.count() == RESERVE);
        let start = |_: &usize| {
            let (scheduler, thread) = (Arc::clone(self), thread::Builder::new().name(name.to_owned()));
            may_start && thread.stack_size(STACK_BYTES).spawn(move || scheduler.work(class)).is_ok()
        };
        let started = (0..missing).take_while(start).count();
        if started < missing {
            let crew = &mut self.state.lock().crews[class as usize];
            crew.threads -= missing - started;
            crew.limited_until = Some(Instant::now() + RETRY);
            let workers = before + started;
            warn!("only {workers} of {wanted} {name} workers can be started: {}", threads::LIMITS);
        }
    }

    /// Runs checks until there are none for a while.
    fn work(self: &Arc<Self>, class: Class) {
        let mut state = self.state.lock();
        let (mut has_worked, mut is_over) = (false, false);
        loop {
            if let Some((work, turn)) = self.take(&mut state, class, Instant::now()) {
                self.call_workers(state);
                // The count is in the store, so the state is not locked meanwhile.
                let turn = turn.and_then(|permit| match permit.is_within_day() {
                    true => Ok(permit),
                    false => Err(Box::new(Report::bare(Outcome::Skipped, Reason::DailyLimit))),
                });
                if catch_unwind(AssertUnwindSafe(|| work(turn))).is_err() {
                    error!("a check panicked");
                }
                state = self.state.lock();
                (has_worked, is_over) = (true, false);
                continue;
            }
            // The check that has ended may have freed a host for the other class of workers.
            if std::mem::take(&mut has_worked) {
                self.call_workers(state);
                state = self.state.lock();
                continue;
            }
            let first_time = state.delayed.first().map(|(at, _)| *at);
            let crew = &mut state.crews[class as usize];
            let is_timer_missing = first_time.is_some() && crew.timer.is_none();
            if is_over && !is_timer_missing && crew.threads > 1 {
                crew.threads -= 1;
                return;
            }
            // One of the workers waits for the time of the first check that waits for one.
            let timer = first_time.filter(|_| crew.timer.is_none());
            crew.timer = crew.timer.or(timer);
            crew.idle += 1;
            let until = timer.unwrap_or_else(|| Instant::now() + IDLE);
            let timed_out = self.called[class as usize].wait_until(&mut state, until).timed_out();
            let crew = &mut state.crews[class as usize];
            crew.idle -= 1;
            is_over = timed_out && timer.is_none();
            if timer.is_some() && crew.timer == timer {
                crew.timer = None;
            }
        }
    }

    /// Returns the number of workers of checks when all are needed.
    fn most_workers(&self, state: &State) -> usize {
        let crew = &state.crews[0];
        if crew.limited_until.is_some() { crew.threads } else { crew.wanted }
    }

    /// Returns the busy and all workers of checks.
    pub fn load(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.crews[0].threads - state.crews[0].idle, self.most_workers(&state))
    }

    /// Returns the busy workers of checks in browsers.
    pub fn busy_in_browsers(&self) -> usize {
        let crew = &self.state.lock().crews[1];
        crew.threads - crew.idle
    }

    /// Returns the number of checks that wait.
    pub fn waiting(&self) -> usize {
        self.state.lock().groups.values().map(|group| group.waiting).sum()
    }
}

#[cfg(test)]
mod tests;
