//! The page of a set-up link, where the owner chooses a password and is signed in.

use std::sync::Arc;

use askama::Template;

use crate::account::sign_in::SignInError;
use crate::account::sign_in::password::{LEAST_CHARS, Password};
use crate::account::sign_in::token::Token;
use crate::http::{Reply, Response};
use crate::web::error::WebError;
use crate::web::frame::{Frame, render_as};
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::visit::Visit;

#[derive(Template)]
#[template(path = "set-up.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    /// The token of the link, which is part of the form's address.
    token: String,
    email: String,
    least_chars: usize,
    wrong: Option<String>,
}

/// Handles `GET /app/set-up/{token}`: shows the account and the form. Viewing the page does not use up the link.
///
/// # Errors
/// Returns 404 for an invalid link.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let token = token_of(&visit)?;
    show(web, visit.frame, &token, 200, None).map(Reply::Now)
}

/// Handles `POST /app/set-up/{token}` with `password` and `again`: sets the password and signs in.
///
/// # Errors
/// Returns the same errors as [`page`], and 503 if the store is unavailable.
pub(in crate::web) fn set_up(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    Ok(web.later(visit, try_it))
}

fn try_it(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (token, form) = (token_of(&visit)?, visit.form());
    if form.get("password") != form.get("again") {
        let text = "The two passwords differ.".to_owned();
        return show(web, visit.frame, &token, 422, Some(text)).map(Reply::Now);
    }
    match web.parts.sign_ins.use_link(&token, &Password::new(form.get("password")), &visit.place()) {
        Ok(opened) => {
            let response = web.redirect_with_notice("/app", Notice::PasswordSet);
            Ok(Reply::Now(web.with_session(response, &opened)))
        }
        Err(SignInError::Weak(why)) => {
            show(web, visit.frame, &token, 422, Some(why.to_string())).map(Reply::Now)
        }
        Err(error) => Err(link_error(error)),
    }
}

fn show(
    web: &Web,
    frame: Frame,
    token: &Token,
    status: u16,
    wrong: Option<String>,
) -> Result<Response, WebError> {
    let account = web.parts.sign_ins.link_account(token).map_err(link_error)?;
    let token = token.expose().to_owned();
    let page = Page { frame, token, email: account.email, least_chars: LEAST_CHARS, wrong };
    Ok(render_as(status, &page))
}

fn token_of(visit: &Visit) -> Result<Token, WebError> {
    visit.segment("token").and_then(Token::parse).ok_or_else(|| link_error(SignInError::LinkOver))
}

fn link_error(error: SignInError) -> WebError {
    match error {
        SignInError::LinkOver => {
            let text = "It was already used, replaced by a newer one, or is older than three days. \
                        Ask whoever runs this service for a new one.";
            WebError::new(404, "This link is no longer valid", text)
        }
        error => error.into(),
    }
}
