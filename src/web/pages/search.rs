//! The search page, and the start of a search.

use std::sync::Arc;

use askama::Template;
use log::warn;

use super::run_row::RunRow;
use super::search_form::{SearchForm, Trouble};
use crate::account::credits::{Balance, PREMIUM_COST, STANDARD_COST};
use crate::account::rate_limit::{Policy, Uncounted};
use crate::account::service::Caller;
use crate::base::ids::RunId;
use crate::http::{Reply, Response};
use crate::modules::query::Query;
use crate::runs::journal::{Idempotency, ListFilter};
use crate::runs::service::{Order, OrderError, Receipt, idempotency_valid_since};
use crate::web::error::WebError;
use crate::web::frame::{Frame, render_as};
use crate::web::service::Web;
use crate::web::show::Moment;
use crate::web::visit::Visit;

/// Searches that the page shows below its form.
const RECENT: usize = 5;

#[derive(Template)]
#[template(path = "search.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    form: SearchForm,
    premium: Premium,
    standard_cost: u64,
    premium_cost: u64,
    /// Of the form as it stands.
    price: u64,
    credits: String,
    runs: Vec<RunRow>,
}

/// It is not known whether a search was taken: the same form, to be sent again.
#[derive(Template)]
#[template(path = "search-again.html", config = "src/web/askama.toml")]
struct AgainPage {
    frame: Frame,
    form: SearchForm,
    request_id: String,
}

/// What is to be known of premium searches.
struct Premium {
    is_allowed: bool,
    is_available: bool,
    /// Modules that a premium search asks beyond the others.
    modules: usize,
    plan: String,
    /// Plans that have it.
    plans: String,
}

/// `GET /app`: the form.
///
/// # Errors
/// 503.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let form = SearchForm::fresh();
    Ok(Reply::Now(show(web, visit, 200, form?)?))
}

fn show(web: &Web, visit: Visit, status: u16, form: SearchForm) -> Result<Response, WebError> {
    let caller = visit.caller()?;
    let parts = &web.parts;
    let balance = parts.accounts.balance(caller)?;
    let recent = parts.runs.page(caller.account.id, &ListFilter::default(), RECENT)?;
    let now = parts.clock.now();
    let page = Page {
        price: form.price(caller.plan.premium),
        form,
        premium: premium(web, caller),
        standard_cost: STANDARD_COST,
        premium_cost: PREMIUM_COST,
        credits: credits(&balance),
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

/// What is left, as a sentence.
fn credits(balance: &Balance) -> String {
    let (used, end) = (balance.used, Moment(balance.cycle.end).day());
    match (balance.allowed, balance.remaining()) {
        (Some(allowed), Some(1)) => format!("1 of {allowed} credits is left until {end}."),
        (Some(allowed), Some(left)) => format!("{left} of {allowed} credits are left until {end}."),
        _ => format!("Your plan has no cap on credits; {used} used in the cycle that ends on {end}."),
    }
}

/// `POST /app/searches`: charges and starts a search, once for each form however often it is sent, and leads to its
/// page. What stands in its way is said above the form, which keeps what was typed.
///
/// # Errors
/// 401, 503.
pub(in crate::web) fn start(web: &Arc<Web>, mut visit: Visit) -> Result<Reply, WebError> {
    let form = SearchForm::read(&visit.form());
    match order(web, &visit, &form)? {
        Err(Trouble { is_in_doubt: true, status, retry_after, .. }) => {
            let request_id = visit.request_id.as_str().to_owned();
            let response = render_as(status, &AgainPage { frame: visit.frame, form, request_id });
            Ok(Reply::Now(response.with_header("Retry-After", retry_after.unwrap_or(1).to_string())))
        }
        Ok(id) => Ok(Reply::Now(web.redirect(&format!("/app/searches/{id}")))),
        Err(trouble) => {
            let (status, retry_after) = (trouble.status, trouble.retry_after);
            // To the menu it is the search page.
            visit.frame.here = "/app";
            let mut response = show(web, visit, status, form.with(trouble)?)?;
            if let Some(wait) = retry_after {
                response = response.with_header("Retry-After", wait.to_string());
            }
            Ok(Reply::Now(response))
        }
    }
}

/// In the order of the API: what is never searched first, then what the plan has, then what it costs.
fn order(web: &Web, visit: &Visit, form: &SearchForm) -> Result<Result<RunId, Trouble>, WebError> {
    let (caller, parts) = (visit.caller()?, &web.parts);
    if let Some(trouble) = count(web, caller)? {
        return Ok(Err(trouble));
    }
    let Some(once) = form.once() else { return Ok(Err(Trouble::form_over())) };
    let query = match form.query() {
        Ok(query) => query,
        Err(error) => return Ok(Err(Trouble::query(&error))),
    };
    if parts.runs.is_suppressed(&query) {
        return Ok(Err(Trouble::suppressed()));
    }
    let premium = form.asks_premium(&query);
    if premium && !caller.plan.premium {
        let plans = parts.accounts.plans().names_where(|plan| plan.premium);
        return Ok(Err(Trouble::plan_required(&caller.plan.name, &plans)));
    }
    let idempotency = Idempotency {
        key: once,
        body_hash: form.fingerprint(&query),
        valid_since: idempotency_valid_since(parts.clock.now()),
    };
    place(web, visit, form, query, idempotency)
}

/// Searches count for the account's limit whichever way they come.
fn count(web: &Web, caller: &Caller) -> Result<Option<Trouble>, WebError> {
    match web.parts.limiter.count(caller.account.id, &[Policy::Search], web.parts.clock.now()) {
        Ok(_) => Ok(None),
        Err(Uncounted::UsedUp(standing)) => Ok(Some(Trouble::too_many(standing.reset_secs))),
        Err(Uncounted::UnknownAccount) => Err(WebError::not_signed_in()),
        Err(Uncounted::Storage(error)) => Err(error.into()),
    }
}

fn place(
    web: &Web,
    visit: &Visit,
    form: &SearchForm,
    query: Query,
    idempotency: Idempotency,
) -> Result<Result<RunId, Trouble>, WebError> {
    let (caller, parts) = (visit.caller()?, &web.parts);
    let premium = form.asks_premium(&query);
    let cost = if premium { PREMIUM_COST } else { STANDARD_COST };
    let charge = parts.accounts.charge(caller, cost);
    let order = Order {
        account: caller.account.id,
        query,
        premium,
        choice: form.choice(),
        charge,
        idempotency: Some(idempotency),
        origin: visit.origin()?,
    };
    Ok(match parts.runs.start(order) {
        Ok(Receipt::Started(run)) => Ok(run.id()),
        Ok(Receipt::Repeated(id)) => Ok(id),
        Ok(Receipt::Mismatch) => Err(Trouble::form_used()),
        Ok(Receipt::UnknownAccount) => return Err(WebError::not_signed_in()),
        Ok(Receipt::InsufficientCredits { used }) => Err(Trouble::insufficient_credits(&charge, used)),
        Err(OrderError::Suppressed) => Err(Trouble::suppressed()),
        Err(OrderError::Overloaded) => Err(Trouble::overloaded()),
        Err(OrderError::Choice(error)) => Err(Trouble::choice(&error)),
        Err(OrderError::NoBrowser) => Err(Trouble::no_browser()),
        Err(OrderError::Storage(error)) if error.is_unavailable() => {
            warn!(request_id = visit.request_id.as_str(); "it is not known whether a search was taken: {error}");
            Err(Trouble::in_doubt())
        }
        Err(OrderError::Storage(error)) => return Err(error.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::credits::Cycle;

    #[test]
    fn what_is_left_is_a_sentence() {
        let cycle = Cycle {
            start: "2026-11-01T00:00:00Z".parse().unwrap(),
            end: "2026-12-01T00:00:00Z".parse().unwrap(),
        };
        for (used, allowed, want) in [
            (3, Some(30), "27 of 30 credits are left until 1 December 2026."),
            (29, Some(30), "1 of 30 credits is left until 1 December 2026."),
            (40, Some(30), "0 of 30 credits are left until 1 December 2026."),
            (3, None, "Your plan has no cap on credits; 3 used in the cycle that ends on 1 December 2026."),
        ] {
            assert_eq!(credits(&Balance { used, allowed, cycle }), want);
        }
    }
}
