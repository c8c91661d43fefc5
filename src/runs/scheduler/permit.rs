//! [`Permit`]: a check that runs, and the hosts that it may contact.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::host::Feedback;
use super::state::State;
use super::task::{Class, GroupId, Pace, TaskId};
use crate::modules::control_check::ControlCheck;
use crate::modules::module::Module;
use crate::modules::outcome::{Evidence, Report};
use crate::modules::terms::{Access, Denial, HostAccess, ModuleTrial};
use crate::runs::health::HealthTable;
use crate::runs::shared_answers::{Answer, Question, SharedAnswers};

/// The state of the scheduler, and what the checks that run share with it.
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    /// Notified when a check of each class may be ready.
    pub(super) called: [Condvar; 2],
    pub(super) health: Arc<HealthTable>,
    pub(super) answers: SharedAnswers,
}

/// A check that runs. Dropping it ends the check and frees its hosts.
pub struct Permit {
    pub(super) shared: Arc<Shared>,
    /// The group of the check.
    pub group: GroupId,
    pub(super) task: TaskId,
    pub(super) hosts: Vec<String>,
    /// The question whose answer other checks wait for.
    pub(super) question: Option<Question>,
    pub(super) skips_failing: bool,
    /// The hosts whose circuit is open and that this check tries, each with whether it was contacted.
    pub(super) trials: Mutex<HashMap<String, bool>>,
    /// The trial of the module in quarantine that this check makes, and whether its control check was made.
    pub(super) module_trial: Option<(ModuleTrial, AtomicBool)>,
    /// The module and its rate.
    pub(super) paced: Option<(Arc<str>, Pace)>,
    pub(super) began: Instant,
    pub(super) feedback: Feedback,
}

impl Permit {
    /// Ends the check: frees its hosts and adapts their limits, and gives its answer to the checks that wait for it.
    pub fn end(mut self, feedback: Feedback, answer: Option<Answer>) {
        self.feedback = feedback;
        if let (Some(question), Some(answer)) = (&self.question, answer) {
            self.shared.answers.insert(question, answer);
        }
    }

    /// Counts a check of the module for its daily limit. Returns `false` if it has used all its checks of the day.
    pub(super) fn is_within_day(&self) -> bool {
        let limit = self.paced.as_ref().and_then(|(module, pace)| Some((module, pace.per_day?)));
        limit.is_none_or(|(module, limit)| self.shared.health.count_today(module, limit))
    }

    /// Returns the trial of the module, if it is in quarantine.
    pub fn module_trial(&self) -> Option<ModuleTrial> {
        self.module_trial.as_ref().map(|(trial, _)| *trial)
    }

    /// Returns the first host with an open circuit that this check tries.
    pub fn first_trial(&self) -> Option<String> {
        self.trials.lock().keys().next().cloned()
    }

    /// Records the end of a check of the module. Successes close the circuits of hosts.
    pub fn note_report(&self, module: &Module, report: &Report) {
        self.shared.health.note_successes(report);
        self.note_evidence(module, &report.evidence);
    }

    /// Records the hosts that a check of the module has contacted, and its control checks. Passed control checks close the
    /// circuit of the module.
    pub fn note_evidence(&self, module: &Module, evidence: &Evidence) {
        let Evidence { contacts, controls, .. } = evidence;
        self.shared.health.note_heard(contacts);
        self.shared.health.note_passed(module.id(), controls);
        if let Some((trial, was_made)) = &self.module_trial {
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
        let Shared { state, health, .. } = &*self.shared;
        if state.lock().hosts.get(host).is_some_and(|host| host.is_paused(Instant::now())) {
            return Access::Denied(Denial::Pause);
        }
        let mut trials = self.trials.lock();
        if trials.contains_key(host) {
            return Access::Trial(health.circuits.trial_time(host));
        }
        // A circuit that opens after the check has begun does not stop it.
        if !self.skips_failing || self.hosts.iter().any(|known| known == host) {
            return Access::Granted;
        }
        let access = health.circuits.access(host);
        if let Access::Trial(_) = access {
            trials.insert(host.to_owned(), false);
        }
        access
    }

    fn reserve(&self, now: Instant, until: Instant) -> Option<Instant> {
        let paced = self.paced.as_ref().filter(|(_, pace)| pace.every.is_some());
        let begin = match paced {
            Some((module, pace)) => self.shared.state.lock().reserve(module, *pace, now, until).ok()?,
            None => now,
        };
        self.is_within_day().then_some(begin)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        for (host, was_contacted) in self.trials.get_mut().drain() {
            self.shared.health.circuits.end_trial(&host, was_contacted);
        }
        if let (Some((_, was_made)), Some((module, _))) = (&mut self.module_trial, &self.paced) {
            self.shared.health.quarantines.end_trial(module, *was_made.get_mut());
        }
        let now = Instant::now();
        let mut state = self.shared.state.lock();
        self.hosts.iter().for_each(|name| state.free(name, self.feedback, self.began, now));
        if let Some(group) = state.groups.get_mut(&self.group) {
            group.running.remove(&self.task);
        }
        if let Some(question) = &self.question {
            state.release_followers(question);
        }
        for class in [Class::Check, Class::Browser] {
            if state.has_ready(class) {
                self.shared.called[class as usize].notify_one();
            }
        }
    }
}
