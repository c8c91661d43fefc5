//! How a check ended, with its evidence, and what it found.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::definition::ResultType;
use super::probe::Timing;

/// How a check ended. Only `hit` and `miss` are conclusive: a block or an error is never reported as a miss, and
/// a miss means that nothing was found there, not that the name is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is there.
    Hit,
    /// It is not there.
    Miss,
    /// A captcha, a challenge or a login wall stood in the way.
    Blocked,
    /// The site said 429.
    RateLimited,
    /// The deadline passed.
    Timeout,
    /// DNS, TLS, connection, or an answer that the rules do not know.
    Error,
    /// The site says yes to a made-up name too.
    Unreliable,
    /// The query cannot be a name there, or a key or a browser is not configured.
    Skipped,
}

impl Outcome {
    /// All of them, in the order that coverage lists them.
    pub const ALL: [Self; 8] = [
        Self::Hit,
        Self::Miss,
        Self::Blocked,
        Self::RateLimited,
        Self::Timeout,
        Self::Error,
        Self::Unreliable,
        Self::Skipped,
    ];

    /// `hit`, `miss`, `blocked`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Blocked => "blocked",
            Self::RateLimited => "rate_limited",
            Self::Timeout => "timeout",
            Self::Error => "error",
            Self::Unreliable => "unreliable",
            Self::Skipped => "skipped",
        }
    }

    /// The outcome of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == name)
    }

    /// Whether the check came to a conclusion.
    pub fn is_conclusive(self) -> bool {
        matches!(self, Self::Hit | Self::Miss)
    }

    /// Whether the check was made and came to nothing.
    pub fn is_failure(self) -> bool {
        !self.is_conclusive() && self != Self::Skipped
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why the outcome is what it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The last HTTP status seen.
    pub http_status: Option<u16>,
    /// Host of the final address.
    pub final_host: Option<String>,
    /// Which matcher fired and what it saw, such as `hit[0]: json /login equals_query`.
    pub matcher: Option<String>,
    /// Bytes of bodies read, over all probes.
    pub bytes_read: usize,
    /// Requests sent, control checks and retries included.
    pub requests: u32,
    /// Time by phase, over all probes.
    pub timing: Timing,
}

/// An entity that a hit yields, before the run numbers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What it is.
    pub result_type: ResultType,
    /// Primary value.
    pub value: Option<String>,
    /// Platform name.
    pub platform: Option<String>,
    /// 0.0 to 1.0, computed from the evidence; two decimals.
    pub confidence: f64,
    /// Module-specific data.
    pub metadata: Map<String, Value>,
}

/// The reason of a check that was not made, or not to its end, because a host wants to be left alone.
pub const RETRY_AFTER: &str = "retry_after";

/// What one check comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// A short machine-readable word where the outcome needs one: `conflict`, `unrecognized`,
    /// `captcha`, `timeout_connect`, `needs_key`, …
    pub reason: Option<String>,
    /// Why.
    pub evidence: Evidence,
    /// Empty unless the outcome is `hit`.
    pub findings: Vec<Finding>,
    /// The hosts that asked this check to stay away (`Retry-After`), its control check included. A host
    /// may stand there twice.
    pub pauses: Vec<Pause>,
}

impl Report {
    /// Whether a host that was to be asked had told others before to stay away. The wish it told this check
    /// itself stands in [`Self::pauses`].
    pub fn was_kept_away(&self) -> bool {
        self.outcome == Outcome::RateLimited
            && self.reason.as_deref() == Some(RETRY_AFTER)
            && self.pauses.is_empty()
    }
}

/// A host's wish to be left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// By the name under which checks of it are counted (see
    /// [`Module::hosts`](super::module::Module::hosts)); where it sent us on, the other host's, too.
    pub host: String,
    /// For how long, in whole seconds.
    pub secs: u64,
}
