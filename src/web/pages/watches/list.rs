//! The list of watches, and the creation of one.

use std::sync::Arc;

use askama::Template;

use super::form::{WatchForm, refused};
use super::page::address;
use super::row::{WatchRow, repeated};
use crate::base::ids::{RunId, WatchId};
use crate::http::{Reply, Response};
use crate::model::credits::{PREMIUM_COST, STANDARD_COST};
use crate::model::watch::{Watch, WatchError};
use crate::web::error::WebError;
use crate::web::frame::{Frame, render_as};
use crate::web::notice::Notice;
use crate::web::pages::form_parts::FormOption;
use crate::web::pages::refusal::Refusal;
use crate::web::pages::run_row::kind;
use crate::web::pages::search_form::SearchForm;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The number of watches on a page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "watches.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    form: SearchForm,
    intervals: Vec<FormOption>,
    notify_on: Vec<FormOption>,
    webhooks: Vec<WebhookOption>,
    has_premium: bool,
    standard_cost: u64,
    premium_cost: u64,
    watches: Vec<WatchRow>,
    is_later_page: bool,
    /// The last watch of this page, if there are older ones.
    older: Option<WatchId>,
}

/// A webhook that can be chosen.
struct WebhookOption {
    id: String,
    url: String,
    is_chosen: bool,
}

/// Handles `GET /app/watches`: shows the watches, and a form with the search of the run that the parameter `run` names.
///
/// # Errors
/// Returns 404 for an unknown run, 409 if the modules of the run are not known yet, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let query = visit.query();
    let form = match query.get("run") {
        "" => WatchForm::of_search(SearchForm::fresh()?),
        id => {
            let id: RunId = id.parse().map_err(|_| WebError::no_such_page())?;
            let found = web.parts.runs.reader.find(id, visit.caller()?.account.id)?;
            WatchForm::of_run(web, &found.ok_or_else(WebError::no_such_page)?)?
        }
    };
    show(web, visit, 200, form).map(Reply::Now)
}

/// Handles `POST /app/watches`: creates a watch, and redirects to its page. A form that is sent several times creates only
/// one watch.
///
/// # Errors
/// Returns 503 if the store is unavailable. The form shows what else is wrong.
pub(in crate::web) fn create(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let form = WatchForm::read(&visit.form());
    match try_create(web, &visit, &form)? {
        Ok(watch) => Ok(Reply::Now(web.redirect_with_notice(&address(watch.id), Notice::WatchCreated))),
        Err(refusal) => {
            let status = refusal.status;
            show(web, visit, status, form.with(refusal)?).map(Reply::Now)
        }
    }
}

fn try_create(web: &Web, visit: &Visit, form: &WatchForm) -> Result<Result<Watch, Refusal>, WebError> {
    let new = match form.request(web, visit.caller()?) {
        Ok(new) => new,
        Err(refusal) => return Ok(Err(refusal)),
    };
    match web.parts.store.add_watch(&new, web.parts.clock.now(), &visit.origin()?) {
        Ok(watch) => Ok(Ok(watch)),
        Err(error @ (WatchError::TooMany | WatchError::UnknownWebhook | WatchError::Mismatch)) => {
            Ok(Err(refused(&error)))
        }
        Err(error) => Err(error.into()),
    }
}

fn show(web: &Web, visit: Visit, status: u16, form: WatchForm) -> Result<Response, WebError> {
    let (caller, store) = (visit.caller()?, &web.parts.store);
    let account = caller.account.id;
    let before: Option<WatchId> = visit.query().get("before").parse().ok();
    let mut found = store.watches(account, before, PAGE + 1)?;
    let has_older = found.len() > PAGE;
    found.truncate(PAGE);
    let activity = store.watch_activity(&found)?;
    let now = web.parts.clock.now();
    let older = found.last().filter(|_| has_older).map(|last| last.id);
    let row = |watch: Watch| WatchRow {
        activity: activity.get(&watch.id).copied().unwrap_or_default(),
        watch,
        now,
    };
    let webhooks = store.webhooks(account)?;
    let option = |id, url| WebhookOption { id: format!("{id}"), url, is_chosen: form.sends_to(id) };
    let page = Page {
        intervals: form.intervals(),
        notify_on: form.notify_on(),
        webhooks: webhooks.into_iter().map(|webhook| option(webhook.id, webhook.url)).collect(),
        form: form.search,
        has_premium: caller.plan.premium,
        standard_cost: STANDARD_COST,
        premium_cost: PREMIUM_COST,
        watches: found.into_iter().map(row).collect(),
        is_later_page: before.is_some(),
        older,
        frame: visit.frame,
    };
    Ok(render_as(status, &page))
}
