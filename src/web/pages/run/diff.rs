//! The page of what changed between two runs, and that of the searches that a run can be compared with.

use std::sync::Arc;

use askama::Template;

use super::{find, find_in};
use crate::http::Reply;
use crate::model::diff::{Diff, DiffCounts, Difference};
use crate::model::run::RunSummary;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::pages::difference_row::{MOST_DETAILS, href, reason, shown};
use crate::web::pages::run_row::RunRow;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The most results of one kind on a page.
const MOST_ROWS: usize = 60;

#[derive(Template)]
#[template(path = "diff.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    earlier: RunRow,
    run: RunRow,
    counts: DiffCounts,
    compared: usize,
    not_compared: usize,
    /// The kinds of differences of which there are any.
    parts: Vec<Part>,
}

struct Part {
    name: &'static str,
    title: &'static str,
    meaning: &'static str,
    has_details: bool,
    rows: Vec<Difference>,
    /// The number of results that the page leaves out.
    more: usize,
}

/// Handles `GET /app/searches/{run_id}/diff/{other}`: shows what changed from the first run to the other one.
///
/// # Errors
/// Returns 404 for an unknown run, 409 if the runs cannot be compared, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let reader = &web.parts.runs.reader;
    let before = reader.record(&find(web, &visit)?)?;
    let after = reader.record(&find_in(web, &visit, "other")?)?;
    let runs = before.findings().zip(after.findings()).ok_or_else(WebError::no_such_page)?;
    let catalog = web.parts.runs.catalog();
    let diff = Diff::between(&runs.0, &runs.1, catalog.profiles()).map_err(|_| {
        let text = "Only two searches for the same query that have ended can be compared.";
        WebError::new(409, "These searches cannot be compared", text)
    })?;
    let now = web.parts.clock.now();
    Ok(Reply::Now(render(&Page {
        frame: visit.frame,
        earlier: RunRow::new(&before.summary, now),
        run: RunRow::new(&after.summary, now),
        counts: diff.counts,
        compared: diff.modules_compared,
        not_compared: diff.modules_not_compared,
        parts: parts(&diff),
    })))
}

fn parts(diff: &Diff) -> Vec<Part> {
    let part = |name, title, meaning, list: &[Difference]| Part {
        name,
        title,
        meaning,
        has_details: matches!(name, "changed" | "unknown"),
        rows: list.iter().take(MOST_ROWS).cloned().collect(),
        more: list.len().saturating_sub(MOST_ROWS),
    };
    let all = [
        part("added", "Added", "The sites had none of these before.", &diff.added),
        part(
            "removed",
            "Removed",
            "The sites were asked again and do not have these any more.",
            &diff.removed,
        ),
        part("changed", "Changed", "Both searches found these, with other data.", &diff.changed),
        part("unknown", "Unknown", "The searches do not prove whether these have changed.", &diff.unknown),
    ];
    all.into_iter().filter(|part| !part.rows.is_empty()).collect()
}

/// The number of searches that are shown.
const MOST_OTHERS: usize = 100;

#[derive(Template)]
#[template(path = "compare.html", config = "src/web/askama.toml")]
struct ComparePage {
    frame: Frame,
    run: RunRow,
    /// The other searches, each with the address of the page that tells what changed.
    others: Vec<(RunRow, String)>,
}

/// Handles `GET /app/searches/{run_id}/compare`: lists the searches for the same query that have ended.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn compare(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let run = find(web, &visit)?.summary();
    let now = web.parts.clock.now();
    let row = |other: &RunSummary| {
        let is_older = (other.created_at, other.id) < (run.created_at, run.id);
        let (before, after) = if is_older { (other.id, run.id) } else { (run.id, other.id) };
        (RunRow::new(other, now), format!("{}/app/searches/{before}/diff/{after}", web.root))
    };
    let others = web.parts.runs.reader.comparable(&run, None, MOST_OTHERS)?.iter().map(row).collect();
    Ok(Reply::Now(render(&ComparePage { frame: visit.frame, run: RunRow::new(&run, now), others })))
}
