//! The search page, and the start of a search.

use std::sync::Arc;

use askama::Template;
use log::warn;

use super::refusal::Refusal;
use super::run_row::RunRow;
use super::search_form::SearchForm;
use super::site_choice::CategoryGroup;
use crate::account::rate_limit::RateLimitError;
use crate::account::service::Caller;
use crate::base::ids::RunId;
use crate::http::{Reply, Response};
use crate::model::credits::{Balance, PREMIUM_COST, STANDARD_COST};
use crate::model::page::ListFilter;
use crate::model::quota::Policy;
use crate::model::search::Search;
use crate::runs::service::Found;
use crate::service::refusal::{self as service, Code};
use crate::web::error::WebError;
use crate::web::frame::{Frame, render_as};
use crate::web::service::Web;
use crate::web::show::Moment;
use crate::web::visit::Visit;

/// The number of recent searches below the form.
const RECENT: usize = 5;

#[derive(Template)]
#[template(path = "search.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    form: SearchForm,
    /// The categories that can be chosen, by type.
    categories: Vec<CategoryGroup>,
    premium: Premium,
    standard_cost: u64,
    premium_cost: u64,
    /// The price of the search in the form.
    price: u64,
    credits: String,
    runs: Vec<RunRow>,
}

/// The page for a search whose start could not be confirmed. It offers the same form again.
#[derive(Template)]
#[template(path = "search-again.html", config = "src/web/askama.toml")]
struct RetryPage {
    frame: Frame,
    form: SearchForm,
    request_id: String,
}

/// Facts about premium searches.
struct Premium {
    is_allowed: bool,
    is_available: bool,
    /// The number of modules that only premium searches use.
    modules: usize,
    plan: String,
    /// The plans that include premium searches.
    plans: String,
}

/// Handles `GET /app?query=…&type=…`: shows the form, with the query and the type of the address. It starts nothing.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let form = SearchForm::of_address(&visit.query())?;
    Ok(Reply::Now(show(web, visit, 200, form)?))
}

fn show(web: &Web, visit: Visit, status: u16, form: SearchForm) -> Result<Response, WebError> {
    let caller = visit.caller()?;
    let parts = &web.parts;
    let balance = parts.accounts.balance(caller)?;
    let recent = parts.runs.reader.page(caller.account.id, &ListFilter::default(), RECENT)?;
    let now = parts.clock.now();
    let page = Page {
        price: form.price(caller.plan.premium),
        categories: form.sites.groups(&parts.runs.catalog()),
        form,
        premium: premium(web, caller),
        standard_cost: STANDARD_COST,
        premium_cost: PREMIUM_COST,
        credits: credits_left(&balance),
        runs: recent.runs.iter().map(|run| RunRow::new(run, now)).collect(),
        frame: visit.frame,
    };
    Ok(render_as(status, &page))
}

fn premium(web: &Web, caller: &Caller) -> Premium {
    let Web { parts, .. } = web;
    Premium {
        is_allowed: caller.plan.premium,
        is_available: parts.runs.can_browse(),
        modules: parts.runs.module_counts().premium,
        plan: caller.plan.name.clone(),
        plans: parts.accounts.plans().names_where(|plan| plan.premium).join(", "),
    }
}

/// Returns a sentence about the remaining credits.
pub(super) fn credits_left(balance: &Balance) -> String {
    let (used, end) = (balance.used, Moment(balance.cycle.end).day());
    match (balance.allowed, balance.remaining()) {
        (Some(allowed), Some(1)) => format!("1 of {allowed} credits is left until {end}."),
        (Some(allowed), Some(left)) => format!("{left} of {allowed} credits are left until {end}."),
        _ => format!("Your plan has no cap on credits; {used} used in the cycle that ends on {end}."),
    }
}

/// Handles `POST /app/searches`: charges and starts a search, and redirects to its page. A form that is sent several
/// times starts only one search. If the search is refused, the form shows the reason and keeps its input.
///
/// # Errors
/// Returns 401 without a session, 503 if the store is unavailable.
pub(in crate::web) fn start(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let catalog = web.parts.runs.catalog();
    let form = SearchForm::read(&visit.form()).with_address_read(catalog.profiles());
    begin(web, visit, form)
}

/// Starts the search of a form, or shows the form again with the reason why not.
///
/// # Errors
/// Returns the errors of [`start`].
pub(super) fn begin(web: &Arc<Web>, mut visit: Visit, form: SearchForm) -> Result<Reply, WebError> {
    if form.offer.is_some() {
        // Nothing is charged for a guess.
        visit.frame.here = "/app";
        return Ok(Reply::Now(show(web, visit, 200, form)?));
    }
    match start_run(web, &visit, &form)? {
        Err(Refusal { is_unconfirmed: true, status, retry_after, .. }) => {
            let request_id = visit.request_id.as_str().to_owned();
            let response = render_as(status, &RetryPage { frame: visit.frame, form, request_id });
            Ok(Reply::Now(response.with_header("Retry-After", retry_after.unwrap_or(1).to_string())))
        }
        Ok(id) => Ok(Reply::Now(web.redirect(&format!("/app/searches/{id}")))),
        Err(refusal) => {
            let (status, retry_after) = (refusal.status, refusal.retry_after);
            // In the menu, the current entry is the search page.
            visit.frame.here = "/app";
            let mut response = show(web, visit, status, form.with(refusal)?)?;
            if let Some(wait) = retry_after {
                response = response.with_header("Retry-After", wait.to_string());
            }
            Ok(Reply::Now(response))
        }
    }
}

/// Counts, checks and starts the search of a form.
fn start_run(web: &Web, visit: &Visit, form: &SearchForm) -> Result<Result<RunId, Refusal>, WebError> {
    let (caller, services) = (visit.caller()?, web.services());
    if let Some(refusal) = count(web, caller)? {
        return Ok(Err(refusal));
    }
    let Some(once) = form.once() else { return Ok(Err(Refusal::form_incomplete())) };
    let query = match form.query() {
        Ok(query) => query,
        Err(error) => return Ok(Err(Refusal::of(&error.into()))),
    };
    let choice = form.choice(&query, &web.parts.runs.catalog());
    let search = Search {
        premium: form.asks_premium(&query),
        follow: form.follow_order(&choice),
        choice,
        options: form.options(),
        purpose: Some(form.purpose.clone()).filter(|purpose| !purpose.is_empty()),
        ..Search::plain(&query)
    };
    let idempotency = services.idempotency(once, form.fingerprint(&query));
    let (checked, origin) = (services.check(caller, &query, &search, true), visit.origin()?);
    started(visit, checked.and_then(|()| services.start(caller, search, Some(idempotency), origin)))
}

/// Counts the search for the rate limit, which the API shares.
fn count(web: &Web, caller: &Caller) -> Result<Option<Refusal>, WebError> {
    match web.parts.limiter.count(caller.account.id, &[Policy::Search]) {
        Ok(_) => Ok(None),
        Err(RateLimitError::UsedUp(state)) => Ok(Some(Refusal::too_many(state.reset_secs))),
        Err(RateLimitError::Storage(error)) => Err(error.into()),
    }
}

/// Returns the run that a request has started, or the refusal for its sender.
///
/// # Errors
/// Returns 401 for an account that is being deleted, 404 for a watch that was deleted, 503 if the store is unavailable.
pub(super) fn started(
    visit: &Visit,
    started: Result<Found, service::Refusal>,
) -> Result<Result<RunId, Refusal>, WebError> {
    let refusal = match started {
        Ok(run) => return Ok(Ok(run.id())),
        Err(refusal) => refusal,
    };
    match (refusal.code(), refusal.cause()) {
        (Code::Unavailable, Some(cause)) => {
            warn!(request_id = visit.request_id.as_str(); "cannot confirm whether a search was started: {cause}");
            Ok(Err(Refusal::unconfirmed()))
        }
        (Code::InvalidApiKey | Code::NotFound | Code::Unavailable | Code::InternalError, _) => {
            Err(refusal.into())
        }
        _ => Ok(Err(Refusal::of(&refusal))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::credits::Cycle;

    #[test]
    fn remaining_credits_are_a_sentence() {
        let cycle = Cycle {
            start: "2026-11-01T00:00:00Z".parse().unwrap(),
            end: "2026-12-01T00:00:00Z".parse().unwrap(),
        };
        for (used, allowed, want) in [
            (3, Some(30), "27 of 30 credits are left until 1\u{a0}December\u{a0}2026."),
            (29, Some(30), "1 of 30 credits is left until 1\u{a0}December\u{a0}2026."),
            (40, Some(30), "0 of 30 credits are left until 1\u{a0}December\u{a0}2026."),
            (
                3,
                None,
                "Your plan has no cap on credits; 3 used in the cycle that ends on 1\u{a0}December\u{a0}2026.",
            ),
        ] {
            assert_eq!(credits_left(&Balance { used, allowed, cycle }), want);
        }
    }
}
