//! The account's password and sessions.

use std::sync::Arc;

use super::account::{Wrong, show};
use crate::account::sign_in::SignInError;
use crate::account::sign_in::password::Password;
use crate::base::ids::SessionId;
use crate::http::Reply;
use crate::web::error::{WebError, too_many};
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// `POST /app/account/password`: `old`, `password`, `again`. All other sessions end.
///
/// # Errors
/// 503. What is wrong with the form is said in it.
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
            let response = web.redirect_saying("/app/account", Notice::PasswordChanged);
            Ok(Reply::Now(web.with_session(response, &opened)))
        }
        Err(SignInError::Wrong) => refuse(web, visit, "The present password is wrong.".to_owned()),
        Err(SignInError::Weak(why)) => refuse(web, visit, why.to_string()),
        Err(SignInError::TooMany(wait)) => refuse(web, visit, too_many(wait)),
        Err(error) => Err(error.into()),
    }
}

fn refuse(web: &Web, visit: Visit, why: String) -> Result<Reply, WebError> {
    let wrong = Wrong { password: Some(why), ..Wrong::default() };
    show(web, visit, 422, wrong).map(Reply::Now)
}

/// `POST /app/account/sessions/{id}/revoke`: signs a browser out; this one too.
///
/// # Errors
/// 404 for a session that is not this account's, or has ended; 503.
pub(in crate::web) fn end_session(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let id: Option<SessionId> = visit.segment().and_then(|id| id.parse().ok());
    let id = id.ok_or_else(WebError::no_such_page)?;
    let session = visit.session()?;
    web.parts.sign_ins.end(session.account, id, &visit.origin()?)?;
    if id == session.id {
        return Ok(Reply::Now(web.without_session(web.redirect_saying("/app/sign-in", Notice::SignedOut))));
    }
    Ok(Reply::Now(web.redirect_saying("/app/account", Notice::SessionEnded)))
}
