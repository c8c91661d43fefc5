//! Starts the search of a run again.

use std::sync::Arc;

use super::lookup::find;
use crate::http::Reply;
use crate::web::error::WebError;
use crate::web::pages::search::begin;
use crate::web::pages::search_form::SearchForm;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// Handles `POST /app/searches/{run_id}/again` with `once`: starts the same search with the same options, and redirects to
/// its page. A form that is sent several times starts only one. If the search is refused, the search form shows why.
///
/// # Errors
/// Returns 404 for an unknown run, 409 if its options are not known yet, 503 if the store is unavailable.
pub(in crate::web) fn again(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let once = visit.form().get("once").to_owned();
    let mut form = SearchForm::of_run(web, &find(web, &visit)?)?;
    form.once = once;
    begin(web, visit, form)
}
