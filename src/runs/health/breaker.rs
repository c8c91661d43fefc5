//! `Breaker`: the circuit breaker of one host or one module, as a state machine without a clock, and [`Breakers`]:
//! those of all hosts, or of all modules.
//!
//! A breaker is closed until several checks in a row, of at least two runs, fail. Then it opens, and no check contacts
//! the host or the module. After a wait, one check is let through as a trial, and after as long a wait another one. A success
//! closes the breaker. A failure doubles the wait.
//!
//! A host that concludes some checks must not be given up because of others that it does not answer. The more failures in
//! a row a success has followed, the more are needed.
//!
//! The breaker of a host fails if the host keeps a check from a conclusion for long (see [`super::counting`]). That of a
//! module fails if its control check fails (see there).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::base::clock::Clock;
use crate::base::ids::RunId;
use crate::model::health::{BreakerState, Cause, Opening};
use crate::modules::terms::{Access, Denial};

/// The factor by which a success reduces the weight of earlier rows of failures.
const KEPT_ROW: f64 = 0.9;
/// The most failures in a row that count.
const LONGEST_ROW: f64 = 4.0;
/// What an open breaker counts as: the host may conclude some checks, or has been repaired.
const ROW_OF_OPEN: f64 = 2.0;
/// The time that a host has for its answer in the first trial. Each failed trial doubles it, so that a slow host is found
/// again.
const FIRST_TRIAL: Duration = Duration::from_secs(3);
/// The time for which successes and stored closings are kept, so that records of other processes are compared with them.
const KEEP_CLOSED: Duration = Duration::from_secs(60 * 60);

/// When breakers open, and when they are tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rules {
    /// The number of failures in a row after which a breaker opens.
    failures: u32,
    /// How many failures more are needed for each failure of the rows that successes have ended.
    patience: f64,
    /// The wait from the opening to the first trial. Each failed trial doubles it.
    first: Duration,
    longest: Duration,
}

impl Rules {
    /// Returns the rules for hosts. The longest wait is thirty times the first one.
    pub(super) const fn of_hosts(first: Duration) -> Self {
        Self { failures: 3, patience: 5.0, first, longest: first.saturating_mul(30) }
    }

    /// Returns the rules for modules. The longest wait is 144 times the first one: a day, if that is ten minutes.
    pub(super) const fn of_modules(first: Duration) -> Self {
        Self { failures: 2, patience: 0.0, first, longest: first.saturating_mul(144) }
    }
}

/// The circuit breaker of one host or one module. The default is closed.
#[derive(Debug, Clone, Default)]
pub(super) struct Breaker {
    state: BreakerState,
    /// Whether the last change is not stored yet.
    is_unwritten: bool,
    /// The failures in a row while the breaker is closed.
    row: Row,
    /// About how many failures in a row a success has followed lately.
    usual_row: f64,
    /// Whether a trial has begun whose end has not been counted.
    is_tried: bool,
    /// The time of the last success.
    pub(super) succeeded: Timestamp,
}

#[derive(Debug, Clone, Default)]
struct Row {
    failures: u32,
    /// The cause of the last failure.
    cause: Option<Cause>,
    /// The run of the first failure.
    first_run: Option<RunId>,
    /// Whether the failures are of at least two runs.
    is_of_several_runs: bool,
}

impl Breaker {
    /// Returns whether a check at `now` is a trial, or why it is not allowed. What is renewed is tried before its time.
    fn ask(&self, now: Timestamp, rules: Rules, is_renewed: bool) -> Result<bool, Denial> {
        let Some(opening) = &self.state.opening else { return Ok(false) };
        let left = opening.next_try.duration_since(now);
        // A time that is too far ahead is that of a clock that was set back.
        let is_due = left <= SignedDuration::ZERO || left.unsigned_abs() > opening.wait.max(rules.longest);
        match &opening.cause {
            _ if is_due || is_renewed && !self.is_tried => Ok(true),
            Cause::Check(outcome) => Err(Denial::Circuit(*outcome, opening.times())),
            Cause::Control(_) => Err(Denial::Quarantine(opening.times())),
        }
    }

    /// Begins the trial that [`Self::ask`] allows. The next one may begin after the present wait.
    fn begin_trial(&mut self, now: Timestamp) {
        if let Some(opening) = &mut self.state.opening {
            self.is_tried = true;
            opening.next_try = after(now, opening.wait);
        }
    }

    /// Counts a failed check of `run`.
    pub(super) fn note_failure(&mut self, run: RunId, cause: Cause, now: Timestamp, rules: Rules) {
        let opening = if let Some(opening) = &self.state.opening {
            // Only one failure counts for each trial. Others are of checks that began earlier or that ask anyway.
            if !std::mem::take(&mut self.is_tried) {
                return;
            }
            let wait = (opening.wait * 2).min(rules.longest);
            let failures = opening.failures.saturating_add(1);
            Opening { failures, cause, since: opening.since, wait, next_try: after(now, wait) }
        } else {
            let row = &mut self.row;
            row.failures = row.failures.saturating_add(1);
            row.is_of_several_runs |= *row.first_run.get_or_insert(run) != run;
            row.cause = Some(cause.clone());
            let needed = f64::from(rules.failures) + rules.patience * self.usual_row;
            if f64::from(row.failures) < needed || !row.is_of_several_runs {
                return;
            }
            let (failures, wait) = (row.failures, rules.first);
            Opening { failures, cause, since: now, wait, next_try: after(now, wait) }
        };
        self.state.change(Some(opening), now);
        self.is_unwritten = true;
    }

    /// Counts a success, which closes the breaker.
    pub(super) fn note_success(&mut self, now: Timestamp) {
        self.succeeded = self.succeeded.max(now);
        let row = match self.state.opening {
            Some(_) => ROW_OF_OPEN,
            None => f64::from(self.row.failures).min(LONGEST_ROW),
        };
        self.usual_row = row.max(KEPT_ROW * self.usual_row + (1.0 - KEPT_ROW) * row);
        (self.row, self.is_tried) = (Row::default(), false);
        self.is_unwritten |= self.state.close(now);
    }

    /// Takes over a state of the store if it is newer. An opening that is older than a success seen here stays closed.
    fn merge(&mut self, stored: BreakerState) {
        if self.state.changed_at >= stored.changed_at {
            self.is_unwritten &= self.state.changed_at != stored.changed_at;
            return;
        }
        (self.row, self.is_tried) = (Row::default(), false);
        (self.state, self.is_unwritten) = (stored, false);
        if self.succeeded >= self.state.changed_at {
            self.is_unwritten = self.state.close(self.succeeded);
        }
    }

    /// Returns whether the last check failed.
    pub(super) fn is_failing(&self) -> bool {
        self.state.opening.is_none() && self.row.failures > 0
    }

    /// Returns the state if the breaker is open.
    pub(super) fn opening(&self) -> Option<&Opening> {
        self.state.opening.as_ref()
    }

    /// Returns the cause of the opening, or of the last failure if the breaker is closed.
    pub(super) fn cause(&self) -> Option<&Cause> {
        self.opening().map(|opening| &opening.cause).or(self.row.cause.as_ref())
    }

    /// Returns whether the breaker contains nothing that a later check needs. Successes and stored changes before `old`
    /// are not needed.
    fn is_idle(&self, old: Timestamp) -> bool {
        let is_closed = self.state.opening.is_none() && self.row.failures == 0;
        is_closed && !self.is_unwritten && self.succeeded.max(self.state.changed_at) < old
    }
}

/// The breakers of all hosts by name, or of all modules by id. One that is not in it is closed.
pub struct Breakers {
    pub(super) by_name: Mutex<HashMap<Arc<str>, Breaker>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) rules: Rules,
}

impl Breakers {
    pub(super) fn new(clock: Arc<dyn Clock>, rules: Rules) -> Self {
        Self { by_name: Mutex::default(), clock, rules }
    }

    /// Returns the reason for which a host must not be contacted now, if there is one.
    pub fn denial(&self, host: &str) -> Option<Denial> {
        self.ask(host, |_| false, false).err()
    }

    /// Requests access to a host. A trial begins at once.
    pub fn access(&self, host: &str) -> Access {
        match self.ask(host, |_| false, true) {
            Ok(None) => Access::Granted,
            Ok(Some(opening)) => Access::Trial(self.time_of(&opening)),
            Err(denial) => Access::Denied(denial),
        }
    }

    /// Returns the opening if a check is a trial, which begins at once if `begins` is set, or why no check is allowed. What
    /// is renewed is tried before its time.
    pub(super) fn ask(
        &self,
        name: &str,
        is_renewed: impl FnOnce(&Opening) -> bool,
        begins: bool,
    ) -> Result<Option<Opening>, Denial> {
        let (mut all, now) = (self.by_name.lock(), self.clock.now());
        let Some(breaker) = all.get_mut(name) else { return Ok(None) };
        let is_renewed = breaker.opening().is_some_and(is_renewed);
        if breaker.ask(now, self.rules, is_renewed)? && begins {
            breaker.begin_trial(now);
        }
        Ok(breaker.opening().cloned())
    }

    /// Returns the time that a host has for its answer in a trial. A closed breaker does not limit it.
    pub fn trial_time(&self, host: &str) -> Duration {
        self.of(host).map_or(self.rules.longest, |opening| self.time_of(&opening))
    }

    fn time_of(&self, opening: &Opening) -> Duration {
        FIRST_TRIAL.mul_f64(opening.wait.div_duration_f64(self.rules.first))
    }

    /// Returns the state of a host or a module if its breaker is open.
    pub fn of(&self, name: &str) -> Option<Opening> {
        self.by_name.lock().get(name).and_then(Breaker::opening).cloned()
    }

    /// Returns the open breakers, sorted by name.
    pub fn open(&self) -> BTreeMap<Arc<str>, Opening> {
        let all = self.by_name.lock();
        all.iter().filter_map(|(name, it)| Some((Arc::clone(name), it.opening()?.clone()))).collect()
    }

    /// Returns the changes that are not stored yet.
    pub(super) fn unwritten(&self) -> Vec<(Arc<str>, BreakerState)> {
        let all = self.by_name.lock();
        let unwritten = all.iter().filter(|(_, breaker)| breaker.is_unwritten);
        unwritten.map(|(name, breaker)| (Arc::clone(name), breaker.state.clone())).collect()
    }

    /// Takes over what the store has, and removes the breakers that no later check needs.
    pub(super) fn take_over(&self, stored: Vec<(Arc<str>, BreakerState)>) {
        let old = self.clock.now().saturating_sub(KEEP_CLOSED).unwrap_or(Timestamp::MIN);
        let mut all = self.by_name.lock();
        for (name, state) in stored {
            all.entry(name).or_default().merge(state);
        }
        all.retain(|_, breaker| !breaker.is_idle(old));
    }
}

/// Returns the moment a duration after `at`.
fn after(at: Timestamp, wait: Duration) -> Timestamp {
    at.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
