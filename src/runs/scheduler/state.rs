//! [`Task`]: a check that waits for its turn; [`State`]: all checks that wait or run, and the order in which they begin;
//! [`Permit`]: a check that runs, and the hosts that it may contact.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::host::{Feedback, GroupId, Host, TaskId};
use crate::base::ids::{AccountId, RunId};
use crate::modules::module::Module;
use crate::modules::outcome::Report;
use crate::modules::query::Query;
use crate::modules::terms::{Access, Denial, HostAccess, ModuleTrial};
use crate::runs::health::HealthTable;
use crate::runs::shared_answers::{Question, SharedAnswers};

/// The most pictures of a run that are fetched at once.
const PICTURES: usize = 4;
/// The least share of the workers by which the order of a run's checks is determined.
const LEAST_WINDOW: usize = 8;
/// While other runs have checks, one of this number of workers is for those of batches.
const BATCH_WORKERS: usize = 4;

/// The host that checks in browsers need besides that of their site. Its places are the pages that can be open at once.
pub const BROWSERS: &str = "(browsers)";

/// Returns the host that the pictures of a run need besides that of their site.
pub fn pictures_of(group: GroupId) -> String {
    format!("(pictures of {group})")
}

/// Returns whether a host is none of a site. Its number of places does not depend on what sites answer.
fn is_own(host: &str) -> bool {
    host.starts_with('(')
}

/// The kinds of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A check of a module.
    Check,
    /// A picture, which comes before the checks of its run.
    Picture,
    /// A task that comes before the checks of its run, and is dropped if it cannot start at once.
    IfFree,
}

/// A check that waits for its turn.
pub struct Task {
    /// Its kind.
    pub kind: Kind,
    /// The module, unless it is no check of one.
    pub module: Option<Arc<Module>>,
    /// The hosts of each source of which it needs one. No host occurs twice in a source.
    pub sources: Vec<Vec<String>>,
    /// The question, if its answer may be that to another check.
    pub question: Option<Question>,
    /// The expected time until the answer.
    pub expected: Duration,
}

impl Task {
    /// Creates a task for hosts, which is no check of a module.
    pub fn plain(kind: Kind, sources: Vec<Vec<String>>) -> Self {
        Self { kind, module: None, sources, question: None, expected: Duration::ZERO }
    }

    /// Creates the task of a check of a module.
    pub fn of(module: &Arc<Module>, query: &Query) -> Self {
        let mut sources = module.hosts(query);
        if module.is_premium() {
            sources.iter_mut().for_each(|hosts| hosts.push(BROWSERS.to_owned()));
        }
        Self { module: Some(Arc::clone(module)), ..Self::plain(Kind::Check, sources) }
    }
}

/// Where a task was taken whose turn has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TakenFrom {
    /// The front of its run: pictures, and the checks of popular and fast modules.
    Front,
    /// The end of its run: the checks of modules whose hosts are expected to need longest for each check.
    Tail,
    /// The queue of this host.
    Queue(String),
}

/// The decision about a task whose turn has come: the check may be made, and dropping its permit ends it; or the report of a
/// check that is not made. That is the answer that another check has got, or says why the module is not asked now: it is in
/// quarantine, it has used all its checks of the day, or each of its sources has a host that must not be contacted. The
/// reason is that of the first source.
pub type Turn = Result<Box<Permit>, Box<Report>>;

/// What is done when the turn of a task has come.
pub type Work = Box<dyn FnOnce(Turn) + Send>;

/// A task, and what is known about its wait.
pub(super) struct Waiting {
    pub(super) task: Task,
    /// What is done when its turn has come.
    pub(super) work: Work,
    pub(super) group: GroupId,
    /// Whether it has waited for the answer to another check, which came to nothing.
    pub(super) has_followed: bool,
    /// The hosts of which it keeps a place while it waits for another one.
    pub(super) kept: Vec<String>,
}

/// The checks of one run.
pub(super) struct GroupState {
    pub(super) account: Option<AccountId>,
    pub(super) is_of_batch: bool,
    /// Whether it does not ask hosts and modules whose circuit is open, except for trials.
    pub(super) skips_failing: bool,
    /// The tasks that may begin: pictures, and then the checks, those of popular and fast modules first.
    pub(super) ready: VecDeque<TaskId>,
    /// The tasks that have begun.
    pub(super) running: HashMap<TaskId, TakenFrom>,
}

impl GroupState {
    /// Takes the next task. `window` is the run's share of the workers: a sixteenth of it begins with the slowest checks,
    /// since the run waits for them. Then come those whose hits come soonest, and the last quarter goes to slow ones again.
    fn next(&mut self, window: usize) -> Option<(TaskId, TakenFrom)> {
        let tail = self.running.values().filter(|from| **from == TakenFrom::Tail).count();
        let all = self.running.len();
        let is_tail_due = tail < window / 16 || (all >= window - window / 4 && tail < window / 4);
        match is_tail_due {
            true => self.ready.pop_back().map(|id| (id, TakenFrom::Tail)),
            false => self.ready.pop_front().map(|id| (id, TakenFrom::Front)),
        }
    }
}

/// All checks that wait or run, and the threads that run them.
#[derive(Default)]
pub(super) struct State {
    pub(super) tasks: HashMap<TaskId, Waiting>,
    pub(super) groups: BTreeMap<GroupId, GroupState>,
    pub(super) hosts: HashMap<String, Host>,
    /// The hosts with a queue whose first check may run.
    free_hosts: VecDeque<String>,
    /// The tasks that wait for a time.
    pub(super) delayed: BTreeSet<(Instant, TaskId)>,
    /// The questions that running checks ask, with the tasks that wait for their answers.
    pub(super) asking: HashMap<Question, Vec<TaskId>>,
    /// The time from which on each module with a rate may be asked again.
    next_of_module: HashMap<Arc<str>, Instant>,
    /// The number of the last task or group.
    last_id: u64,
    /// The configured maximum number of concurrent checks of one host, over all runs.
    pub(super) most_of_host: usize,
    /// The number of pages that can be open in browsers at once.
    pub(super) pages: usize,
    /// The number of threads that may be started.
    pub(super) workers: usize,
    pub(super) threads: usize,
    pub(super) idle: usize,
    /// The number of running checks that wait for the answer of another one, and need no worker.
    pub(super) lent: usize,
    /// Whether it was found out how many threads can be started.
    pub(super) is_measured: bool,
}

impl State {
    pub(super) fn of(workers: usize, pages: usize, most_of_host: usize) -> Self {
        Self { workers, pages, most_of_host, ..Self::default() }
    }

    /// Returns a host, which is a new one if nothing is known about it.
    pub(super) fn host(&mut self, name: &str, now: Instant) -> &mut Host {
        let (most, pages) = (self.most_of_host, self.pages);
        self.hosts.entry(name.to_owned()).or_insert_with(|| match name {
            BROWSERS => Host::of_this_side(pages, now),
            name if is_own(name) => Host::of_this_side(PICTURES, now),
            _ => Host::new(most, now),
        })
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Puts a task that has waited for something before all others of its group.
    fn put_back(&mut self, id: TaskId) {
        let group = self.tasks.get(&id).and_then(|waiting| self.groups.get_mut(&waiting.group));
        if let Some(group) = group {
            group.ready.push_front(id);
        }
    }

    /// Puts the checks back whose time has come.
    pub(super) fn return_delayed(&mut self, now: Instant) {
        let later = self.delayed.split_off(&(now, TaskId::MAX));
        for (_, id) in std::mem::replace(&mut self.delayed, later).into_iter().rev() {
            self.put_back(id);
        }
    }

    fn occupy(&mut self, hosts: &[String], now: Instant) {
        hosts.iter().for_each(|name| self.host(name, now).busy += 1);
    }

    /// Keeps places of hosts for a task that waits for another host.
    pub(super) fn keep(&mut self, id: TaskId, hosts: &[String], now: Instant) {
        self.occupy(hosts, now);
        if let Some(waiting) = self.tasks.get_mut(&id) {
            waiting.kept = hosts.to_vec();
        }
    }

    /// Begins a task at its hosts.
    pub(super) fn begin(&mut self, id: TaskId, from: TakenFrom, hosts: &[String], now: Instant) {
        self.occupy(hosts, now);
        let Some(Waiting { task, group, .. }) = self.tasks.get(&id) else { return };
        if let Some(question) = &task.question {
            self.asking.entry(question.clone()).or_default();
        }
        if let Some(group) = self.groups.get_mut(group) {
            group.running.insert(id, from);
        }
    }

    /// Frees the places that a task kept. Returns their hosts, and that from whose queue it was taken.
    pub(super) fn turns_of(&mut self, id: TaskId, from: &TakenFrom, now: Instant) -> Vec<String> {
        let mut turns = self.tasks.get_mut(&id).map_or_else(Vec::new, |it| std::mem::take(&mut it.kept));
        turns.iter().for_each(|name| self.free(name, Feedback::Neutral, now, now));
        turns.extend(if let TakenFrom::Queue(queue) = from { Some(queue.clone()) } else { None });
        turns
    }

    /// Frees a host of a check.
    pub(super) fn free(&mut self, name: &str, feedback: Feedback, began: Instant, now: Instant) {
        let Some(host) = self.hosts.get_mut(name) else { return };
        host.end(if is_own(name) { Feedback::Neutral } else { feedback }, began, now);
        if host.has_turn() && !self.free_hosts.iter().any(|known| known == name) {
            self.free_hosts.push_back(name.to_owned());
        }
        if host.is_forgettable(now) {
            self.hosts.remove(name);
        }
    }

    /// Lets the tasks go on that wait for the answer to a question.
    pub(super) fn release_followers(&mut self, question: &Question) {
        for id in self.asking.remove(question).into_iter().flatten().rev() {
            if let Some(waiting) = self.tasks.get_mut(&id) {
                waiting.has_followed = true;
                self.put_back(id);
            }
        }
    }

    /// Removes all tasks of a group, and returns them.
    pub(super) fn cancel(&mut self, group: GroupId) -> Vec<Waiting> {
        if let Some(group) = self.groups.get_mut(&group) {
            group.ready.clear();
        }
        let of_group = self.tasks.extract_if(|_, waiting| waiting.group == group);
        let removed: Vec<_> = of_group.map(|(_, waiting)| waiting).collect();
        if !removed.is_empty() {
            let Self { tasks, hosts, delayed, .. } = self;
            hosts.values_mut().for_each(|host| host.retain(|id| tasks.contains_key(&id)));
            delayed.retain(|(_, id)| tasks.contains_key(id));
        }
        let (kept, now) = (removed.iter().flat_map(|waiting| &waiting.kept), Instant::now());
        kept.for_each(|name| self.free(name, Feedback::Neutral, now, now));
        removed
    }

    /// Returns whether batches and other runs, in this order of flags, may begin further checks.
    fn may_begin(&self) -> [bool; 2] {
        let (mut running, mut groups) = ([0, 0], [0, 0]);
        for group in self.groups.values() {
            running[usize::from(group.is_of_batch)] += group.running.len();
            groups[usize::from(group.is_of_batch)] += 1;
        }
        let of_batches = (self.workers / BATCH_WORKERS).max(1);
        let share = [self.workers.saturating_sub(of_batches).max(1), of_batches];
        [0, 1].map(|own| groups[1 - own] == 0 || running[own] < share[own])
    }

    /// Takes a task of the group whose turn it is, of all or of those that would begin with it.
    fn next_of_groups(&mut self, begins: bool) -> Option<(TaskId, TakenFrom)> {
        let may_begin = self.may_begin();
        let mut of_account: HashMap<Option<AccountId>, usize> = HashMap::new();
        for group in self.groups.values() {
            *of_account.entry(group.account).or_default() += group.running.len();
        }
        let may_take = |group: &GroupState| {
            !group.ready.is_empty()
                && (!begins || group.running.is_empty() && !group.is_of_batch)
                && may_begin[usize::from(group.is_of_batch)]
        };
        let turn = |(id, group): (&GroupId, &GroupState)| {
            (group.is_of_batch, of_account[&group.account], group.running.len(), *id)
        };
        let (.., id) = self.groups.iter().filter(|(_, group)| may_take(group)).map(turn).min()?;
        let window = (self.workers / self.groups.len().max(1)).max(LEAST_WINDOW);
        self.groups.get_mut(&id)?.next(window)
    }

    /// Takes a task from the queue of a host that has a place for it.
    fn next_of_hosts(&mut self) -> Option<(TaskId, TakenFrom)> {
        let may_begin = self.may_begin();
        let Self { hosts, tasks, groups, free_hosts, .. } = self;
        let is_wanted = |id| {
            let group = tasks.get(&id).and_then(|waiting| groups.get(&waiting.group));
            group.is_some_and(|group| may_begin[usize::from(group.is_of_batch)])
        };
        free_hosts.retain(|name| hosts.get(name).is_some_and(Host::has_turn));
        let turn = |name: &String| {
            Some((hosts.get_mut(name)?.next_turn(is_wanted)?, TakenFrom::Queue(name.clone())))
        };
        free_hosts.iter().find_map(turn)
    }

    /// Takes the next task: the first one of each run but those of batches, then those whose turn at a host has come,
    /// since the host is idle until then, then all others.
    pub(super) fn next(&mut self) -> Option<(TaskId, TakenFrom)> {
        let first = self.next_of_groups(true).or_else(|| self.next_of_hosts());
        first.or_else(|| self.next_of_groups(false))
    }

    /// Reserves the next check of a module, which may begin at the returned time.
    ///
    /// # Errors
    /// Returns that time, and reserves nothing, if it is after `until`.
    pub(super) fn reserve(
        &mut self,
        module: &Module,
        now: Instant,
        until: Instant,
    ) -> Result<Instant, Instant> {
        let Some(every) = module.entry().every_ms.map(Duration::from_millis) else { return Ok(now) };
        let next = self.next_of_module.entry(Arc::clone(module.id())).or_insert(now);
        let begin = now.max(*next);
        if begin > until {
            return Err(begin);
        }
        *next = begin + every;
        Ok(begin)
    }

    /// Returns about how many workers may have something to do now.
    pub(super) fn ready(&self) -> usize {
        self.free_hosts.len() + self.groups.values().map(|group| group.ready.len()).sum::<usize>()
    }
}

/// The checks of all runs, and their workers. There is one value for each process.
pub struct Scheduler {
    pub(super) state: Mutex<State>,
    /// Notified when a check may be ready.
    pub(super) called: Condvar,
    pub(super) health: Arc<HealthTable>,
    /// The answers that searches for the same query share.
    pub(in crate::runs) answers: SharedAnswers,
}

/// A check that runs. Dropping it ends the check and frees its hosts.
pub struct Permit {
    pub(super) scheduler: Arc<Scheduler>,
    /// The group of the check.
    pub group: GroupId,
    pub(super) task: TaskId,
    pub(super) hosts: Vec<String>,
    /// The question whose answer other checks wait for.
    pub(super) question: Option<Question>,
    pub(super) skips_failing: bool,
    /// The hosts whose circuit was open when the check began, and that it may try.
    pub(super) trials: Vec<String>,
    /// The hosts that it tries.
    pub(super) tried: Mutex<Vec<String>>,
    /// The trial of the module in quarantine that this check makes.
    pub module_trial: Option<ModuleTrial>,
    pub(super) module: Option<Arc<Module>>,
    pub(super) began: Instant,
    pub(super) feedback: Feedback,
}

impl Permit {
    /// Ends the check: frees its hosts and adapts their limits, and shares the report of a run with other checks.
    pub fn end(mut self, feedback: Feedback, shared: Option<(RunId, &Arc<Report>)>) {
        self.feedback = feedback;
        if let (Some(question), Some((run, report))) = (&self.question, shared) {
            self.scheduler.answers.insert(question, run, report);
        }
    }

    /// Counts a check of the module for its daily limit. Returns `false` if it has used all its checks of the day.
    pub(super) fn is_within_day(&self) -> bool {
        let limit = self.module.as_ref().and_then(|module| Some((module.id(), module.entry().per_day?)));
        limit.is_none_or(|(module, limit)| self.scheduler.health.count_today(module, limit))
    }

    /// Returns the first host with an open circuit that this check tries.
    pub fn first_trial(&self) -> Option<&String> {
        self.trials.first()
    }
}

impl HostAccess for Permit {
    fn access(&self, host: &str) -> Access {
        let Scheduler { state, health, .. } = &*self.scheduler;
        if state.lock().hosts.get(host).is_some_and(|host| host.is_paused(Instant::now())) {
            return Access::Denied(Denial::Pause);
        }
        let (mut tried, has) =
            (self.tried.lock(), |hosts: &[String]| hosts.iter().any(|known| known == host));
        if has(&tried) {
            return Access::Trial(health.circuits.trial_time(host));
        }
        // A circuit that opens after the check has begun does not stop it.
        if !self.skips_failing || has(&self.hosts) && !has(&self.trials) {
            return Access::Granted;
        }
        let access = health.circuits.access(host);
        if let Access::Trial(_) = access {
            tried.push(host.to_owned());
        }
        access
    }

    fn reserve(&self, now: Instant, until: Instant) -> Option<Instant> {
        let begin = match &self.module {
            Some(module) => self.scheduler.state.lock().reserve(module, now, until).ok()?,
            None => now,
        };
        self.is_within_day().then_some(begin)
    }

    fn lend(&self, wait: &mut dyn FnMut()) {
        let (mut state, now) = (self.scheduler.state.lock(), Instant::now());
        self.hosts.iter().for_each(|name| state.free(name, Feedback::Neutral, now, now));
        state.lent += 1;
        self.scheduler.call_workers(state);
        wait();
        let mut state = self.scheduler.state.lock();
        // It goes on also if there are no free places now: then others begin later.
        state.occupy(&self.hosts, Instant::now());
        state.lent -= 1;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let now = Instant::now();
        let mut state = self.scheduler.state.lock();
        self.hosts.iter().for_each(|name| state.free(name, self.feedback, self.began, now));
        if let Some(group) = state.groups.get_mut(&self.group) {
            group.running.remove(&self.task);
        }
        if let Some(question) = &self.question {
            state.release_followers(question);
        }
        if state.ready() > 0 {
            self.scheduler.called.notify_one();
        }
    }
}
