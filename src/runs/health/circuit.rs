//! [`Circuit`]: the circuit breaker of one host or one module, as a state machine without a clock.
//!
//! A circuit is closed until several checks in a row, of at least two runs, fail. Then it opens, and no check contacts
//! the host or the module. After a wait, one check is let through as a trial. A success closes the circuit. A failure
//! doubles the wait.
//!
//! A host that concludes some checks must not be given up because of others that it does not answer. The more failures in
//! a row a success has followed, the more are needed.
//!
//! The circuit of a host fails if the host keeps a check from a conclusion for long (see [`super::circuits`]). The
//! circuit of a module fails if its control check fails (see [`super::quarantines`]).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::base::ids::RunId;
use crate::model::health::{CircuitRecord, Opening};
use crate::modules::outcome::{OpenCircuit, Outcome};
use crate::modules::terms::{Access, Denial};

/// The factor by which a success reduces the weight of earlier rows of failures.
const KEPT_ROW: f64 = 0.9;

/// The most failures in a row that count.
const LONGEST_ROW: f64 = 4.0;

/// What an open circuit counts as: the host may conclude some checks, or has been repaired.
const ROW_OF_OPEN: f64 = 2.0;

/// The rules for the opening of circuits and for retries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retry {
    /// The number of failures in a row after which a circuit opens.
    pub failures: u32,
    /// The wait from the opening of a circuit to the first trial. Each failed trial doubles the wait.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
    /// The time that the host has for its answer in the first trial. Each failed trial doubles it, so that a slow host
    /// is found again.
    pub trial: Duration,
    /// How many failures more are needed for each failure of the rows that successes have ended.
    pub patience: f64,
}

impl Retry {
    /// Returns the rules for hosts, with this first wait. The longest wait is thirty times as long.
    pub const fn of_hosts(first: Duration) -> Self {
        Self {
            failures: 3,
            first,
            longest: first.saturating_mul(30),
            trial: Duration::from_secs(3),
            patience: 5.0,
        }
    }

    /// Returns the rules for modules, with this first wait. The longest wait is 144 times as long: a day, if the first
    /// one is ten minutes.
    pub const fn of_modules(first: Duration) -> Self {
        Self { failures: 2, longest: first.saturating_mul(144), patience: 0.0, ..Self::of_hosts(first) }
    }
}

impl Default for Retry {
    /// Returns the rules for hosts with a first wait of a minute, a longest wait of half an hour, and a first trial of
    /// three seconds.
    fn default() -> Self {
        Self::of_hosts(Duration::from_secs(60))
    }
}

/// The cause of failures: the outcome of the failed checks (`timeout` or `error`) for a host, the failed control check
/// for a module.
pub trait Cause: Clone {
    /// Returns the reason for which a check is not made while the circuit is open.
    fn denial(&self, times: OpenCircuit) -> Denial;
}

impl Cause for Outcome {
    fn denial(&self, times: OpenCircuit) -> Denial {
        Denial::Circuit(*self, times)
    }
}

/// The circuit breaker of one host or one module. The default is closed.
#[derive(Debug, Clone)]
pub struct Circuit<C> {
    failures: u32,
    /// About how many failures in a row a success has followed lately.
    usual_row: f64,
    /// The cause of the last failure.
    cause: Option<C>,
    /// The run of the first failure.
    first_run: Option<RunId>,
    /// Whether the failures are of at least two runs.
    is_of_several_runs: bool,
    opening: Option<Opening<C>>,
    /// Whether a trial is in progress.
    in_trial: bool,
    /// The time from which the last trial was allowed, as long as its failure has not been counted.
    tried: Option<Timestamp>,
    answered: Option<Timestamp>,
    changed: Option<Timestamp>,
    is_unwritten: bool,
}

impl<C> Default for Circuit<C> {
    fn default() -> Self {
        Self {
            failures: 0,
            usual_row: 0.0,
            cause: None,
            first_run: None,
            is_of_several_runs: false,
            opening: None,
            in_trial: false,
            tried: None,
            answered: None,
            changed: None,
            is_unwritten: false,
        }
    }
}

impl<C: Cause> Circuit<C> {
    /// Returns the access that a check would get at `now`.
    pub fn access(&self, now: Timestamp, retry: Retry) -> Access {
        match &self.opening {
            None => Access::Granted,
            Some(opening) if !self.in_trial && is_due(opening, now, retry) => {
                Access::Trial(self.trial_time(retry))
            }
            Some(opening) => Access::Denied(opening.cause.denial(opening.times())),
        }
    }

    /// Returns the time that a host has for its answer in a trial. A closed circuit does not limit it.
    pub fn trial_time(&self, retry: Retry) -> Duration {
        match &self.opening {
            Some(opening) => retry.trial.mul_f64(opening.wait.div_duration_f64(retry.first)),
            None => retry.longest,
        }
    }

    /// Begins the trial that [`Self::access`] allows. The next one is allowed after the present wait.
    pub fn begin_trial(&mut self, now: Timestamp) {
        if let Some(opening) = &mut self.opening {
            self.in_trial = true;
            self.tried = Some(opening.next_try);
            opening.next_try = after(now, opening.wait);
        }
    }

    /// Ends the trial. If nothing was asked, the next trial is allowed at once.
    pub fn end_trial(&mut self, was_contacted: bool) {
        let was_in_trial = std::mem::replace(&mut self.in_trial, false);
        if was_in_trial
            && !was_contacted
            && let (Some(opening), Some(due)) = (&mut self.opening, self.tried.take())
        {
            opening.next_try = due;
        }
    }

    /// Counts a failed check of `run`.
    pub fn note_failure(&mut self, run: RunId, cause: C, now: Timestamp, retry: Retry) {
        if let Some(opening) = &mut self.opening {
            // Only one failure counts for each trial. Others are of checks that began earlier or that ask anyway.
            if self.tried.take().is_some() {
                let wait = (opening.wait * 2).min(retry.longest);
                *opening = Opening { cause, since: opening.since, wait, next_try: after(now, wait) };
                self.change(now);
            }
            return;
        }
        self.failures += 1;
        self.is_of_several_runs |= *self.first_run.get_or_insert(run) != run;
        self.cause = Some(cause.clone());
        let needed = f64::from(retry.failures) + retry.patience * self.usual_row;
        if f64::from(self.failures) >= needed && self.is_of_several_runs {
            let next_try = after(now, retry.first);
            self.opening = Some(Opening { cause, since: now, wait: retry.first, next_try });
            self.tried = None;
            self.change(now);
        }
    }

    /// Counts a success, which closes the circuit.
    pub fn note_success(&mut self, now: Timestamp) {
        self.answered = self.answered.max(Some(now));
        let row =
            if self.opening.is_some() { ROW_OF_OPEN } else { f64::from(self.failures).min(LONGEST_ROW) };
        self.usual_row = row.max(KEPT_ROW * self.usual_row + (1.0 - KEPT_ROW) * row);
        let was_open = self.close();
        if was_open {
            self.change(now);
        }
    }

    /// Takes over a record of the store if it is newer. A record that is older than a success seen here does not open
    /// the circuit.
    pub fn merge(&mut self, record: &CircuitRecord<C>) {
        if self.changed.is_some_and(|changed| changed >= record.changed_at) {
            return;
        }
        self.close();
        (self.changed, self.is_unwritten) = (Some(record.changed_at), false);
        match self.answered {
            Some(at) if at >= record.changed_at && record.opening.is_some() => self.change(at),
            _ => self.opening.clone_from(&record.opening),
        }
    }

    /// Returns whether the last check failed.
    pub fn is_failing(&self) -> bool {
        self.opening.is_none() && self.failures > 0
    }

    /// Returns whether there was a success after `at`.
    pub fn has_answered_since(&self, at: Timestamp) -> bool {
        self.answered.is_some_and(|answered| answered > at)
    }

    /// Returns the state if the circuit is open.
    pub fn opening(&self) -> Option<&Opening<C>> {
        self.opening.as_ref()
    }

    /// Returns the cause of the circuit's opening, or of the last failure if it is closed.
    pub fn cause(&self) -> Option<&C> {
        self.opening.as_ref().map(|opening| &opening.cause).or(self.cause.as_ref())
    }

    /// Returns the last change if it is not stored yet.
    pub fn unwritten(&self, name: &str) -> Option<CircuitRecord<C>> {
        let changed_at = self.changed.filter(|_| self.is_unwritten)?;
        Some(CircuitRecord { name: name.to_owned(), changed_at, opening: self.opening.clone() })
    }

    /// Records that a change is stored.
    pub fn written(&mut self, record: &CircuitRecord<C>) {
        self.is_unwritten &= self.changed != Some(record.changed_at);
    }

    /// Returns whether the circuit contains nothing that a later check needs. Successes and stored changes before `old`
    /// are not needed.
    pub fn is_idle(&self, old: Timestamp) -> bool {
        let is_recent = |at: Option<Timestamp>| at.is_some_and(|at| at >= old);
        self.failures == 0
            && self.opening.is_none()
            && !self.in_trial
            && !self.is_unwritten
            && !is_recent(self.answered)
            && !is_recent(self.changed)
    }

    /// Closes the circuit and forgets its failures. Returns whether it was open.
    fn close(&mut self) -> bool {
        (self.failures, self.first_run, self.is_of_several_runs, self.tried) = (0, None, false, None);
        self.cause = None;
        self.opening.take().is_some()
    }

    /// Records a change. Its time is later than that of the change before, even if the clock was set back.
    fn change(&mut self, now: Timestamp) {
        let next = self.changed.map(|changed| after(changed, Duration::from_millis(1)));
        (self.changed, self.is_unwritten) = (next.max(Some(now)), true);
    }
}

/// Returns whether a trial is allowed. A time that is too far ahead is that of a clock that was set back.
fn is_due<C>(opening: &Opening<C>, now: Timestamp, retry: Retry) -> bool {
    let left = opening.next_try.duration_since(now);
    left <= SignedDuration::ZERO || left.unsigned_abs() > opening.wait.max(retry.longest)
}

/// Returns the moment a duration after `at`.
fn after(at: Timestamp, wait: Duration) -> Timestamp {
    at.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
