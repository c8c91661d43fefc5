//! The account page: plan, credits, sessions, password, data.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;

use super::chart::Chart;
use crate::account::sign_in::password::LEAST_CHARS;
use crate::http::{Reply, Response};
use crate::model::account::Role;
use crate::model::sign_in::Session;
use crate::web::error::{WebError, whole_secs};
use crate::web::frame::{Frame, render_as};
use crate::web::service::Web;
use crate::web::show::{Moment, browser_name};
use crate::web::visit::Visit;

#[derive(Template)]
#[template(path = "account.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    email: String,
    role: &'static str,
    is_operator: bool,
    plan: String,
    has_api: bool,
    has_premium: bool,
    since: Moment,
    used: u64,
    /// The credits of a cycle, or `None` if there is no limit.
    allowed: Option<u64>,
    remaining: Option<u64>,
    period_end: Moment,
    chart: Chart,
    sessions: Vec<Row>,
    least_chars: usize,
    wrong: FormErrors,
}

struct Row {
    id: String,
    browser: String,
    user_agent: String,
    address: String,
    began: Moment,
    seen: Moment,
    is_this: bool,
}

/// The errors in the forms of this page.
#[derive(Debug, Default)]
pub(super) struct FormErrors {
    /// The error in the password form.
    pub(super) password: Option<String>,
    /// The error in the deletion form.
    pub(super) deletion: Option<String>,
}

/// Handles `GET /app/account`: shows the account page.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    show(web, visit, 200, FormErrors::default()).map(Reply::Now)
}

/// Returns the page with the errors of a form.
pub(super) fn show(web: &Web, visit: Visit, status: u16, wrong: FormErrors) -> Result<Response, WebError> {
    let caller = visit.caller()?;
    let (account, plan) = (&caller.account, &caller.plan);
    let balance = web.parts.accounts.balance(caller)?;
    let uses = web.parts.store.cycle_uses(account.id)?;
    let this = visit.session()?.id;
    let sessions = web.parts.sign_ins.sessions(account.id)?;
    let page = Page {
        email: account.email.clone(),
        role: account.role.as_str(),
        is_operator: account.role == Role::Operator,
        plan: plan.name.clone(),
        has_api: plan.api,
        has_premium: plan.premium,
        since: Moment(account.created_at),
        used: balance.used,
        allowed: balance.allowed,
        remaining: balance.remaining(),
        period_end: Moment(balance.cycle.end),
        chart: Chart::new(account.anchor, web.parts.clock.now(), &uses, plan.credits),
        sessions: sessions.iter().map(|session| row(session, session.id == this)).collect(),
        least_chars: LEAST_CHARS,
        wrong,
        frame: visit.frame,
    };
    Ok(render_as(status, &page))
}

/// Returns the page with status 429, after too many wrong passwords.
pub(super) fn show_too_many(
    web: &Web,
    visit: Visit,
    wait: Duration,
    wrong: FormErrors,
) -> Result<Response, WebError> {
    let page = show(web, visit, 429, wrong)?;
    Ok(page.with_header("Retry-After", whole_secs(wait).to_string()))
}

fn row(session: &Session, is_this: bool) -> Row {
    Row {
        id: session.id.to_string(),
        browser: browser_name(&session.user_agent),
        user_agent: session.user_agent.clone(),
        address: session.address.clone(),
        began: Moment(session.created_at),
        seen: Moment(session.last_seen_at),
        is_this,
    }
}
