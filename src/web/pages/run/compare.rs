//! The page of the searches that a run can be compared with.

use std::sync::Arc;

use askama::Template;

use super::lookup::find;
use crate::http::Reply;
use crate::model::run::RunSummary;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::pages::run_row::RunRow;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The number of searches that are shown.
const MOST: usize = 100;

#[derive(Template)]
#[template(path = "compare.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    run: RunRow,
    /// The other searches, each with the address of the page that tells what changed.
    others: Vec<(RunRow, String)>,
}

/// Handles `GET /app/searches/{run_id}/compare`: lists the searches for the same query that have ended.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let run = find(web, &visit)?.summary();
    let now = web.parts.clock.now();
    let row = |other: &RunSummary| {
        let is_older = (other.created_at, other.id) < (run.created_at, run.id);
        let (before, after) = if is_older { (other.id, run.id) } else { (run.id, other.id) };
        (RunRow::new(other, now), format!("{}/app/searches/{before}/diff/{after}", web.root))
    };
    let others = web.parts.runs.reader.comparable(&run, None, MOST)?.iter().map(row).collect();
    Ok(Reply::Now(render(&Page { frame: visit.frame, run: RunRow::new(&run, now), others })))
}
