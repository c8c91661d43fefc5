//! [`HostLimiter`]: limits the checks of each host and each module. Each host has a few concurrent checks, over all
//! runs, whose number follows its answers. A module can have a rate of its own (`every_ms`, `per_day`), which applies
//! in any case. A host that asked for a pause, or whose circuit is open, is not contacted. A module in quarantine is not
//! asked.
//!
//! A check that is not admitted yet uses no worker: its driver requests a [`Permit`] before it submits the check to
//! the pool. Checks that find a host busy wait in a queue of the host, and the first ones are woken when it is free. Checks
//! of batches come last.

mod host;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::adaptive_limit::{AdaptiveLimit, Feedback};
use super::health::circuits::{Circuits, OnOpenCircuit};
use super::health::quarantines::{ModuleAccess, Quarantines};
use super::pace::{Pace, Paces, Refusal};
use crate::modules::checker::Checker;
use crate::modules::control_check::ControlCheck;
use crate::modules::module::Module;
use crate::modules::outcome::{Evidence, Pause, Report};
use crate::modules::query::Query;
use crate::modules::terms::{Access, Denial, HostAccess, ModuleTrial};
use host::Host;
pub use host::{Requester, Waker};

/// The longest time for which a site's `Retry-After` is followed, so that a wrong one does not disable a module
/// permanently.
const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);

/// The decision whether a check may start.
pub enum Admission {
    /// The check may start. Dropping the permit frees the hosts.
    Granted(Permit),
    /// A host has as many checks as it may have now. The waker is called when it is the check's turn, and the check
    /// keeps its place in the queue until it is admitted.
    HostBusy,
    /// The module's rate allows the check only from this moment on.
    NotBefore(Instant),
    /// The module has used all its checks of the day.
    DailyLimit,
    /// The module is in quarantine, or each source of the module has a host that must not be contacted now. Contains the
    /// reason, that of the first source.
    Denied(Denial),
}

/// A limiter that counts the checks of each host. There is one value for each process.
pub struct HostLimiter {
    /// The configured maximum number of concurrent checks of one host, over all runs.
    most: usize,
    hosts: Arc<Mutex<HashMap<String, Host>>>,
    paces: Arc<Paces>,
    circuits: Arc<Circuits>,
    quarantines: Arc<Quarantines>,
}

/// A reservation at some hosts. Dropping it releases them.
#[derive(Default)]
pub struct Permit {
    hosts: Vec<String>,
    on_open_circuit: OnOpenCircuit,
    /// The hosts whose circuit is open and that this check tries, each with whether it was contacted.
    trials: Mutex<HashMap<String, bool>>,
    table: Arc<Mutex<HashMap<String, Host>>>,
    circuits: Arc<Circuits>,
    quarantines: Arc<Quarantines>,
    /// The module in quarantine that this check tries.
    module_trial: Option<Box<RunningTrial>>,
    /// The module and its rate.
    paced: Option<(Arc<Paces>, String, Pace)>,
    feedback: Option<Feedback>,
    began: Option<Instant>,
}

/// The trial of a module in quarantine that a check makes.
struct RunningTrial {
    module: Arc<str>,
    trial: ModuleTrial,
    /// Whether the control check was made.
    was_made: AtomicBool,
}

impl Permit {
    /// Returns the trial of the module, if it is in quarantine.
    pub fn module_trial(&self) -> Option<ModuleTrial> {
        self.module_trial.as_ref().map(|running| running.trial)
    }

    /// Releases the hosts and adapts their limits to the end of the check.
    pub fn end(mut self, feedback: Feedback) {
        self.feedback = Some(feedback);
    }

    /// Returns the first host with an open circuit that this check tries.
    pub fn first_trial(&self) -> Option<String> {
        self.trials.lock().keys().next().cloned()
    }

    /// Records the end of a check of the module. Successes close the circuits of hosts.
    pub fn note_report(&self, module: &Module, report: &Report) {
        self.circuits.note_successes(report);
        self.note_evidence(module, &report.evidence);
    }

    /// Records the hosts that a check of the module has contacted, and its control checks. Passed control checks close the
    /// circuit of the module.
    pub fn note_evidence(&self, module: &Module, evidence: &Evidence) {
        let Evidence { contacts, controls, .. } = evidence;
        self.circuits.note_heard(contacts);
        self.quarantines.note_passed(module.id(), controls);
        if let Some(RunningTrial { trial, was_made, .. }) = self.module_trial.as_deref() {
            let is_of_trial = |control: &ControlCheck| control.direction == trial.direction;
            was_made.store(controls.iter().any(is_of_trial), Ordering::Relaxed);
        }
        let mut trials = self.trials.lock();
        for contact in contacts {
            if let Some(was_contacted) = trials.get_mut(&contact.host) {
                *was_contacted = true;
            }
        }
    }
}

impl HostAccess for Permit {
    fn access(&self, host: &str) -> Access {
        if self.table.lock().get(host).is_some_and(|host| host.is_paused(Instant::now())) {
            return Access::Denied(Denial::Pause);
        }
        let mut trials = self.trials.lock();
        if trials.contains_key(host) {
            return Access::Trial(self.circuits.trial_time(host));
        }
        // A circuit that opens after the admission does not stop the check.
        if self.on_open_circuit == OnOpenCircuit::Ask || self.hosts.iter().any(|known| known == host) {
            return Access::Granted;
        }
        let access = self.circuits.access(host);
        if let Access::Trial(_) = access {
            trials.insert(host.to_owned(), false);
        }
        access
    }

    fn reserve(&self, now: Instant, until: Instant) -> Option<Instant> {
        let Some((paces, module, pace)) = &self.paced else { return Some(now) };
        paces.reserve(module, *pace, now, until).ok()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        for (host, was_contacted) in self.trials.get_mut().drain() {
            self.circuits.hosts.end_trial(&host, was_contacted);
        }
        if let Some(RunningTrial { module, was_made, .. }) = self.module_trial.as_deref_mut() {
            self.quarantines.modules.end_trial(module, *was_made.get_mut());
        }
        let now = Instant::now();
        let mut woken: Vec<Waker> = Vec::new();
        {
            let mut table = self.table.lock();
            for name in &self.hosts {
                let Some(host) = table.get_mut(name) else { continue };
                host.end(self.feedback.unwrap_or(Feedback::Neutral), self.began, now);
                woken.append(&mut host.next_turns());
                if host.is_forgettable(now) {
                    table.remove(name);
                }
            }
        }
        for wake in woken {
            wake();
        }
    }
}

impl HostLimiter {
    /// Creates a limiter that never allows more than `most` concurrent checks of one host, but at least one, and that
    /// does not contact hosts whose circuit is open, or ask modules in quarantine.
    pub fn new(most: usize, circuits: Arc<Circuits>, quarantines: Arc<Quarantines>) -> Self {
        Self { most, hosts: Arc::default(), paces: Arc::default(), circuits, quarantines }
    }

    /// Returns how many checks of a module may run at once now, by the limits of the hosts that it queries first.
    pub fn at_once(&self, checker: &Checker, module: &Module, query: &Query) -> u32 {
        let hosts = checker.hosts(module, query).into_iter().next().unwrap_or_default();
        let (table, unknown) = (self.hosts.lock(), AdaptiveLimit::new(self.most));
        let limits = hosts.iter().map(|name| table.get(name).map_or(unknown.get(), |host| host.limit.get()));
        limits.min().and_then(|least| u32::try_from(least).ok()).unwrap_or(u32::MAX)
    }

    /// Requests permission to start a check, within the limits of the hosts that it queries first and the rate of the
    /// module.
    pub fn admit_check(
        &self,
        checker: &Checker,
        module: &Module,
        query: &Query,
        on_open_circuit: OnOpenCircuit,
        requester: Requester<'_>,
    ) -> Admission {
        if on_open_circuit == OnOpenCircuit::Skip
            && let Some(denial) = self.quarantines.denial(module)
        {
            return Admission::Denied(denial);
        }
        let entry = module.entry();
        // Reading a local list again costs nothing, so no rate applies.
        let pace = match checker.sends_no_request(module, query) {
            true => Pace::default(),
            false => Pace { every: entry.every_ms.map(Duration::from_millis), per_day: entry.per_day },
        };
        let hosts = checker.hosts(module, query);
        let mut admission = self.admit(module.id(), pace, hosts, on_open_circuit, requester, Instant::now());
        if let (Admission::Granted(permit), OnOpenCircuit::Skip) = (&mut admission, on_open_circuit) {
            match self.quarantines.access(module) {
                ModuleAccess::Granted => {}
                ModuleAccess::Trial(trial) => {
                    let (module, was_made) = (Arc::clone(module.id()), AtomicBool::new(false));
                    permit.module_trial = Some(Box::new(RunningTrial { module, trial, was_made }));
                }
                // Another check has begun the trial since.
                ModuleAccess::Denied(denial) => return Admission::Denied(denial),
            }
        }
        admission
    }

    /// Requests a reservation at all hosts of the first source without a host that must not be contacted, within the
    /// rate of the module. No host occurs twice in a source.
    pub fn admit(
        &self,
        module: &str,
        pace: Pace,
        sources: Vec<Vec<String>>,
        on_open_circuit: OnOpenCircuit,
        requester: Requester<'_>,
        now: Instant,
    ) -> Admission {
        let mut table = self.hosts.lock();
        let denial = |name: &String| match table.get(name) {
            Some(host) if host.is_paused(now) => Some(Denial::Pause),
            _ if on_open_circuit == OnOpenCircuit::Ask => None,
            _ => self.circuits.denial(name),
        };
        let denials: Vec<_> = sources.iter().map(|hosts| hosts.iter().find_map(denial)).collect();
        let hosts = match denials.iter().position(Option::is_none) {
            Some(place) => sources.into_iter().nth(place).unwrap_or_default(),
            None => match denials.into_iter().flatten().next() {
                Some(denial) => return Admission::Denied(denial),
                None => Vec::new(),
            },
        };
        for name in &hosts {
            let Some(host) = table.get_mut(name) else { continue };
            if !host.has_place(requester) {
                host.wait(requester);
                return Admission::HostBusy;
            }
        }
        match self.paces.reserve(module, pace, now, now) {
            Ok(_) => {}
            Err(Refusal::NotBefore(at)) => return Admission::NotBefore(at),
            Err(Refusal::DailyLimit) => return Admission::DailyLimit,
        }
        for name in &hosts {
            table.entry(name.clone()).or_insert_with(|| Host::new(self.most, now)).begin(requester.waker);
        }
        let trials = match on_open_circuit {
            OnOpenCircuit::Skip => self.begin_trials(&hosts),
            OnOpenCircuit::Ask => HashMap::new(),
        };
        let (table, circuits) = (Arc::clone(&self.hosts), Arc::clone(&self.circuits));
        let trials = Mutex::new(trials);
        let paced = Some((Arc::clone(&self.paces), module.to_owned(), pace));
        let quarantines = Arc::clone(&self.quarantines);
        Admission::Granted(Permit {
            hosts,
            on_open_circuit,
            trials,
            table,
            circuits,
            quarantines,
            module_trial: None,
            paced,
            feedback: None,
            began: Some(now),
        })
    }

    /// Begins the trials that the circuits of these hosts allow.
    fn begin_trials(&self, hosts: &[String]) -> HashMap<String, bool> {
        let is_trial = |host: &&String| matches!(self.circuits.access(host), Access::Trial(_));
        hosts.iter().filter(is_trial).map(|host| (host.clone(), false)).collect()
    }

    /// Pauses hosts for all runs, for the requested time but at most ten minutes.
    pub fn pause(&self, pauses: &[Pause], now: Instant) {
        let mut table = self.hosts.lock();
        for Pause { host, secs } in pauses {
            let end = now + Duration::from_secs(*secs).min(LONGEST_PAUSE);
            let host = table.entry(host.clone()).or_insert_with(|| Host::new(self.most, now));
            host.paused_until = host.paused_until.max(Some(end));
        }
    }

    /// Removes pauses that have ended, and the limits of hosts that were not queried for ten minutes.
    pub fn sweep(&self, now: Instant) {
        self.hosts.lock().retain(|_, host| {
            host.paused_until = host.paused_until.filter(|end| now < *end);
            host.remove_ended();
            !host.is_forgettable(now)
        });
    }
}

#[cfg(test)]
mod tests;
