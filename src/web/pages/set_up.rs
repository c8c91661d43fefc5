//! The page behind a set-up link: a password, and its owner is signed in.

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
    /// The link's token, which is the form's address.
    token: String,
    email: String,
    least_chars: usize,
    wrong: Option<String>,
}

/// `GET /app/set-up/{token}`: whose password it sets, and the form. The link is not used up by looking at it.
///
/// # Errors
/// 404 for a link that is over.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let token = token_of(&visit)?;
    show(web, visit.frame, &token, 200, None).map(Reply::Now)
}

/// `POST /app/set-up/{token}`: `password`, `again`.
///
/// # Errors
/// As [`page`], and 503.
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
            let response = web.redirect_saying("/app", Notice::PasswordSet);
            Ok(Reply::Now(web.with_session(response, &opened)))
        }
        Err(SignInError::Weak(why)) => {
            show(web, visit.frame, &token, 422, Some(why.to_string())).map(Reply::Now)
        }
        Err(error) => Err(or_over(error)),
    }
}

fn show(
    web: &Web,
    frame: Frame,
    token: &Token,
    status: u16,
    wrong: Option<String>,
) -> Result<Response, WebError> {
    let account = web.parts.sign_ins.link_account(token).map_err(or_over)?;
    let token = token.expose().to_owned();
    let page = Page { frame, token, email: account.email, least_chars: LEAST_CHARS, wrong };
    Ok(render_as(status, &page))
}

fn token_of(visit: &Visit) -> Result<Token, WebError> {
    visit.segment().and_then(Token::parse).ok_or_else(|| or_over(SignInError::LinkOver))
}

fn or_over(error: SignInError) -> WebError {
    match error {
        SignInError::LinkOver => {
            let text = "It was used already, a newer one was made, or it is older than three days. \
                        Ask whoever runs this service for a new one.";
            WebError::new(404, "This link is not good any more", text)
        }
        error => error.into(),
    }
}
