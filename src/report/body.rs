//! The JSON form of a run, as the API returns it (`src/manual/api.md`).

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::base::clock::millis;
use crate::base::ids::{BatchId, RunId, WatchId};
use crate::model::coverage::Coverage;
use crate::model::family::FollowState;
use crate::model::run::{ModuleReport, Progress, ResultRecord, RunError, RunSummary, Status, TimeBudget};
use crate::modules::query::SearchType;
use crate::runs::record::RunRecord;

/// A run without its results: an item of the list of searches.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunSummary)]
pub struct RunHead<'a> {
    /// Identifies the search.
    #[schema(value_type = uuid::Uuid)]
    pub run_id: RunId,
    /// State of the search.
    pub status: Status,
    /// Kind of identifier that is searched.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// Query as the caller sent it.
    #[schema(examples("octocat"))]
    pub query: &'a str,
    /// Number of results so far.
    pub total_results: u32,
    /// Number of modules that have ended, and of all modules.
    pub progress: Progress,
    /// Time at which the search was accepted: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    /// Time at which the search ended; null until then.
    #[serde(with = "millis::option")]
    #[schema(required)]
    pub completed_at: Option<Timestamp>,
    /// Present only if the search was stopped, or the following of its leads: the time (RFC 3339, UTC, milliseconds).
    #[serde(with = "millis::option", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub stopped_at: Option<Timestamp>,
    /// Whether modules that need a browser take part.
    pub premium: bool,
    /// Present only if true: every check had the configured deadline, and no deadline that was learnt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub patient: bool,
    /// Present only if it was given: seconds after which the search ends with the answers that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u8, minimum = 1, maximum = 120)]
    pub time_budget: Option<u8>,
    /// Present only if true: the profile pictures of accounts are fetched.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub avatars: bool,
    /// Outcomes of the modules that have ended.
    pub coverage: Coverage,
    /// Cost of the search in credits; 0 if it failed, because its credits are refunded.
    pub credits_charged: u64,
    /// Cause of the failure; null if the search did not fail.
    #[schema(required)]
    pub error: Option<&'a RunError>,
    /// Present only while the search waits for its turn, and not in lists: its position among all that wait, from 1.
    /// Accounts take turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1)]
    pub queue_position: Option<u32>,
    /// Present only if a lead has started the search: the search whose lead it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = uuid::Uuid, nullable = false)]
    pub parent_run_id: Option<RunId>,
    /// Present only if a lead has started the search: the first search of the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = uuid::Uuid, nullable = false)]
    pub root_run_id: Option<RunId>,
    /// Present only if a lead has started the search: number of leads between the first search and this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1)]
    pub depth: Option<u8>,
    /// Present only if a watch has started the search: the watch, which may have been deleted since.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = uuid::Uuid, nullable = false)]
    pub watch_id: Option<WatchId>,
    /// Present only if the search is of a batch: see `GET /v1/batches/{batch_id}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = uuid::Uuid, nullable = false)]
    pub batch_id: Option<BatchId>,
    /// Present only if the search asks the modules of another one again: that search, which may have been deleted since.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = uuid::Uuid, nullable = false)]
    pub retry_of: Option<RunId>,
    /// Present only at the first search of a family, in `GET /v1/searches/{run_id}` and its JSON report: how far leads
    /// are followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub follow: Option<FollowState>,
    /// Present only if the owner has set some: words to find the search by.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    #[schema(required = false, max_items = 10, examples(json!(["case-7", "open"])))]
    pub tags: &'a [String],
    /// Present only if the owner has written one: a note on the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_length = 2000, examples("The account on GitLab is known."))]
    pub note: Option<&'a str>,
    /// Present only if true: the results come from the simulated web and are not real.
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
            stopped_at: run.stopped_at,
            premium: run.premium,
            patient: run.options.patient,
            time_budget: run.options.time_budget.map(TimeBudget::secs),
            avatars: run.options.avatars,
            coverage: run.coverage,
            credits_charged: run.credits_charged,
            error: run.error.as_ref(),
            queue_position: run.queue_position,
            parent_run_id: run.family.map(|place| place.parent),
            root_run_id: run.family.map(|place| place.root),
            depth: run.family.map(|place| place.depth),
            watch_id: run.watch,
            batch_id: run.batch,
            retry_of: run.retry_of,
            follow: None,
            tags: &run.notes.tags,
            note: run.notes.note.as_deref(),
            sandbox: run.simulated,
        }
    }
}

/// A run with the results found so far.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Run)]
pub struct RunBody<'a> {
    /// The run without its results.
    #[serde(flatten)]
    pub head: RunHead<'a>,
    /// Results found so far, in the order of their ids.
    pub results: Vec<&'a ResultRecord>,
}

/// A run with the outcome of each of its modules: the content of a JSON report.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Report)]
pub struct ReportBody<'a> {
    /// The run and its results.
    #[serde(flatten)]
    pub run: RunBody<'a>,
    /// Modules that have ended so far, as in `GET /v1/searches/{run_id}/modules`.
    pub modules: &'a [ModuleReport],
}

/// A run with the runs that its leads and theirs have started: the content of a JSON report of a family.
#[derive(Debug, Serialize)]
pub struct FamilyBody<'a> {
    /// The first run.
    #[serde(flatten)]
    pub root: ReportBody<'a>,
    /// The other runs in the order in which they were started.
    pub children: Vec<ReportBody<'a>>,
}

impl<'a> From<&'a RunRecord> for RunBody<'a> {
    fn from(record: &'a RunRecord) -> Self {
        let head = RunHead { follow: record.follow, ..RunHead::from(&record.summary) };
        Self { head, results: record.results.iter().collect() }
    }
}

impl<'a> From<&'a RunRecord> for ReportBody<'a> {
    fn from(record: &'a RunRecord) -> Self {
        Self { run: record.into(), modules: &record.modules }
    }
}
