//! The state of one search: status, progress, coverage, numbered results.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::journal::NewRun;
use crate::base::clock::millis;
use crate::base::ids::{AccountId, RunId};
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;

/// Where a run stands: `running` (under way, or waiting for its turn), `completed` (all modules finished) or
/// `failed` (it could not go on). The last two are terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = RunStatus)]
pub enum Status {
    /// Under way, or waiting for its turn.
    Running,
    /// All modules finished. Terminal.
    Completed,
    /// It could not go on. Terminal.
    Failed,
}

impl Status {
    /// `running`, `completed` or `failed`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// The status of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Running, Self::Completed, Self::Failed].into_iter().find(|status| status.as_str() == name)
    }

    /// Whether nothing more can happen.
    pub fn is_terminal(self) -> bool {
        self != Self::Running
    }
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunError {
    /// `no_conclusion` (not one module came to a conclusion: no network, say), `store_failed` (the results
    /// could not be stored) or `internal_error`. Others may be added.
    #[schema(pattern = "^[a-z_]+$", examples("no_conclusion"))]
    pub code: String,
    /// For a person.
    #[schema(examples("not one module came to a conclusion"))]
    pub message: String,
}

// In the contract's own shape (2.2). The name `sources` is `entity::merge::SOURCES`.
/// One entity that was found. An id once shown never changes; the same result may be shown again, with more
/// sources and a higher confidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Result)]
pub struct ResultRecord {
    /// Number of the result in its run, from 1 on, without gaps.
    #[schema(minimum = 1, examples(1))]
    pub id: u32,
    /// What it is, such as `account`, `profile`, `email` or `dns_record`.
    #[serde(rename = "type")]
    #[schema(pattern = "^[a-z_]+$", examples("account"))]
    pub result_type: String,
    /// The same value as `type`.
    #[schema(pattern = "^[a-z_]+$", examples("account"))]
    pub entity_type: String,
    /// Name of the platform or service; null where there is none.
    #[schema(required, examples("GitHub"))]
    pub platform: Option<String>,
    /// Primary value, such as a username or an address; null where there is none.
    #[schema(required, examples("octocat"))]
    pub value: Option<String>,
    /// How sure it is, from 0.0 to 1.0: computed from the evidence.
    #[schema(minimum = 0, maximum = 1, examples(0.95))]
    pub confidence: f64,
    /// Id of the module that found it first: see `GET /v1/modules`.
    #[schema(pattern = "^[a-z0-9_.-]{1,64}$", examples("github"))]
    pub source: String,
    /// What the module read beside the value: names and values differ from module to module. `sources` names
    /// every module that found it.
    #[schema(value_type = std::collections::HashMap<String, Value>,
        examples(json!({"display_name": "The Octocat", "sources": [{"module": "github", "platform": "GitHub", "confidence": 0.95}]})))]
    pub metadata: Map<String, Value>,
    /// When it was recorded: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis")]
    #[schema(examples("2026-05-06T07:08:09.010Z"))]
    pub created_at: Timestamp,
}

// As `…/modules` shows it and as the journal keeps it.
/// How one module of a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModuleReport {
    /// Module id: see `GET /v1/modules`.
    #[schema(pattern = "^[a-z0-9_.-]{1,64}$", examples("github"))]
    pub module: String,
    /// Name of the platform.
    #[schema(examples("GitHub"))]
    pub platform: String,
    /// How it ended.
    pub status: Outcome,
    /// A machine-readable word, such as `captcha`, `dns` or `timeout_connect`; null where the outcome says it
    /// all. Others may be added.
    #[schema(required, examples("captcha"))]
    pub reason: Option<String>,
    /// The last HTTP status that the site sent; null where it sent none.
    #[schema(required, minimum = 100, maximum = 999, examples(200))]
    pub http_status: Option<u16>,
    /// Milliseconds from the start of the check to its end, without the time in the queue.
    #[schema(examples(412))]
    pub elapsed_ms: u64,
}

// Section 2.3 of the contract.
/// How far a run has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// Modules of the run.
    #[schema(examples(500))]
    pub modules_total: u32,
    /// Modules that ended, in whatever way.
    #[schema(examples(231))]
    pub modules_completed: u32,
    /// Modules that ended as a hit.
    #[schema(examples(17))]
    pub modules_with_hits: u32,
}

/// How the modules that ended did end: one count for each outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Coverage {
    /// Modules that ended: the sum of the eight outcomes.
    #[schema(examples(231))]
    pub checked: u32,
    /// Of these, those that came to a conclusion: `hit` and `miss`.
    #[schema(examples(209))]
    pub conclusive: u32,
    /// It is there.
    #[schema(examples(17))]
    pub hit: u32,
    /// It is not there.
    #[schema(examples(192))]
    pub miss: u32,
    /// A captcha, a challenge or a login wall stood in the way.
    #[schema(examples(9))]
    pub blocked: u32,
    /// The site asked us to slow down.
    #[schema(examples(2))]
    pub rate_limited: u32,
    /// The deadline passed.
    #[schema(examples(4))]
    pub timeout: u32,
    /// DNS, TLS, connection, or an answer that the module's rules do not know.
    #[schema(examples(3))]
    pub error: u32,
    /// The site says yes to a made-up name too.
    #[schema(examples(1))]
    pub unreliable: u32,
    /// Not asked: the query cannot be a name there, or a key or a browser is not configured.
    #[schema(examples(3))]
    pub skipped: u32,
    /// `conclusive` over `checked` minus `skipped`, from 0.0 to 1.0, three decimals; 0.0 where that is nothing
    /// over nothing.
    #[schema(minimum = 0, maximum = 1, examples(0.917))]
    pub ratio: f64,
}

impl Coverage {
    /// Counts outcomes.
    pub fn of(outcomes: impl IntoIterator<Item = Outcome>) -> Self {
        let mut coverage = Self::default();
        for outcome in outcomes {
            coverage.add(outcome);
        }
        coverage
    }

    /// Counts one more.
    pub fn add(&mut self, outcome: Outcome) {
        *self.count_mut(outcome) += 1;
        self.checked += 1;
        self.conclusive = self.hit + self.miss;
        let asked = self.checked - self.skipped;
        // Three decimals: more would only look exact.
        self.ratio = if asked == 0 {
            0.0
        } else {
            (f64::from(self.conclusive) / f64::from(asked) * 1000.0).round() / 1000.0
        };
    }

    /// How many ended so.
    pub fn count_of(mut self, outcome: Outcome) -> u32 {
        *self.count_mut(outcome)
    }

    fn count_mut(&mut self, outcome: Outcome) -> &mut u32 {
        match outcome {
            Outcome::Hit => &mut self.hit,
            Outcome::Miss => &mut self.miss,
            Outcome::Blocked => &mut self.blocked,
            Outcome::RateLimited => &mut self.rate_limited,
            Outcome::Timeout => &mut self.timeout,
            Outcome::Error => &mut self.error,
            Outcome::Unreliable => &mut self.unreliable,
            Outcome::Skipped => &mut self.skipped,
        }
    }
}

/// Everything about a run but its results and module outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// `run_id`.
    pub id: RunId,
    /// Owner.
    pub account: AccountId,
    /// Where it stands.
    pub status: Status,
    /// What kind of search.
    pub search_type: SearchType,
    /// What the caller sent.
    pub query: String,
    /// Whether browser modules take part.
    pub premium: bool,
    /// The simulated web was asked: nothing of it is real.
    pub simulated: bool,
    /// Results so far.
    pub total_results: u32,
    /// The newest write of results that is seen in them; 0: none, or one of an earlier version.
    pub revision: u64,
    /// Progress block.
    pub progress: Progress,
    /// Outcome counts.
    pub coverage: Coverage,
    /// What it cost; 0 after a refund.
    pub credits_charged: u64,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// Why it failed.
    pub error: Option<RunError>,
}

impl RunSummary {
    /// A run that is about to start.
    pub fn opening(new: &NewRun, credits: u64) -> Self {
        Self {
            id: new.id,
            account: new.account,
            status: Status::Running,
            search_type: new.search_type,
            query: new.query.clone(),
            premium: new.premium,
            simulated: new.simulated,
            total_results: 0,
            revision: 0,
            progress: Progress { modules_total: count(new.modules.len()), ..Progress::default() },
            coverage: Coverage::default(),
            credits_charged: credits,
            created_at: new.created_at,
            completed_at: None,
            error: None,
        }
    }
}

/// A length as the contract counts it. Results and modules of one run are capped far below the bound.
pub fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Module id to outcome, for progress frames.
pub type ModuleStatus = BTreeMap<String, Outcome>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_leaves_out_skipped_modules() {
        use Outcome::{Blocked, Hit, Miss, Skipped};
        assert_eq!(Coverage::of([]).ratio.to_bits(), 0f64.to_bits());
        assert_eq!(Coverage::of([Skipped]).ratio.to_bits(), 0f64.to_bits());
        let coverage = Coverage::of([Hit, Miss, Blocked, Skipped]);
        assert_eq!((coverage.checked, coverage.conclusive), (4, 2));
        assert!((coverage.ratio - 0.667).abs() < 1e-9);
    }
}
