//! Answers to searches, lists of runs, module outcomes. A run itself is [`RunBody`](crate::report::body::RunBody).

use serde::Serialize;
use utoipa::ToSchema;

use crate::base::ids::RunId;
use crate::report::body::RunHead;
use crate::runs::run::{Coverage, ModuleReport, ResultRecord, RunError, RunSummary, Status};

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
