//! The account page: plan, credits, sessions, password, data.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use jiff::{Timestamp, ToSpan as _};

use crate::account::sign_in::password::LEAST_CHARS;
use crate::http::{Reply, Response};
use crate::model::account::{CycleUse, Role};
use crate::model::credits::Cycle;
use crate::model::sign_in::Session;
use crate::web::error::{WebError, whole_secs};
use crate::web::frame::{Frame, render_as};
use crate::web::service::Web;
use crate::web::show::{Moment, browser_name};
use crate::web::visit::Visit;

/// The maximum number of periods: a year.
const MOST_PERIODS: usize = 12;

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
    /// The beginning and the end of each period with the credits used in it, the current one first.
    periods: Vec<(Moment, Moment, u64)>,
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
        periods: periods(account.anchor, web.parts.clock.now(), &uses),
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

/// Returns the beginning and the end of the periods up to `now`, with the credits used in each, the current one first.
fn periods(anchor: Timestamp, now: Timestamp, uses: &[CycleUse]) -> Vec<(Moment, Moment, u64)> {
    let before = |cycle: &Cycle| {
        let end = cycle.start.checked_sub(1.millisecond()).ok().filter(|_| cycle.start > anchor)?;
        Some(Cycle::at(anchor, end))
    };
    let row = |cycle: Cycle| {
        let used = uses.iter().find(|known| known.cycle_start == cycle.start).map_or(0, |known| known.used);
        (Moment(cycle.start), Moment(cycle.end), used)
    };
    std::iter::successors(Some(Cycle::at(anchor, now)), before).take(MOST_PERIODS).map(row).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_begin_with_the_current_one_and_cover_a_year() {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let uses = [CycleUse { cycle_start: at("2026-01-31T00:00:00Z"), used: 50 }];
        let listed = |anchor, now| -> Vec<(String, u64)> {
            periods(at(anchor), at(now), &uses).iter().map(|(start, _, used)| (start.iso(), *used)).collect()
        };
        let two = listed("2026-01-31T00:00:00Z", "2026-03-15T00:00:00Z");
        assert_eq!(two, [("2026-02-28T00:00:00.000Z".into(), 0), ("2026-01-31T00:00:00.000Z".into(), 50)]);
        let year = listed("2020-01-01T00:00:00Z", "2026-06-15T00:00:00Z");
        assert_eq!(
            (year.len(), &*year[0].0, &*year[11].0),
            (12, "2026-06-01T00:00:00.000Z", "2025-07-01T00:00:00.000Z")
        );
    }
}
