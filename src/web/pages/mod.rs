//! The handlers of pages, and that of files.

pub(super) mod account;
pub(super) mod batches;
pub(super) mod history;
pub(super) mod keys;
pub(super) mod operator;
pub(super) mod operator_accounts;
pub(super) mod run;
pub(super) mod search;
pub(super) mod sign_in;
pub(super) mod watches;
pub(super) mod webhooks;

use std::sync::Arc;

use super::frame::ASSETS;
use super::{Answer, Visit, Web, WebError};
use crate::http::{Reply, Response};

/// Handles `GET /app/assets/{file}`: returns the file. It may be cached without limit, because its name contains a
/// hash of its content.
///
/// # Errors
/// Returns 404 for an unknown file, which includes a file of another version.
pub(super) fn asset(_: &Arc<Web>, visit: Visit) -> Answer {
    let asset = ASSETS.find(&visit.id::<String>("file")?).ok_or_else(WebError::no_such_page)?;
    Ok(Reply::Now(Response::of_asset(asset, &visit.request)))
}
