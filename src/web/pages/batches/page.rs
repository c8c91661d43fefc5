//! The page of a batch, and its confirmation to stop. The page is complete without scripts, and then reloads while the batch runs. With scripts, a part of
//! it is replaced.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use jiff::Timestamp;

use crate::base::ids::{BatchId, RunId};
use crate::base::text::plain;
use crate::http::Reply;
use crate::model::batch::{Batch, BatchRow, BatchStatus, RowRefusal, RowState};
use crate::model::run::Status;
use crate::report::batch::BatchFormat;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::pages::run_row::kind;
use crate::web::service::Web;
use crate::web::show::{Moment, lasted};
use crate::web::visit::Visit;

/// The number of searches on a page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "batch.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    name: String,
    simulated: bool,
    created: Moment,
    live: Live,
    exports: [(BatchFormat, &'static str); 3],
}

#[derive(Template)]
#[template(path = "batch-live.html", config = "src/web/askama.toml")]
struct Part {
    frame: Frame,
    live: Live,
}

/// The formats of the file, the one for most readers first.
const EXPORTS: [(BatchFormat, &str); 3] = [
    (BatchFormat::Csv, "Spreadsheet (CSV)"),
    (BatchFormat::Json, "Everything (JSON)"),
    (BatchFormat::Ndjson, "Results, one on each line (NDJSON)"),
];

/// Handles `GET /app/batches/{batch_id}`: shows the batch and its searches.
///
/// # Errors
/// Returns 404 for an unknown batch, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let batch = find(web, &visit)?;
    Ok(Reply::Now(render(&Page {
        name: shown_name(&batch),
        simulated: batch.simulated,
        created: Moment(batch.created_at),
        live: live(web, &visit, &batch)?,
        exports: EXPORTS,
        frame: visit.frame,
    })))
}

/// Handles `GET /app/batches/{batch_id}/state`: returns the part of the page that changes, for its script.
///
/// # Errors
/// Returns 404 for an unknown batch, 503 if the store is unavailable.
pub(in crate::web) fn state(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let batch = find(web, &visit)?;
    let live = live(web, &visit, &batch)?;
    Ok(Reply::Now(render(&Part { live, frame: visit.frame })))
}

fn live(web: &Web, visit: &Visit, batch: &Batch) -> Result<Live, WebError> {
    let after = after(visit);
    let mut rows = web.parts.batches.rows(batch.id, after, PAGE + 1)?;
    let has_more = rows.len() > PAGE;
    rows.truncate(PAGE);
    Ok(Live::new(batch, &rows, after, has_more, web.parts.clock.now()))
}

/// The state of a batch, and some of its searches.
pub(super) struct Live {
    pub(super) id: BatchId,
    pub(super) state: &'static str,
    /// The CSS class of the state's badge.
    pub(super) tone: &'static str,
    /// Whether searches are in progress or will be.
    pub(super) is_open: bool,
    pub(super) can_be_stopped: bool,
    pub(super) waits_for_credits: bool,
    pub(super) total: u32,
    /// The number of searches that are over.
    pub(super) over: u32,
    /// The total, but at least 1, as a divisor.
    pub(super) most: u32,
    pub(super) shares: Vec<Share>,
    /// The estimated time until the end.
    pub(super) remaining: Option<String>,
    pub(super) rows: Vec<Row>,
    /// The place after which the rows begin.
    pub(super) after: u32,
    /// The last row of this page, if there are more.
    pub(super) next: Option<u32>,
}

/// The searches in one state.
pub(super) struct Share {
    /// The name of the state, and its CSS class.
    pub(super) name: &'static str,
    pub(super) count: u32,
    /// The number of searches in the states before it.
    pub(super) from: u32,
}

/// A search of the batch.
pub(super) struct Row {
    pub(super) position: u32,
    pub(super) query: String,
    pub(super) kind: &'static str,
    pub(super) state: &'static str,
    pub(super) tone: &'static str,
    /// Why the search was refused, as a sentence.
    pub(super) reason: Option<&'static str>,
    pub(super) run: Option<RunId>,
    pub(super) results: Option<u32>,
}

impl Live {
    /// Creates the part with the rows after a place.
    pub(super) fn new(batch: &Batch, rows: &[BatchRow], after: u32, has_more: bool, now: Timestamp) -> Self {
        let (state, tone) = state_of(batch.status());
        let counts = batch.counts;
        Self {
            id: batch.id,
            state,
            tone,
            is_open: batch.ended_at.is_none(),
            can_be_stopped: batch.ended_at.is_none() && batch.stopped_at.is_none(),
            waits_for_credits: batch.status() == BatchStatus::WaitingForCredits,
            total: counts.total(),
            over: counts.total() - counts.pending - counts.running,
            most: counts.total().max(1),
            shares: shares(batch),
            remaining: batch.remaining_secs(now).map(|secs| lasted(Duration::from_secs(secs))),
            rows: rows.iter().map(Row::from).collect(),
            after,
            next: rows.last().filter(|_| has_more).map(|row| row.position),
        }
    }
}

/// Returns the searches by state: those that are over first.
fn shares(batch: &Batch) -> Vec<Share> {
    let counts = batch.counts;
    let states = [
        ("completed", counts.completed),
        ("failed", counts.failed),
        ("refused", counts.refused),
        ("skipped", counts.skipped),
        ("running", counts.running),
        ("pending", counts.pending),
    ];
    let mut from = 0;
    let share = |(name, count)| {
        from += count;
        Share { name, count, from: from - count }
    };
    states.into_iter().map(share).collect()
}

/// Returns the name of a batch's state for people, and the CSS class of its badge.
pub(super) fn state_of(status: BatchStatus) -> (&'static str, &'static str) {
    match status {
        BatchStatus::Running => ("Running", "accent"),
        BatchStatus::WaitingForCredits => ("Waiting for credits", "warn"),
        BatchStatus::Stopped => ("Stopped", "warn"),
        BatchStatus::Completed => ("Completed", "good"),
    }
}

impl From<&BatchRow> for Row {
    fn from(row: &BatchRow) -> Self {
        let (state, tone, reason) = match &row.state {
            RowState::Pending => ("Pending", "", None),
            RowState::Skipped => ("Skipped", "", None),
            RowState::Refused(reason) => ("Refused", "bad", Some(sentence_about(*reason))),
            RowState::Started(run) => match run.status {
                Status::Running => ("Running", "accent", None),
                Status::Completed => ("Completed", "good", None),
                Status::Failed => ("Failed", "bad", None),
            },
        };
        Self {
            position: row.position,
            query: plain(&row.search.query).into_owned(),
            kind: kind(row.search.search_type),
            state,
            tone,
            reason,
            run: row.run().map(|run| run.id),
            results: row.run().map(|run| run.total_results),
        }
    }
}

fn sentence_about(reason: RowRefusal) -> &'static str {
    match reason {
        RowRefusal::Suppressed => "This identifier is never searched here.",
        RowRefusal::InvalidChoice => "Its choice of modules is not valid with the current catalogue.",
        RowRefusal::PremiumUnavailable => "No browser was available.",
        RowRefusal::Unreadable => "This version of the program cannot read it.",
    }
}

#[derive(Template)]
#[template(path = "batch-stop.html", config = "src/web/askama.toml")]
struct StopPage {
    frame: Frame,
    id: BatchId,
    name: String,
    pending: u32,
}

/// Handles `GET /app/batches/{batch_id}/stop`: asks for confirmation.
///
/// # Errors
/// Returns 404 for an unknown batch, 503 if the store is unavailable.
pub(in crate::web) fn confirm_stop(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let batch = find(web, &visit)?;
    let (name, pending) = (shown_name(&batch), batch.counts.pending);
    Ok(Reply::Now(render(&StopPage { frame: visit.frame, id: batch.id, name, pending })))
}

/// Handles `POST /app/batches/{batch_id}/stop`: stops the batch and redirects to its page.
///
/// # Errors
/// Returns the same errors as [`confirm_stop`].
pub(in crate::web) fn stop(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let id = visit.id("batch_id")?;
    if !web.parts.batches.stop(visit.caller()?.account.id, id, &visit.origin()?)? {
        return Err(WebError::no_such_page());
    }
    Ok(Reply::Now(web.redirect(&format!("/app/batches/{id}"))))
}

/// Returns the name of a batch as it is shown.
pub(super) fn shown_name(batch: &Batch) -> String {
    batch.name.as_deref().map_or_else(|| "Batch without a name".to_owned(), |name| plain(name).into_owned())
}

/// Returns the batch of the address.
///
/// # Errors
/// Returns 404 for a malformed, unknown or removed id and for a batch of another account, always with the same text.
/// Returns 503 if the store is unavailable.
pub(super) fn find(web: &Web, visit: &Visit) -> Result<Batch, WebError> {
    let (account, id) = (visit.caller()?.account.id, visit.id("batch_id")?);
    web.parts.batches.find(account, id)?.ok_or_else(WebError::no_such_page)
}

/// Returns the place after which the rows of a page begin. An invalid one is ignored.
pub(super) fn after(visit: &Visit) -> u32 {
    visit.query().get("after").parse().unwrap_or(0)
}
