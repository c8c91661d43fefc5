//! [`Circuit`]: the circuit breaker of one host, as a state machine without a clock.
//!
//! A circuit is closed until three checks in a row, of at least two runs, get no answer from the host. Then it opens,
//! and no check contacts the host. After a wait, one check is let through as a trial. An answer closes the circuit. A
//! failure doubles the wait.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::base::ids::RunId;
use crate::modules::outcome::{OpenCircuit, Outcome};
use crate::modules::terms::{Access, Denial};

/// The number of checks in a row without an answer after which a circuit opens.
const FAILURES: u32 = 3;

/// The times of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The wait from the opening of a circuit to the first trial. Each failed trial doubles the wait.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
    /// The time that the host has for its answer in the first trial. Each failed trial doubles it, so that a slow host
    /// is found again.
    pub trial: Duration,
}

impl Retry {
    /// Returns the times for a first wait. The longest wait is thirty times as long.
    pub const fn after(first: Duration) -> Self {
        Self { first, longest: first.saturating_mul(30), trial: Duration::from_secs(3) }
    }
}

impl Default for Retry {
    /// Returns a first wait of a minute, a longest wait of half an hour, and a first trial of three seconds.
    fn default() -> Self {
        Self::after(Duration::from_secs(60))
    }
}

/// The state of an open circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The outcome of the failed checks: `timeout` or `error`.
    pub outcome: Outcome,
    /// The time at which the circuit opened.
    pub since: Timestamp,
    /// The wait before the next trial.
    pub wait: Duration,
    /// The time from which a trial is allowed.
    pub next_try: Timestamp,
}

impl Opening {
    /// Returns the times of the opening.
    pub fn times(&self) -> OpenCircuit {
        OpenCircuit { open_since: self.since, next_try_at: self.next_try }
    }
}

/// The last change of a host's circuit, as processes share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CircuitRecord {
    /// The host, by the name under which its checks are counted.
    pub host: String,
    /// The time of the observation that changed the circuit. Of two records, the later one is valid.
    pub changed_at: Timestamp,
    /// The state if the circuit is open, or `None` if it was closed.
    pub opening: Option<Opening>,
}

/// The circuit breaker of one host. The default is closed.
#[derive(Debug, Clone, Default)]
pub struct Circuit {
    failures: u32,
    /// The run of the first failure.
    first_run: Option<RunId>,
    /// Whether the failures are of at least two runs.
    is_of_several_runs: bool,
    opening: Option<Opening>,
    /// Whether a trial is in progress.
    in_trial: bool,
    /// The time from which the last trial was allowed, as long as its failure has not been counted.
    tried: Option<Timestamp>,
    answered: Option<Timestamp>,
    changed: Option<Timestamp>,
    is_unwritten: bool,
}

impl Circuit {
    /// Returns the access that a check would get at `now`.
    pub fn access(&self, now: Timestamp, retry: Retry) -> Access {
        match &self.opening {
            None => Access::Granted,
            Some(opening) if !self.in_trial && is_due(opening, now, retry) => {
                Access::Trial(self.trial_time(retry))
            }
            Some(opening) => Access::Denied(Denial::Circuit(opening.outcome, opening.times())),
        }
    }

    /// Returns the time that the host has for its answer in a trial. A closed circuit does not limit it.
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

    /// Ends the trial. If the host was not contacted, the next trial is allowed at once.
    pub fn end_trial(&mut self, was_contacted: bool) {
        let was_in_trial = std::mem::replace(&mut self.in_trial, false);
        if was_in_trial
            && !was_contacted
            && let (Some(opening), Some(due)) = (&mut self.opening, self.tried.take())
        {
            opening.next_try = due;
        }
    }

    /// Counts a check of `run` that got no answer from the host.
    pub fn note_failure(&mut self, run: RunId, outcome: Outcome, now: Timestamp, retry: Retry) {
        if let Some(opening) = &mut self.opening {
            // Only one failure counts for each trial. Others are of checks that began earlier or that ask anyway.
            if self.tried.take().is_some() {
                let wait = (opening.wait * 2).min(retry.longest);
                *opening = Opening { outcome, wait, next_try: after(now, wait), ..*opening };
                self.change(now);
            }
            return;
        }
        self.failures += 1;
        self.is_of_several_runs |= *self.first_run.get_or_insert(run) != run;
        if self.failures >= FAILURES && self.is_of_several_runs {
            let next_try = after(now, retry.first);
            self.opening = Some(Opening { outcome, since: now, wait: retry.first, next_try });
            self.tried = None;
            self.change(now);
        }
    }

    /// Counts an answer of the host, which closes the circuit.
    pub fn note_answer(&mut self, now: Timestamp) {
        self.answered = self.answered.max(Some(now));
        let was_open = self.close();
        if was_open {
            self.change(now);
        }
    }

    /// Takes over a record of the store if it is newer. A record that is older than an answer seen here does not open
    /// the circuit.
    pub fn merge(&mut self, record: &CircuitRecord) {
        if self.changed.is_some_and(|changed| changed >= record.changed_at) {
            return;
        }
        self.close();
        (self.changed, self.is_unwritten) = (Some(record.changed_at), false);
        match self.answered {
            Some(at) if at >= record.changed_at && record.opening.is_some() => self.change(at),
            _ => self.opening = record.opening,
        }
    }

    /// Returns the state if the circuit is open.
    pub fn opening(&self) -> Option<&Opening> {
        self.opening.as_ref()
    }

    /// Returns the last change if it is not stored yet.
    pub fn unwritten(&self, host: &str) -> Option<CircuitRecord> {
        let changed_at = self.changed.filter(|_| self.is_unwritten)?;
        Some(CircuitRecord { host: host.to_owned(), changed_at, opening: self.opening })
    }

    /// Records that a change is stored.
    pub fn written(&mut self, record: &CircuitRecord) {
        self.is_unwritten &= self.changed != Some(record.changed_at);
    }

    /// Returns whether the circuit contains nothing that a later check needs. Answers and stored changes before `old`
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
        self.opening.take().is_some()
    }

    /// Records a change. Its time is later than that of the change before, even if the clock was set back.
    fn change(&mut self, now: Timestamp) {
        let next = self.changed.map(|changed| after(changed, Duration::from_millis(1)));
        (self.changed, self.is_unwritten) = (next.max(Some(now)), true);
    }
}

/// Returns whether a trial is allowed. A time that is too far ahead is that of a clock that was set back.
fn is_due(opening: &Opening, now: Timestamp, retry: Retry) -> bool {
    let left = opening.next_try.duration_since(now);
    left <= SignedDuration::ZERO || left.unsigned_abs() > opening.wait.max(retry.longest)
}

/// Returns the moment a duration after `at`.
fn after(at: Timestamp, wait: Duration) -> Timestamp {
    at.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
