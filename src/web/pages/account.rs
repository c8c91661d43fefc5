//! The account page: plan, credits, sessions, password, and the data with its export and deletion.

use std::sync::Arc;

use askama::Template;
use jiff::{Timestamp, ToSpan as _};

use crate::account::sign_in::SignInError;
use crate::account::sign_in::password::{LEAST_CHARS, Password};
use crate::base::ids::SessionId;
use crate::http::{Reply, Response};
use crate::model::account::{CycleUse, Role};
use crate::model::credits::Cycle;
use crate::model::sign_in::Session;
use crate::report::account::write_account;
use crate::web::error::{WebError, too_many, whole_secs};
use crate::web::frame::{Frame, render_as};
use crate::web::notice::Notice;
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
    sessions: Vec<Session>,
    this_session: SessionId,
    least_chars: usize,
    wrong: Option<(FormName, String)>,
}

/// The forms of this page that ask for a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FormName {
    Password,
    Deletion,
}

/// Handles `GET /app/account`: shows the account page.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    show(web, visit, 200, None).map(Reply::Now)
}

/// Returns the page with the error of a form.
fn show(
    web: &Web,
    visit: Visit,
    status: u16,
    wrong: Option<(FormName, String)>,
) -> Result<Response, WebError> {
    let caller = visit.caller()?;
    let (account, plan) = (&caller.account, &caller.plan);
    let balance = web.parts.accounts.balance(caller)?;
    let uses = web.parts.store.cycle_uses(account.id)?;
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
        sessions: web.parts.sign_ins.sessions(account.id)?,
        this_session: visit.session()?.id,
        least_chars: LEAST_CHARS,
        wrong,
        frame: visit.frame,
    };
    Ok(render_as(status, &page))
}

/// Handles `POST /app/account/password` with `old`, `password` and `again`: changes the password. All other sessions
/// end.
///
/// # Errors
/// Returns 503 if the store is unavailable. The form itself shows other errors, with 422, or 429 after too
/// many wrong passwords.
pub(in crate::web) fn change_password(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    Ok(web.later(visit, try_change))
}

fn try_change(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let form = visit.form();
    if form.get("password") != form.get("again") {
        return refuse(web, visit, FormName::Password, "The two new passwords differ.".to_owned());
    }
    let (old, new) = (Password::new(form.get("old")), Password::new(form.get("password")));
    let account = &visit.caller()?.account;
    match web.parts.sign_ins.change_password(account, &old, &new, &visit.place()) {
        Ok(opened) => {
            let response = web.redirect_with_notice("/app/account", Notice::PasswordChanged);
            Ok(Reply::Now(web.with_session(response, &opened)))
        }
        Err(error) => wrong_password(web, visit, FormName::Password, error),
    }
}

/// Handles `POST /app/account/sessions/{id}/revoke`: ends a session, which may be the current one.
///
/// # Errors
/// Returns 404 for a session that has ended or belongs to another account, 503 if the store is unavailable.
pub(in crate::web) fn end_session(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let id: SessionId = visit.id("id")?;
    let session = visit.session()?;
    web.parts.sign_ins.end(session.account, id, &visit.origin()?)?;
    if id == session.id {
        return Ok(Reply::Now(
            web.without_session(web.redirect_with_notice("/app/sign-in", Notice::SignedOut)),
        ));
    }
    Ok(Reply::Now(web.redirect_with_notice("/app/account", Notice::SessionEnded)))
}

/// Handles `POST /app/account/export`: sends everything that is stored about the account as JSON. If the export fails
/// before its end, the connection is closed, so that an incomplete document never looks complete.
///
/// # Errors
/// Returns 401 without a session.
pub(in crate::web) fn export(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (account, by) = (visit.caller()?.account.clone(), visit.origin()?);
    let head = Response::empty(200)
        .with_header("Content-Type", "application/json")
        .with_header("Content-Disposition", "attachment; filename=\"sightline-account.json\"");
    let (web, now) = (Arc::clone(web), web.parts.clock.now());
    Ok(Reply::file(head, move |out| {
        let written = write_account(&web.parts.store, &account, now, &by, out);
        written.inspect_err(|error| error.log("an account", &visit.request_id)).is_ok()
    }))
}

/// Handles `POST /app/account/delete` with `password` and `sure`. Closes the account at once. Its data is removed in
/// the background.
///
/// # Errors
/// Returns 503 if the store is unavailable. The form itself shows other errors, with 422, or 429 after too
/// many wrong passwords.
pub(in crate::web) fn delete(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    Ok(web.later(visit, try_delete))
}

fn try_delete(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let form = visit.form();
    if !form.is_checked("sure") {
        return refuse(web, visit, FormName::Deletion, "Confirm that you are sure.".to_owned());
    }
    let account = &visit.caller()?.account;
    if let Err(error) = web.parts.sign_ins.confirm(account, &Password::new(form.get("password"))) {
        return wrong_password(web, visit, FormName::Deletion, error);
    }
    web.parts.accounts.close_account(account.id, &visit.origin()?)?;
    let answer = web.redirect_with_notice("/app/sign-in", Notice::AccountDeleted);
    Ok(Reply::Now(web.without_session(answer)))
}

fn refuse(web: &Web, visit: Visit, form: FormName, why: String) -> Result<Reply, WebError> {
    show(web, visit, 422, Some((form, why))).map(Reply::Now)
}

/// Returns the page with the error of a form that asks for a password.
fn wrong_password(web: &Web, visit: Visit, form: FormName, error: SignInError) -> Result<Reply, WebError> {
    match error {
        SignInError::Wrong => {
            let word = if form == FormName::Password { "The current password" } else { "The password" };
            refuse(web, visit, form, format!("{word} is wrong."))
        }
        SignInError::Weak(why) => refuse(web, visit, form, why.to_string()),
        SignInError::TooMany(wait) => {
            let page = show(web, visit, 429, Some((form, too_many(wait))))?;
            Ok(Reply::Now(page.with_header("Retry-After", whole_secs(wait).to_string())))
        }
        error => Err(error.into()),
    }
}

impl Page {
    fn wrong(&self, form: FormName) -> Option<&str> {
        self.wrong.as_ref().filter(|(name, _)| *name == form).map(|(_, why)| why.as_str())
    }
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
