//! `/app`.

use std::sync::Arc;

use askama::Template;

use crate::http::Reply;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::service::Web;
use crate::web::visit::Visit;

#[derive(Template)]
#[template(path = "home.html")]
struct Page {
    frame: Frame,
}

/// `GET /app`: where everybody begins.
///
/// # Errors
/// Never.
pub(in crate::web) fn home(_: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    Ok(Reply::Now(render(&Page { frame: visit.frame })))
}
