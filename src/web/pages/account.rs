//! The account page: plan, credits, sessions, password, and the data with its export and deletion.

use std::io::Write;
use std::sync::Arc;

use askama::Template;
use jiff::{Timestamp, ToSpan as _};

use crate::account::service::Caller;
use crate::account::sign_in::SignInError;
use crate::account::sign_in::password::{LEAST_CHARS, Password};
use crate::base::ids::SessionId;
use crate::http::{Reply, Response};
use crate::model::account::{CycleUse, Role};
use crate::model::credits::{Balance, Cycle};
use crate::model::sign_in::Session;
use crate::report::account::{log_failure, write_account};
use crate::web::cookies::{Cookie, Notice};
use crate::web::error::Shown;
use crate::web::show::browser_name;
use crate::web::{Answer, Frame, Visit, Web, WebError, render};

/// The maximum number of periods: a year.
const MOST_PERIODS: usize = 12;

#[derive(Template)]
#[template(path = "account.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    owner: Caller,
    balance: Balance,
    /// The periods with the credits used in each, the current one first.
    periods: Vec<(Cycle, u64)>,
    sessions: Vec<Session>,
    this_session: SessionId,
}

/// Handles `GET /app/account`: shows the account page.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Answer {
    let owner = visit.caller()?.clone();
    let uses = web.store.cycle_uses(owner.account.id)?;
    render(&Page {
        balance: web.accounts.balance(&owner)?,
        periods: periods(owner.account.anchor, web.clock.now(), &uses),
        sessions: web.sign_ins.sessions(owner.account.id)?,
        this_session: visit.session()?.id,
        owner,
        frame: visit.frame,
    })
}

/// Handles `POST /app/account/password` with `old`, `password` and `again`: changes the password. All other sessions
/// end.
///
/// # Errors
/// Returns 503 if the store is unavailable. The form itself shows other errors, with 422, or 429 after too
/// many wrong passwords.
pub(in crate::web) fn change_password(web: &Arc<Web>, visit: Visit) -> Answer {
    let (form, account) = (&visit.form, &visit.caller()?.account);
    if form.get("password") != form.get("again") {
        let error = WebError::field("password", "The two new passwords differ.");
        return visit.refuse(error, |visit| page(web, visit));
    }
    let (old, new) = (Password::new(form.get("old")), Password::new(form.get("password")));
    match web.sign_ins.change_password(account, &old, &new, &visit.client()) {
        Ok(opened) => {
            let notice = Notice::PasswordChanged.number();
            let cookies = [(Cookie::Notice, &*notice), (Cookie::Session, opened.token.expose())];
            web.redirect_with("/app/account", &cookies)
        }
        Err(error) => visit.refuse(error.into(), |visit| page(web, visit)),
    }
}

/// Handles `POST /app/account/sessions/{id}/revoke`: ends a session, which may be the current one.
///
/// # Errors
/// Returns 404 for a session that has ended or belongs to another account, 503 if the store is unavailable.
pub(in crate::web) fn end_session(web: &Arc<Web>, visit: Visit) -> Answer {
    let ((account, origin), id) = (visit.actor()?, visit.id("id")?);
    web.sign_ins.end(account, id, &origin)?;
    if id == visit.session()?.id {
        return sign_out(web, Notice::SignedOut);
    }
    web.redirect_with_notice("/app/account", Notice::SessionEnded)
}

/// Returns the redirect to the sign-in page that removes the session from the browser.
pub(super) fn sign_out(web: &Web, notice: Notice) -> Answer {
    web.redirect_with("/app/sign-in", &[(Cookie::Notice, &notice.number()), (Cookie::Session, "")])
}

/// Handles `POST /app/account/export`: sends everything that is stored about the account as JSON. If the export fails
/// before its end, the connection is closed, so that an incomplete document never looks complete.
///
/// # Errors
/// Returns 401 without a session.
pub(in crate::web) fn export(web: &Arc<Web>, visit: Visit) -> Answer {
    let (account, (_, by)) = (visit.caller()?.account.clone(), visit.actor()?);
    let head = Response::empty(200)
        .with_header("Content-Type", "application/json")
        .with_header("Content-Disposition", "attachment; filename=\"sightline-account.json\"");
    let (web, now) = (Arc::clone(web), web.clock.now());
    let write = move |out: &mut dyn Write| {
        let written = write_account(&web.store, &account, now, &by, out);
        written.inspect_err(|error| log_failure(error, "an account", &visit.request_id)).is_ok()
    };
    Ok(Reply::Stream(head, Box::new(write)))
}

/// Handles `POST /app/account/delete` with `password` and `sure`. Closes the account at once. Its data is removed in
/// the background.
///
/// # Errors
/// Returns 503 if the store is unavailable. The form itself shows other errors, with 422, or 429 after too
/// many wrong passwords.
pub(in crate::web) fn delete(web: &Arc<Web>, visit: Visit) -> Answer {
    let (account, (id, origin)) = (&visit.caller()?.account, visit.actor()?);
    let checked = match visit.form.get("sure") {
        "" => Err(WebError::field("delete", "Confirm that you are sure.")),
        _ => web.sign_ins.confirm(account, &Password::new(visit.form.get("password"))).map_err(|error| {
            match error {
                SignInError::Wrong => WebError::field("delete", "The password is wrong."),
                SignInError::TooMany(_) => WebError::from(error).at(Shown::Field("delete")),
                error => error.into(),
            }
        }),
    };
    if let Err(error) = checked {
        return visit.refuse(error, |visit| page(web, visit));
    }
    web.accounts.close_account(id, &origin)?;
    sign_out(web, Notice::AccountDeleted)
}

/// Returns the periods up to `now`, with the credits used in each, the current one first.
fn periods(anchor: Timestamp, now: Timestamp, uses: &[CycleUse]) -> Vec<(Cycle, u64)> {
    let before = |cycle: &Cycle| {
        let end = cycle.start.checked_sub(1.millisecond()).ok().filter(|_| cycle.start > anchor)?;
        Some(Cycle::at(anchor, end))
    };
    let used = |cycle: &Cycle| uses.iter().find(|it| it.cycle_start == cycle.start).map_or(0, |it| it.used);
    let periods = std::iter::successors(Some(Cycle::at(anchor, now)), before).take(MOST_PERIODS);
    periods.map(|cycle| (cycle, used(&cycle))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_begin_with_the_current_one_and_cover_a_year() {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let uses = [CycleUse { cycle_start: at("2026-01-31T00:00:00Z"), used: 50 }];
        let listed = |anchor, now| -> Vec<(String, u64)> {
            let periods = periods(at(anchor), at(now), &uses);
            periods.iter().map(|(cycle, used)| (cycle.start.to_string(), *used)).collect()
        };
        let two = listed("2026-01-31T00:00:00Z", "2026-03-15T00:00:00Z");
        assert_eq!(two, [("2026-02-28T00:00:00Z".into(), 0), ("2026-01-31T00:00:00Z".into(), 50)]);
        let year = listed("2020-01-01T00:00:00Z", "2026-06-15T00:00:00Z");
        assert_eq!(
            (year.len(), &*year[0].0, &*year[11].0),
            (12, "2026-06-01T00:00:00Z", "2025-07-01T00:00:00Z")
        );
    }
}
