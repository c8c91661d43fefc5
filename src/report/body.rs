//! The Run record: section 2.1 of the contract, and the additive fields that the decisions name.

use jiff::Timestamp;
use serde::Serialize;

use crate::base::clock::millis;
use crate::base::ids::RunId;
use crate::modules::query::SearchType;
use crate::runs::record::RunRecord;
use crate::runs::run::{Coverage, ModuleReport, Progress, ResultRecord, RunError, RunSummary, Status};

/// A run without its results: a row of the list.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the contract's own names, section 2.1")]
pub struct RunHead<'a> {
    pub run_id: RunId,
    pub status: Status,
    #[serde(rename = "type")]
    pub search_type: SearchType,
    pub query: &'a str,
    pub total_results: u32,
    pub progress: Progress,
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    #[serde(with = "millis::option")]
    pub completed_at: Option<Timestamp>,
    pub premium: bool,
    pub coverage: Coverage,
    pub credits_charged: u64,
    pub error: Option<&'a RunError>,
    /// Only where it is true: the simulated web answered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
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

/// A whole run (2.1).
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the contract's own names, section 2.1")]
pub struct RunBody<'a> {
    #[serde(flatten)]
    pub head: RunHead<'a>,
    pub results: Vec<&'a ResultRecord>,
}

/// A whole run, and how each of its modules ended: the JSON file.
#[derive(Debug, Serialize)]
pub struct ReportBody<'a> {
    /// The run and its results.
    #[serde(flatten)]
    pub run: RunBody<'a>,
    /// The modules that ended so far, as `…/modules` has them.
    pub modules: &'a [ModuleReport],
}

impl<'a> From<&'a RunRecord> for ReportBody<'a> {
    fn from(record: &'a RunRecord) -> Self {
        let run = RunBody { head: (&record.summary).into(), results: record.results.iter().collect() };
        Self { run, modules: &record.modules }
    }
}
