//! The page with all batches of an account and the form of a new one.

use std::sync::Arc;

use askama::Template;

use super::form::BatchForm;
use super::page::{over, shown_name, state_of};
use crate::base::ids::BatchId;
use crate::http::{Reply, Response};
use crate::model::batch::Batch;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render_as};
use crate::web::service::Web;
use crate::web::show::Moment;
use crate::web::visit::Visit;

/// The number of batches on a page.
const PAGE: usize = 20;

#[derive(Template)]
#[template(path = "batches.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    form: BatchForm,
    batches: Vec<Batch>,
    is_later_page: bool,
    /// The last batch of this page, if there are older ones.
    older: Option<BatchId>,
}

/// Handles `GET /app/batches`: shows the batches and the form.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    show(web, visit, 200, BatchForm::fresh()?).map(Reply::Now)
}

/// Returns the page with this form.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(super) fn show(web: &Web, visit: Visit, status: u16, form: BatchForm) -> Result<Response, WebError> {
    let before: Option<BatchId> = visit.query().get("before").parse().ok();
    let (batches, has_more) = web.parts.runs.batches(visit.caller()?.account.id, before, PAGE)?;
    let page = Page {
        form,
        older: batches.last().filter(|_| has_more).map(|batch| batch.id),
        is_later_page: before.is_some(),
        batches,
        frame: visit.frame,
    };
    Ok(render_as(status, &page))
}
