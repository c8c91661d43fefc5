//! The matrix of a batch: its queries by platforms. A page has some of the queries, and the platforms with a hit for
//! one of them, so that it stays small.

use std::sync::Arc;

use askama::Template;

use super::page::shown_name;
use super::page::{after, find};
use crate::base::ids::BatchId;
use crate::http::{Reply, Response};
use crate::model::batch::Batch;
use crate::runs::batches::MatrixRow;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The number of queries on a page.
const PAGE: usize = 25;

#[derive(Template)]
#[template(path = "batch-matrix.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    id: BatchId,
    name: String,
    /// The first and the last place in the batch on this page, and the number of all searches.
    first: u32,
    last: u32,
    total: u32,
    /// Whether platforms without a hit are shown, too.
    shows_all: bool,
    /// The number of platforms without a hit.
    others: usize,
    titles: Vec<String>,
    rows: Vec<MatrixRow>,
    after: u32,
    /// The last row of this page, if there are more.
    next: Option<u32>,
}

/// Handles `GET /app/batches/{batch_id}/matrix`: shows the outcomes of some searches. With `all`, also the platforms
/// without a hit.
///
/// # Errors
/// Returns 404 for an unknown batch, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let batch = find(web, &visit)?;
    Ok(web.later(visit, move |web, visit| show(web, visit, &batch).map(Reply::Now)))
}

fn show(web: &Web, visit: Visit, batch: &Batch) -> Result<Response, WebError> {
    let (after, shows_all) = (after(&visit), visit.query().is_checked("all"));
    let mut matrix = web.parts.runs.matrix(batch.id, after, PAGE)?;
    let others = matrix.columns.iter().filter(|column| column.hits == 0).count();
    if !shows_all {
        let with_hits = matrix.columns.len() - others;
        matrix.columns.truncate(with_hits);
        matrix.rows.iter_mut().for_each(|row| row.outcomes.truncate(with_hits));
    }
    let last = matrix.rows.last().map_or(after, |row| row.row);
    let has_more = !web.parts.store.batch_rows(batch.id, last, 1)?.is_empty();
    Ok(render(&Page {
        id: batch.id,
        name: shown_name(batch),
        first: matrix.rows.first().map_or(0, |row| row.row),
        last,
        total: batch.counts.total(),
        shows_all,
        others,
        titles: matrix.titles(),
        rows: matrix.rows,
        after,
        next: Some(last).filter(|_| has_more),
        frame: visit.frame,
    }))
}
