//! The outcome of a check, with its evidence and its findings.

use std::ops::{Index, IndexMut};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::definition::ResultType;
use super::kept::Kept;
use super::probe::Contact;
use super::reason::Reason;
use super::rules_version::RulesVersion;
use crate::base::clock::millis;
use crate::base::words::words;

words! {
    /// The outcome of a check. Only `hit` and `miss` are conclusive. A block or an error is never reported as a
    /// miss, and a miss means that nothing was found there, not that the name is free.
    // In the order in which coverage lists them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Outcome {
        /// The query was found on the site.
        Hit = "hit",
        /// The query was not found on the site.
        Miss = "miss",
        /// The site refused the request, or showed a captcha, a challenge or a sign-in page instead.
        Blocked = "blocked",
        /// The site or a rate-limit page refused more requests for now.
        RateLimited = "rate_limited",
        /// The deadline of the check passed.
        Timeout = "timeout",
        /// DNS, TLS or the connection failed, or the rules do not match the answer.
        Error = "error",
        /// The control check failed: the site also reports a made-up name as found, or a known account as not found.
        Unreliable = "unreliable",
        /// The check was not made: the query cannot be a name on the site, a key or a browser is not configured, the
        /// search was stopped, or this machine lacks resources, a network or a name server.
        Skipped = "skipped",
    }
}

impl Outcome {
    /// Returns the outcome's name for people, such as `Timed out`.
    pub fn title(self) -> &'static str {
        self.for_people().0
    }

    /// Returns the outcome's meaning for people, as a sentence.
    pub fn meaning(self) -> &'static str {
        self.for_people().1
    }

    fn for_people(self) -> (&'static str, &'static str) {
        match self {
            Self::Hit => ("Hit", "The query was found on the site."),
            Self::Miss => ("Miss", "The query was not found on the site."),
            Self::Blocked => ("Blocked", "A captcha, a challenge or a login page blocked the check."),
            Self::RateLimited => ("Rate limited", "The site refused more requests for now."),
            Self::Timeout => ("Timed out", "The site did not answer in time."),
            Self::Error => (
                "Failed",
                "There was no usable answer: the connection failed, or the module does not know the answer.",
            ),
            Self::Unreliable => (
                "Unreliable",
                "The site reports a made-up name as found or a known account as missing, so its answer proves nothing.",
            ),
            Self::Skipped => (
                "Skipped",
                "The site was not searched: the query is not valid there, a key or a browser is missing, or the search was \
                 stopped.",
            ),
        }
    }

    /// Returns whether the check came to a conclusion.
    pub fn is_conclusive(self) -> bool {
        matches!(self, Self::Hit | Self::Miss)
    }

    /// Returns whether the check was made but came to no conclusion.
    pub fn is_failure(self) -> bool {
        !self.is_conclusive() && self != Self::Skipped
    }
}

/// One value for each outcome, such as a count.
///
/// Stored tallies have a place for each outcome of [`Outcome::ALL`]. A new outcome needs a migration of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByOutcome<T>([T; Outcome::ALL.len()]);

impl<T> ByOutcome<T> {
    /// Returns the outcomes and their values, in the order of [`Outcome::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, &T)> {
        Outcome::ALL.into_iter().zip(&self.0)
    }
}

impl<T> Index<Outcome> for ByOutcome<T> {
    type Output = T;

    fn index(&self, outcome: Outcome) -> &T {
        &self.0[outcome as usize]
    }
}

impl<T> IndexMut<Outcome> for ByOutcome<T> {
    fn index_mut(&mut self, outcome: Outcome) -> &mut T {
        &mut self.0[outcome as usize]
    }
}

/// The evidence for an outcome.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The last HTTP status received.
    pub http_status: Option<u16>,
    /// The host of the final address.
    pub final_host: Option<String>,
    /// The matcher that held and what it found, such as `hit[0]: json /login equals_query`.
    pub matcher: Option<String>,
    /// The bytes of bodies read, over all probes.
    pub bytes_read: usize,
    /// The number of requests sent, control checks and retries included.
    pub requests: u32,
    /// The time until the probes had been answered or had failed, retries included. Further pages and control checks
    /// are left out.
    pub answered_in: Duration,
    /// The hosts that were contacted, control checks included. A host may be listed several times.
    pub contacts: Vec<Contact>,
    /// The control checks that were made and whose verdict is about the module with every query.
    pub controls: Vec<ControlCheck>,
    /// The open circuit of the host that was not contacted, or of the module in quarantine, if that is the reason of the
    /// outcome.
    pub circuit: Option<OpenCircuit>,
    /// The version of the rules that led to the conclusion; `None` without a conclusion.
    pub rules: Option<RulesVersion>,
    /// The confidence of the findings of a hit from 0.0 to 1.0, computed from the evidence, with two decimals.
    pub confidence: f64,
    /// Whether the answers to a hit may have more than was read: a request failed, a body or a list was cut.
    pub partial: bool,
}

/// A host or a module that is not asked at present: a host because it gave no answer to the last checks, a module
/// because it failed its last control checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenCircuit {
    /// The time since which it is not asked: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    #[schema(examples("2026-05-06T07:08:09.010Z"))]
    pub open_since: Timestamp,
    /// The time from which one check may ask it again: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    #[schema(examples("2026-05-06T07:09:09.010Z"))]
    pub next_try_at: Timestamp,
}

/// An entity that a hit yields, before the run numbers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The type of the entity.
    pub result_type: ResultType,
    /// The primary value of the entity.
    pub value: String,
    /// Further data, specific to the module.
    pub metadata: Map<String, Value>,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The outcome of the check.
    pub outcome: Outcome,
    /// The reason of the outcome; `None` if the outcome alone explains it.
    pub reason: Option<Reason>,
    /// The evidence for the outcome.
    pub evidence: Evidence,
    /// The entities found. It is empty unless the outcome is `hit`.
    pub findings: Vec<Finding>,
    /// The pauses that hosts asked this check for with `Retry-After`, its
    /// control check included. A host may be listed twice.
    pub pauses: Vec<Pause>,
    /// The judged answer of a hit, if it is kept.
    pub kept: Option<Kept>,
}

impl Report {
    /// Creates the report of a check that was not made or came to no conclusion.
    pub fn bare(outcome: Outcome, reason: Reason) -> Self {
        Self {
            outcome,
            reason: Some(reason),
            evidence: Evidence::default(),
            findings: Vec::new(),
            pauses: Vec::new(),
            kept: None,
        }
    }

    /// Returns whether a host was not contacted because it had asked earlier checks for a pause, or had given them no
    /// answer, or whether the module stays in quarantine. A pause that this check itself was asked for is in [`Self::pauses`].
    pub fn was_refused(&self) -> bool {
        let was_paused = self.outcome == Outcome::RateLimited
            && self.reason == Some(Reason::RetryAfter)
            && self.pauses.is_empty();
        was_paused || self.reason.is_some_and(Reason::has_circuit)
    }
}

/// A pause that a host asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// The host, by the name under which its checks are counted (see
    /// [`Module::hosts`](super::module::Module::hosts)). After a redirect, the other host gets a pause too.
    pub host: String,
    /// The length of the pause in whole seconds.
    pub secs: u64,
}

/// The direction of a control check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A made-up name, which must be a miss, confirms hits.
    MadeUp,
    /// A known account, which must be a hit, confirms bare misses.
    Known,
}

/// The verdict of a control check on a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlVerdict {
    /// The made-up name was a miss, or the known account a hit, as it should be.
    Passed,
    /// The made-up name was a hit, or the known account a miss, so the module is unreliable.
    Failed,
    /// The control check came to no conclusion, or there is no name for it.
    Unclear,
    /// The control check came to no conclusion before its deadline.
    OutOfTime,
    /// The control check was not made because of a fault of this machine or the rate of the module.
    NotAsked,
}

/// The answer of a site to a control check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ControlAnswer {
    /// The last HTTP status that the site sent; null where it sent none.
    #[schema(required, minimum = 100, maximum = 999, examples(200))]
    pub http_status: Option<u16>,
    /// The rule that held; null where none did.
    #[schema(required, examples("hit[0]: status 200"))]
    pub matcher: Option<String>,
}

/// A control check that was made for a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlCheck {
    /// The direction.
    pub direction: Direction,
    /// The verdict.
    pub verdict: ControlVerdict,
    /// The answer of the site.
    pub answer: ControlAnswer,
}
