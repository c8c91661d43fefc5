//! The password and the sessions of an account.

use std::sync::Arc;

use super::account::{FormErrors, show, show_too_many};
use crate::account::sign_in::SignInError;
use crate::account::sign_in::password::Password;
use crate::base::ids::SessionId;
use crate::http::Reply;
use crate::web::error::{WebError, too_many};
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::visit::Visit;

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
        return refuse(web, visit, "The two new passwords differ.".to_owned());
    }
    let (old, new) = (Password::new(form.get("old")), Password::new(form.get("password")));
    let account = &visit.caller()?.account;
    match web.parts.sign_ins.change_password(account, &old, &new, &visit.place()) {
        Ok(opened) => {
            let response = web.redirect_with_notice("/app/account", Notice::PasswordChanged);
            Ok(Reply::Now(web.with_session(response, &opened)))
        }
        Err(SignInError::Wrong) => refuse(web, visit, "The current password is wrong.".to_owned()),
        Err(SignInError::Weak(why)) => refuse(web, visit, why.to_string()),
        Err(SignInError::TooMany(wait)) => {
            let wrong = FormErrors { password: Some(too_many(wait)), ..FormErrors::default() };
            show_too_many(web, visit, wait, wrong).map(Reply::Now)
        }
        Err(error) => Err(error.into()),
    }
}

fn refuse(web: &Web, visit: Visit, why: String) -> Result<Reply, WebError> {
    let wrong = FormErrors { password: Some(why), ..FormErrors::default() };
    show(web, visit, 422, wrong).map(Reply::Now)
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
