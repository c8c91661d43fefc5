//! What searches have learned about hosts and modules, as instances share it.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::millisecond::required as millis;
use serde::{Deserialize, Serialize};

use crate::base::words::words;
use crate::modules::outcome::{ControlAnswer, Direction, OpenCircuit, Outcome};

words! {
    /// What is learned from searches, shared by instances, and can be reset.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Learned {
        /// The hosts that are down: their circuits.
        Host = "host",
        /// The modules in quarantine.
        Quarantine = "quarantine",
        /// The [`Tally`](super::tally::Tally) of each module, from which its deadline follows.
        Deadline = "deadline",
    }
}

/// The state of an open breaker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The number of failures in a row.
    pub failures: u32,
    /// The cause of the last failure that counted.
    pub cause: Cause,
    /// The time at which the breaker opened.
    #[serde(with = "millis")]
    pub since: Timestamp,
    /// The wait before the next trial.
    pub wait: Duration,
    /// The time from which a trial may begin.
    #[serde(with = "millis")]
    pub next_try: Timestamp,
}

impl Opening {
    /// Returns the times of the opening.
    pub fn times(&self) -> OpenCircuit {
        OpenCircuit { open_since: self.since, next_try_at: self.next_try }
    }
}

/// The cause of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The outcome of a check that a host kept from a conclusion: `timeout` or `error`.
    Check(Outcome),
    /// A control check that a module failed.
    Control(FailedControl),
}

impl Cause {
    /// Returns the control check that failed, if the breaker is that of a module.
    pub fn control(&self) -> Option<&FailedControl> {
        if let Self::Control(control) = self { Some(control) } else { None }
    }

    /// Returns a text such as `Timed out`, or `a made-up name is a hit: HTTP 200, hit[0]: status 200; before: HTTP 404,
    /// miss[0]: status 404`.
    pub fn text(&self) -> String {
        match self {
            Self::Check(outcome) => outcome.title().to_owned(),
            Self::Control(control) => control.text(),
        }
    }
}

/// The control check that put a module in quarantine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedControl {
    /// The direction of the control check.
    pub direction: Direction,
    /// The answer to the last control check that failed.
    pub after: ControlAnswer,
    /// The answer to the last control check that passed before, if this process knows one.
    pub before: Option<ControlAnswer>,
    /// The digest of the catalogue entry that failed.
    pub entry: String,
}

impl FailedControl {
    fn text(&self) -> String {
        let what = match self.direction {
            Direction::MadeUp => "a made-up name is a hit",
            Direction::Known => "a known account is a miss",
        };
        let answer = |answer: &ControlAnswer| {
            let status = answer.http_status.map(|status| format!("HTTP {status}"));
            let parts: Vec<String> = status.into_iter().chain(answer.matcher.clone()).collect();
            if parts.is_empty() { "no answer".to_owned() } else { parts.join(", ") }
        };
        let before = self.before.as_ref().map(|before| format!("; before: {}", answer(before)));
        format!("{what}: {}{}", answer(&self.after), before.unwrap_or_default())
    }
}

/// The state of a breaker, as instances share it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerState {
    /// The time of the observation that changed the breaker.
    #[serde(with = "millis")]
    pub changed_at: Timestamp,
    /// The state if the breaker is open, or `None` if it was closed.
    pub opening: Option<Opening>,
}

impl BreakerState {
    /// Returns the state that changed later, which is valid.
    #[must_use]
    pub fn later(self, newer: &Self) -> Self {
        if newer.changed_at > self.changed_at { newer.clone() } else { self }
    }

    /// Changes the state. Its time is later than that of the change before, even if the clock was set back.
    pub fn change(&mut self, opening: Option<Opening>, now: Timestamp) {
        let next = self.changed_at.saturating_add(Duration::from_millis(1)).unwrap_or(Timestamp::MAX);
        *self = Self { changed_at: now.max(next), opening };
    }

    /// Closes the breaker. Returns `false` if it was closed.
    pub fn close(&mut self, now: Timestamp) -> bool {
        let was_open = self.opening.is_some();
        if was_open {
            self.change(None, now);
        }
        was_open
    }
}
