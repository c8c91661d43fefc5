//! The page of a batch, and its confirmation to stop. The page is complete without scripts, and then reloads while the batch runs. With scripts, a part of
//! it is replaced.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;

use crate::http::Reply;
use crate::model::batch::{Batch, BatchRow, BatchStatus, RowRefusal, RowState};
use crate::model::run::Status;
use crate::report::Format;
use crate::web::error::WebError;
use crate::web::frame::{Confirm, Frame, render};
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
    live: Live,
    exports: [Format; 3],
}

#[derive(Template)]
#[template(path = "batch-live.html", config = "src/web/askama.toml")]
struct Part {
    frame: Frame,
    live: Live,
}

/// The formats of the file, the one for most readers first.
const EXPORTS: [Format; 3] = [Format::Csv, Format::Json, Format::Ndjson];

/// Handles `GET /app/batches/{batch_id}`: shows the batch and its searches.
///
/// # Errors
/// Returns 404 for an unknown batch, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let batch = find(web, &visit)?;
    Ok(Reply::Now(render(&Page { live: live(web, &visit, &batch)?, exports: EXPORTS, frame: visit.frame })))
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
    let mut rows = web.parts.store.batch_rows(batch.id, after, PAGE + 1)?;
    let has_more = rows.len() > PAGE;
    rows.truncate(PAGE);
    let remaining = batch.remaining_secs(web.parts.clock.now());
    Ok(Live {
        batch: batch.clone(),
        remaining: remaining.map(|secs| lasted(Duration::from_secs(secs))),
        next: rows.last().filter(|_| has_more).map(|row| row.position),
        rows,
        after,
    })
}

/// The state of a batch, and some of its searches.
struct Live {
    batch: Batch,
    /// The estimated time until the end.
    remaining: Option<String>,
    rows: Vec<BatchRow>,
    /// The place after which the rows begin.
    after: u32,
    /// The last row of this page, if there are more.
    next: Option<u32>,
}

/// Returns the number of searches of a batch that are over.
pub(super) fn over(batch: &Batch) -> u32 {
    batch.counts.total() - batch.counts.pending - batch.counts.running
}

/// Returns the searches by state: its name, their number, and that of the searches in the states before it.
fn shares(batch: &Batch) -> Vec<(&'static str, u32, u32)> {
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
        (name, count, from - count)
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

/// Returns the name of a search's state, the CSS class of its badge, and why the search was refused.
fn state_of_row(row: &BatchRow) -> (&'static str, &'static str, &'static str) {
    match &row.state {
        RowState::Pending => ("Pending", "", ""),
        RowState::Skipped => ("Skipped", "", ""),
        RowState::Refused(reason) => ("Refused", "bad", sentence_about(*reason)),
        RowState::Started(run) => match run.status {
            Status::Running => ("Running", "accent", ""),
            Status::Completed => ("Completed", "good", ""),
            Status::Failed => ("Failed", "bad", ""),
        },
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

/// Handles `GET /app/batches/{batch_id}/stop`: asks for confirmation.
///
/// # Errors
/// Returns 404 for an unknown batch, 503 if the store is unavailable.
pub(in crate::web) fn confirm_stop(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let batch = find(web, &visit)?;
    let pending = batch.counts.pending;
    Ok(Reply::Now(render(&Confirm {
        frame: visit.frame,
        question: "Stop this batch?",
        subject: shown_name(&batch),
        text: format!(
            "{pending} {} not begun: they are not made and not charged. Those that have begun go on. It cannot be undone.",
            if pending == 1 { "search has" } else { "searches have" }
        ),
        also: None,
        button: "Stop it",
        back: format!("/app/batches/{}", batch.id),
    })))
}

/// Handles `POST /app/batches/{batch_id}/stop`: stops the batch and redirects to its page.
///
/// # Errors
/// Returns the same errors as [`confirm_stop`].
pub(in crate::web) fn stop(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let id = visit.id("batch_id")?;
    if !web.parts.runs.stop_batch(visit.caller()?.account.id, id, &visit.origin()?)? {
        return Err(WebError::no_such_page());
    }
    Ok(Reply::Now(web.redirect(&format!("/app/batches/{id}"))))
}

/// Returns the name of a batch as it is shown.
pub(super) fn shown_name(batch: &Batch) -> String {
    batch.name.clone().unwrap_or_else(|| "Batch without a name".to_owned())
}

/// Returns the batch of the address.
///
/// # Errors
/// Returns 404 for a malformed, unknown or removed id and for a batch of another account, always with the same text.
/// Returns 503 if the store is unavailable.
pub(super) fn find(web: &Web, visit: &Visit) -> Result<Batch, WebError> {
    let (account, id) = (visit.caller()?.account.id, visit.id("batch_id")?);
    web.parts.store.batch(account, id)?.ok_or_else(WebError::no_such_page)
}

/// Returns the place after which the rows of a page begin. An invalid one is ignored.
pub(super) fn after(visit: &Visit) -> u32 {
    visit.query().get("after").parse().unwrap_or(0)
}
