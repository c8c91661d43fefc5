//! Finds the run of an address.

use crate::runs::service::Found;
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// Returns the run of the address.
///
/// # Errors
/// Returns 404 for a malformed, unknown or deleted id and for a run of another account, always with the same text.
/// Returns 503 if the store is unavailable.
pub(super) fn find(web: &Web, visit: &Visit) -> Result<Found, WebError> {
    find_in(web, visit, "run_id")
}

/// Returns the run of a segment of the address.
///
/// # Errors
/// Returns the same errors as [`find`].
pub(super) fn find_in(web: &Web, visit: &Visit, segment: &str) -> Result<Found, WebError> {
    let (id, account) = (visit.id(segment)?, visit.caller()?.account.id);
    web.parts.runs.reader.find(id, account)?.ok_or_else(WebError::no_such_page)
}
