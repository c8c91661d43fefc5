//! The Run record: section 2.1 of the contract, and the additive fields that the decisions name.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::base::clock::millis;
use crate::base::ids::RunId;
use crate::modules::query::SearchType;
use crate::runs::record::RunRecord;
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

/// A whole run, and how each of its modules ended: the JSON file.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Report)]
pub struct ReportBody<'a> {
    /// The run and its results.
    #[serde(flatten)]
    pub run: RunBody<'a>,
    /// The modules that ended so far, as `GET /v1/searches/{run_id}/modules` has them.
    pub modules: &'a [ModuleReport],
}

impl<'a> From<&'a RunRecord> for ReportBody<'a> {
    fn from(record: &'a RunRecord) -> Self {
        let run = RunBody { head: (&record.summary).into(), results: record.results.iter().collect() };
        Self { run, modules: &record.modules }
    }
}
