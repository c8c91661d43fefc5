//! What was learnt about hosts and modules, as instances share it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::tally::Tally;
use crate::modules::control_check::{ControlAnswer, Direction};
use crate::modules::outcome::OpenCircuit;

/// The state of an open circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening<C> {
    /// The cause of the last failure that counted.
    pub cause: C,
    /// The time at which the circuit opened.
    pub since: Timestamp,
    /// The wait before the next trial.
    pub wait: Duration,
    /// The time from which a trial is allowed.
    pub next_try: Timestamp,
}

impl<C> Opening<C> {
    /// Returns the times of the opening.
    pub fn times(&self) -> OpenCircuit {
        OpenCircuit { open_since: self.since, next_try_at: self.next_try }
    }
}

/// The last change of a circuit, as processes share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CircuitRecord<C> {
    /// The host, by the name under which its checks are counted, or the id of the module.
    pub name: String,
    /// The time of the observation that changed the circuit. Of two records, the later one is valid.
    pub changed_at: Timestamp,
    /// The state if the circuit is open, or `None` if it was closed.
    pub opening: Option<Opening<C>>,
}

/// The control check that put a module in quarantine, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedControl {
    /// The direction of the control check.
    pub direction: Direction,
    /// The number of control checks in a row that failed.
    pub failures: u32,
    /// The answer to the last control check that failed.
    pub after: ControlAnswer,
    /// The answer to the last control check that passed before, if this process knows one.
    pub before: Option<ControlAnswer>,
    /// The digest of the catalogue entry that failed.
    pub entry: String,
}

impl FailedControl {
    /// Returns a text about what changed, such as `a made-up name is a hit: HTTP 200, hit[0]: status 200; before: HTTP
    /// 404, miss[0]: status 404`.
    pub fn change(&self) -> String {
        let what = match self.direction {
            Direction::MadeUp => "a made-up name is a hit",
            Direction::Known => "a known account is a miss",
        };
        match &self.before {
            None => format!("{what}: {}", shown(&self.after)),
            Some(before) => format!("{what}: {}; before: {}", shown(&self.after), shown(before)),
        }
    }
}

/// What was learnt from searches, and can be reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learnt {
    /// The open circuits of hosts.
    Circuits,
    /// The quarantines of modules.
    Quarantines,
    /// The durations of answers from which the deadlines of modules were learnt.
    Deadlines,
}

/// Tallies by module id.
pub type Tallies = Vec<(Arc<str>, Tally)>;

fn shown(answer: &ControlAnswer) -> String {
    let status = answer.http_status.map(|status| format!("HTTP {status}"));
    let parts: Vec<String> = status.into_iter().chain(answer.matcher.clone()).collect();
    if parts.is_empty() { "no answer".to_owned() } else { parts.join(", ") }
}
