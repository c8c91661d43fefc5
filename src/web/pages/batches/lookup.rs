//! Finds the batch of an address.

use crate::model::batch::Batch;
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

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
