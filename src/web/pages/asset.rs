//! Handler of styles, scripts and the icon.

use std::sync::Arc;

use crate::http::{Reply, Response};
use crate::web::assets::ASSETS;
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// Handles `GET /app/assets/{file}`: returns the file. It may be cached without limit, because its name contains a
/// hash of its content.
///
/// # Errors
/// Returns 404 for an unknown file, which includes a file of another version.
pub(in crate::web) fn asset(_: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let asset =
        visit.segment("file").and_then(|file| ASSETS.find(file)).ok_or_else(WebError::no_such_page)?;
    Ok(Reply::Now(Response::of_asset(asset, &visit.request)))
}
