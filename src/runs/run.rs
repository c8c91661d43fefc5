//! The state of one search: status, progress, coverage, numbered results.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::journal::NewRun;
use crate::base::clock::millis;
use crate::base::ids::{AccountId, RunId};
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// Why a run failed: shown to its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// `no_conclusion`, `store_failed` or `internal_error`.
    pub code: String,
    /// For a person.
    pub message: String,
}

/// A numbered result, in the contract's own shape (2.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultRecord {
    /// Sequential per run, from 1.
    pub id: u32,
    /// Entity type, such as `profile`.
    #[serde(rename = "type")]
    pub result_type: String,
    /// The same value.
    pub entity_type: String,
    /// Platform name.
    pub platform: Option<String>,
    /// Primary value.
    pub value: Option<String>,
    /// 0.0 to 1.0.
    pub confidence: f64,
    /// Id of the first module that found it.
    pub source: String,
    /// Module-specific data, and [`sources`](super::entity::merge::SOURCES).
    pub metadata: Map<String, Value>,
    /// When it was recorded.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
}

/// How one module ended, as `…/modules` shows it and as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleReport {
    /// Module id.
    pub module: String,
    /// Platform name.
    pub platform: String,
    /// Outcome.
    pub status: Outcome,
    /// A machine-readable word, where the outcome needs one.
    pub reason: Option<String>,
    /// The last HTTP status seen.
    pub http_status: Option<u16>,
    /// From the start of the check to its end, waiting in the queue left out.
    pub elapsed_ms: u64,
}

/// The progress block (2.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Modules of the run.
    pub modules_total: u32,
    /// Modules that ended, in whatever way.
    pub modules_completed: u32,
    /// Modules that ended as a hit.
    pub modules_with_hits: u32,
}

/// How the modules that ended did end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "one count for each outcome, named after it")]
pub struct Coverage {
    /// Modules that ended.
    pub checked: u32,
    /// Of these, those that came to a conclusion.
    pub conclusive: u32,
    pub hit: u32,
    pub miss: u32,
    pub blocked: u32,
    pub rate_limited: u32,
    pub timeout: u32,
    pub error: u32,
    pub unreliable: u32,
    pub skipped: u32,
    /// `conclusive` over `checked` minus `skipped`, 0.0 to 1.0; 0.0 where that is nothing over nothing.
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
