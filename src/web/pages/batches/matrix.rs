//! The matrix of a batch: its queries by platforms. A page has some of the queries, and the platforms with a hit for
//! one of them, so that it stays small.

use std::sync::Arc;

use askama::Template;

use super::page::shown_name;
use super::page::{after, find};
use crate::base::ids::{BatchId, RunId};
use crate::http::{Reply, Response};
use crate::model::batch::Batch;
use crate::modules::outcome::Outcome;
use crate::report::batch::BatchMatrix;
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
    rows: Vec<Row>,
    after: u32,
    /// The last row of this page, if there are more.
    next: Option<u32>,
}

struct Row {
    query: String,
    status: String,
    run: Option<RunId>,
    outcomes: Vec<Option<Outcome>>,
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
    let matrix = web.parts.batches.part_of_matrix(batch.id, after, PAGE)?;
    let mut columns = matrix.columns();
    let asked = columns.len();
    let with_hits = columns.iter().filter(|column| column.hits > 0).count();
    if !shows_all {
        columns.truncate(with_hits);
    }
    let body = BatchMatrix::new(&matrix, &columns);
    let last = body.rows.last().map_or(after, |row| row.row);
    let has_more = !web.parts.batches.rows(batch.id, last, 1)?.is_empty();
    let rows = body.rows.iter().map(|row| Row {
        query: row.query.to_owned(),
        status: row.status.to_owned(),
        run: row.run_id,
        outcomes: row.outcomes.clone(),
    });
    Ok(render(&Page {
        id: batch.id,
        name: shown_name(batch),
        first: body.rows.first().map_or(0, |row| row.row),
        last,
        total: batch.counts.total(),
        shows_all,
        others: asked - with_hits,
        titles: body.titles(),
        rows: rows.collect(),
        after,
        next: Some(last).filter(|_| has_more),
        frame: visit.frame,
    }))
}
