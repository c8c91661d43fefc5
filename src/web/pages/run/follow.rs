//! Following one lead of a run.

use std::sync::Arc;

use super::lookup::find;
use crate::http::Reply;
use crate::web::error::WebError;
use crate::web::pages::search::started;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// Handles `POST /app/searches/{run_id}/leads/{lead_id}/follow`: starts a search for the lead, and redirects to its page.
/// A lead that has a search already leads to that one.
///
/// # Errors
/// Returns 409 for a lead that cannot be followed, 402 without credits, 403 for a suppressed identifier, 404 for an
/// unknown run or lead, 503 if the store is unavailable.
pub(in crate::web) fn follow(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (found, lead) = (find(web, &visit)?, visit.id("lead_id")?);
    let followed = web.services().follow(visit.caller()?, &found, lead, visit.origin()?);
    match started(&visit, followed)? {
        Ok(id) => Ok(Reply::Now(web.redirect(&format!("/app/searches/{id}")))),
        Err(refusal) if refusal.is_unconfirmed => Err(WebError::unavailable()),
        Err(refusal) => Err(WebError::new(refusal.status, "Not started", refusal.text)),
    }
}
