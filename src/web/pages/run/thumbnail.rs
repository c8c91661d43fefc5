//! The handler for thumbnails of profile pictures.

use std::sync::Arc;

use super::lookup::find;
use crate::http::{Reply, Response, StaticFile};
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// Handles `GET /app/searches/{run_id}/thumbnails/{result_id}`: returns the thumbnail of a result.
///
/// # Errors
/// Returns 404 for an unknown run or result and for a result without a thumbnail, 503 if the store is unavailable.
pub(in crate::web) fn thumbnail(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let found = find(web, &visit)?;
    let png = web
        .parts
        .runs
        .reader
        .thumbnail(found.id(), visit.id("result_id")?)?
        .ok_or_else(WebError::no_such_page)?;
    let file = Arc::new(StaticFile::plain("image/png", png));
    let response = Response::of_file(&file, &visit.request);
    Ok(Reply::Now(response.with_header("Cache-Control", "private, max-age=86400, immutable")))
}
