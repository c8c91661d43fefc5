//! The handlers of pages, and that of files.

pub(super) mod account;
pub(super) mod batches;
mod difference_row;
mod form_parts;
pub(super) mod history;
pub(super) mod keys;
pub(super) mod operator;
pub(super) mod operator_accounts;
mod refusal;
pub(super) mod run;
mod run_row;
pub(super) mod search;
mod search_form;
pub(super) mod sign_in;
mod site_choice;
pub(super) mod watches;
pub(super) mod webhooks;

use std::sync::Arc;

use super::assets::ASSETS;
use super::error::WebError;
use super::service::Web;
use super::visit::Visit;
use crate::http::{Reply, Response};

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
