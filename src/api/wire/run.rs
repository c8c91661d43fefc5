//! Runs, lists of runs, module outcomes.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::base::clock::millis;
use crate::base::ids::RunId;
use crate::modules::query::SearchType;
use crate::runs::run::{Coverage, ModuleReport, Progress, ResultRecord, RunError, RunSummary, Status};

/// A run without its results: a row of the list.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunSummary)]
pub struct RunHead<'a> {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// Where it stands.
    pub status: Status,
    /// What is looked up.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// The query as the caller sent it.
    #[schema(examples("octocat"))]
    pub query: &'a str,
    /// Number of results so far.
    #[schema(examples(42))]
    pub total_results: u32,
    /// How far it has come.
    pub progress: Progress,
    /// When it was accepted: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis")]
    #[schema(examples("2026-05-06T07:08:09.010Z"))]
    pub created_at: Timestamp,
    /// When it ended; null as long as it has not.
    #[serde(with = "millis::option")]
    #[schema(required, examples("2026-05-06T07:09:21.500Z"))]
    pub completed_at: Option<Timestamp>,
    /// Whether solver-backed platforms take part.
    #[schema(examples(false))]
    pub premium: bool,
    /// How the modules that ended did end.
    pub coverage: Coverage,
    /// What it cost, in credits; 0 where it failed, for then its credits are given back.
    #[schema(examples(1))]
    pub credits_charged: u64,
    /// Why it failed; null where it did not.
    #[schema(required)]
    pub error: Option<&'a RunError>,
    /// Only where it is true: the simulated web answered, nothing is real.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(examples(true))]
    pub sandbox: bool,
}

impl<'a> From<&'a RunSummary> for RunHead<'a> {
    fn from(run: &'a RunSummary) -> Self {
        Self {
            run_id: run.id,
            status: run.status,
            search_type: run.search_type,
            query: &run.query,
            total_results: run.total_results,
            progress: run.progress,
            created_at: run.created_at,
            completed_at: run.completed_at,
            premium: run.premium,
            coverage: run.coverage,
            credits_charged: run.credits_charged,
            error: run.error.as_ref(),
            sandbox: run.simulated,
        }
    }
}

/// A whole run: its summary and the results found so far.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Run)]
pub struct RunBody<'a> {
    /// All but the results.
    #[serde(flatten)]
    pub head: RunHead<'a>,
    /// The results found so far, in the order of their ids.
    pub results: Vec<&'a ResultRecord>,
}

/// Answer to a search. The members after `status` are there only where the request waited (`wait`) and the run
/// ended in time.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SearchAnswer)]
pub struct Answer<'a> {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// Where it stands: `running`, but for a wait that saw its end, or a repeated `Idempotency-Key`.
    pub status: Status,
    /// Number of results.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(42))]
    pub total_results: Option<u32>,
    /// All results, in the order of their ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub results: Option<Vec<&'a ResultRecord>>,
    /// How the modules ended: what could not be asked, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub coverage: Option<Coverage>,
    /// Only where the run failed: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<&'a RunError>,
}

impl<'a> Answer<'a> {
    /// For a run that goes on, or that was not waited for.
    pub fn begun(run_id: RunId, status: Status) -> Self {
        Self { run_id, status, total_results: None, results: None, coverage: None, error: None }
    }

    /// For a run that ended within the wait.
    pub fn ended(run: &'a RunSummary, results: Vec<&'a ResultRecord>) -> Self {
        Self {
            total_results: Some(run.total_results),
            results: Some(results),
            coverage: Some(run.coverage),
            error: run.error.as_ref(),
            ..Self::begun(run.id, run.status)
        }
    }
}

/// A page of the caller's runs, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchList<'a> {
    /// The runs of this page.
    #[schema(max_items = 100)]
    pub searches: Vec<RunHead<'a>>,
    /// How many runs this page has.
    #[schema(maximum = 100, examples(20))]
    pub count: usize,
    /// How many were asked for at most.
    #[schema(minimum = 1, maximum = 100, examples(20))]
    pub limit: usize,
    /// Whether there are older ones.
    #[schema(examples(true))]
    pub has_more: bool,
    /// What to send as `cursor` to get the next page; null where there is none.
    #[schema(required, examples("19c6e9a5a10.018f4a7e5c1d7b3a9e2f0123456789ab"))]
    pub next_cursor: Option<String>,
}

/// How the modules of a run ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunModules {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// Where it stands.
    pub status: Status,
    /// How many modules have ended.
    #[schema(examples(231))]
    pub count: usize,
    /// Those that have ended.
    pub modules: Vec<ModuleReport>,
}
