//! The data of an account: its export and its deletion.

use std::sync::Arc;

use super::account::{FormErrors, show, show_too_many};
use crate::account::sign_in::SignInError;
use crate::account::sign_in::password::Password;
use crate::http::{Reply, Response};
use crate::report::account::write_account;
use crate::web::error::{WebError, too_many};
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::visit::Visit;

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
        return refuse(web, visit, "Confirm that you are sure.".to_owned());
    }
    let account = &visit.caller()?.account;
    match web.parts.sign_ins.confirm(account, &Password::new(form.get("password"))) {
        Ok(()) => {}
        Err(SignInError::Wrong) => return refuse(web, visit, "The password is wrong.".to_owned()),
        Err(SignInError::TooMany(wait)) => {
            let wrong = FormErrors { deletion: Some(too_many(wait)), ..FormErrors::default() };
            return show_too_many(web, visit, wait, wrong).map(Reply::Now);
        }
        Err(error) => return Err(error.into()),
    }
    web.parts.accounts.close_account(account.id, &visit.origin()?)?;
    let answer = web.redirect_with_notice("/app/sign-in", Notice::AccountDeleted);
    Ok(Reply::Now(web.without_session(answer)))
}

fn refuse(web: &Web, visit: Visit, why: String) -> Result<Reply, WebError> {
    let wrong = FormErrors { deletion: Some(why), ..FormErrors::default() };
    show(web, visit, 422, wrong).map(Reply::Now)
}
