//! The page of a batch. It is complete without scripts, and then reloads while the batch runs. With scripts, a part of
//! it is replaced.

use std::sync::Arc;

use askama::Template;

use super::list::shown_name;
use super::live::Live;
use super::lookup::{after, find};
use crate::http::Reply;
use crate::model::batch::Batch;
use crate::report::batch::BatchFormat;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::service::Web;
use crate::web::show::Moment;
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
