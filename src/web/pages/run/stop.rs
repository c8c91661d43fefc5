//! Stopping a run, and asking its modules again that came to no conclusion.

use std::sync::Arc;

use super::lookup::find;
use crate::account::service::Caller;
use crate::http::Reply;
use crate::model::run::{ModuleReport, RunSummary};
use crate::runs::retry::Retry;
use crate::web::error::WebError;
use crate::web::pages::form_parts::once_key;
use crate::web::pages::search::started;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The button that asks the modules of a run again.
pub(super) struct Again {
    /// The number of modules that are asked.
    pub(super) modules: usize,
    /// The price as text.
    pub(super) price: String,
}

impl Again {
    /// Returns the button of a run. Returns `None` if the run has not ended, or there is nothing to ask again.
    pub(super) fn of(web: &Web, run: &RunSummary, reports: &[ModuleReport], caller: &Caller) -> Option<Self> {
        let retry = Retry::of(run, reports, &web.parts.runs.catalog()).ok()?;
        if retry.is_premium() && !caller.plan.premium {
            return None;
        }
        let price = match retry.cost() {
            1 => "1 credit".to_owned(),
            cost => format!("{cost} credits"),
        };
        Some(Self { modules: retry.modules(), price })
    }
}

/// Handles `POST /app/searches/{run_id}/stop`: stops the run, and redirects to its page.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn stop(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (id, account) = (visit.id("run_id")?, visit.caller()?.account.id);
    if !web.parts.runs.stop(id, account, &visit.origin()?)? {
        return Err(WebError::no_such_page());
    }
    Ok(Reply::Now(web.redirect(&format!("/app/searches/{id}"))))
}

/// Handles `POST /app/searches/{run_id}/retry` with `once`: starts a run of the modules that came to no conclusion, and
/// redirects to its page. A form that is sent several times starts only one.
///
/// # Errors
/// Returns 409 if there is nothing to ask again, 404 for an unknown run, 503 if the store is unavailable, and another
/// status if the search is refused.
pub(in crate::web) fn retry(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let found = find(web, &visit)?;
    let key = once_key(visit.form().get("once"));
    let key = key.ok_or_else(|| WebError::invalid("The form was incomplete. Nothing was charged."))?;
    let run = web.services().retry(visit.caller()?, &found, Some(key), visit.origin()?);
    match started(&visit, run)? {
        Ok(id) => Ok(Reply::Now(web.redirect(&format!("/app/searches/{id}")))),
        Err(refusal) if refusal.is_unconfirmed => Err(WebError::unavailable()),
        Err(refusal) => Err(WebError::new(refusal.status, "Not started", refusal.text)),
    }
}
