//! A run as a row of a table.

use jiff::Timestamp;

use crate::base::ids::RunId;
use crate::model::run::{RunSummary, Status};
use crate::modules::query::SearchType;
use crate::web::show::{Moment, ago};

/// The data of a run in a table, and in the header of its own page.
#[derive(Debug, Clone)]
pub(super) struct RunRow {
    pub(super) id: RunId,
    pub(super) query: String,
    pub(super) kind: &'static str,
    pub(super) premium: bool,
    pub(super) simulated: bool,
    pub(super) status: &'static str,
    /// The CSS class of the status badge.
    pub(super) tone: &'static str,
    pub(super) is_running: bool,
    pub(super) results: u32,
    pub(super) started: Moment,
    pub(super) ago: String,
}

impl RunRow {
    pub(super) fn new(run: &RunSummary, now: Timestamp) -> Self {
        let (status, tone) = match run.status {
            Status::Running if run.stopped_at.is_some() => ("Stopping", "warn"),
            Status::Running => ("Running", "accent"),
            Status::Completed if run.stopped_at.is_some() => ("Stopped", "warn"),
            Status::Completed => ("Completed", "good"),
            Status::Failed => ("Failed", "bad"),
        };
        Self {
            id: run.id,
            query: run.query.clone(),
            kind: kind(run.search_type),
            premium: run.premium,
            simulated: run.simulated,
            status,
            tone,
            is_running: !run.status.is_terminal(),
            results: run.total_results,
            started: Moment(run.created_at),
            ago: ago(run.created_at, now),
        }
    }
}

/// Returns the name of a type as it is shown.
pub(super) fn kind(search_type: SearchType) -> &'static str {
    match search_type {
        SearchType::Domain => "Domain",
        SearchType::Email => "Email",
        SearchType::Username => "Username",
    }
}
