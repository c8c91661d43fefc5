//! The pages for signing in and out, and that of a set-up link, where the owner of an account chooses a password.

use std::sync::Arc;

use askama::Template;
use log::info;

use crate::account::sign_in::SignInError;
use crate::account::sign_in::password::{LEAST_CHARS, Password};
use crate::account::sign_in::token::Token;
use crate::http::{Reply, Response};
use crate::web::error::{WebError, too_many, whole_secs};
use crate::web::frame::{Frame, render, render_as};
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The longest return address in bytes.
const NEXT_BYTES: usize = 2048;

#[derive(Template)]
#[template(path = "sign-in.html", config = "src/web/askama.toml")]
struct SignInPage {
    frame: Frame,
    /// The address to return to after signing in.
    next: String,
    email: String,
    /// The error of the last attempt.
    wrong: Option<String>,
}

/// Handles `GET /app/sign-in`: shows the form. Redirects to the app if the browser is signed in.
///
/// # Errors
/// Returns no error.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let next = return_path(visit.query().get("next")).to_owned();
    if visit.signed_in.is_some() {
        return Ok(Reply::Now(web.redirect(&next)));
    }
    let page = SignInPage { frame: visit.frame, next, email: String::new(), wrong: None };
    Ok(Reply::Now(render(&page)))
}

/// Handles `POST /app/sign-in` with `email`, `password` and `next`: signs in.
///
/// # Errors
/// Returns 503 if the store is unavailable. The form shows all other errors with the same text, so that it
/// does not reveal which accounts exist.
pub(in crate::web) fn sign_in(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    Ok(web.later(visit, try_sign_in))
}

fn try_sign_in(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let form = visit.form();
    let next = return_path(form.get("next"));
    let password = Password::new(form.get("password"));
    match web.parts.sign_ins.sign_in(form.get("email"), &password, &visit.place()) {
        Ok(opened) => Ok(Reply::Now(web.with_session(web.redirect(next), &opened))),
        Err(error @ (SignInError::Wrong | SignInError::TooMany(_))) => {
            info!(request_id = visit.request_id.as_str(); "sign-in refused: {error}");
            Ok(refused(visit.frame, form.get("email"), next, &error))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the form with its input except the password.
fn refused(frame: Frame, email: &str, next: &str, error: &SignInError) -> Reply {
    let (status, wait, text) = match error {
        SignInError::TooMany(wait) => (429, Some(*wait), too_many(*wait)),
        _ => (401, None, "The email address or the password is wrong.".to_owned()),
    };
    let page = SignInPage { frame, next: next.to_owned(), email: email.to_owned(), wrong: Some(text) };
    let response = render_as(status, &page);
    Reply::Now(match wait {
        Some(wait) => response.with_header("Retry-After", whole_secs(wait).to_string()),
        None => response,
    })
}

/// Handles `POST /app/sign-out`: ends the session.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn sign_out(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let session = visit.session()?;
    match web.parts.sign_ins.end(session.account, session.id, &visit.origin()?) {
        // Another request has just ended the session.
        Ok(()) | Err(SignInError::UnknownSession) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(Reply::Now(web.without_session(web.redirect_with_notice("/app/sign-in", Notice::SignedOut))))
}

/// Returns `next` if it is a page of the app, else the start page, so that no link can redirect to another
/// site.
fn return_path(next: &str) -> &str {
    // What follows the question mark cannot name another site or path.
    let path = next.split('?').next().unwrap_or_default();
    let is_ours = path == "/app" || path.starts_with("/app/");
    let is_plain = next.len() <= NEXT_BYTES && next.bytes().all(|byte| byte.is_ascii_graphic());
    let is_one_path = !["//", "/..", "\\"].iter().any(|other| path.contains(other));
    if is_ours && is_plain && is_one_path { next } else { "/app" }
}

#[derive(Template)]
#[template(path = "set-up.html", config = "src/web/askama.toml")]
struct SetUpPage {
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
pub(in crate::web) fn set_up_page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let token = token_of(&visit)?;
    show_set_up(web, visit.frame, &token, 200, None).map(Reply::Now)
}

/// Handles `POST /app/set-up/{token}` with `password` and `again`: sets the password and signs in.
///
/// # Errors
/// Returns the same errors as [`set_up_page`], and 503 if the store is unavailable.
pub(in crate::web) fn set_up(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    Ok(web.later(visit, try_set_up))
}

fn try_set_up(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (token, form) = (token_of(&visit)?, visit.form());
    if form.get("password") != form.get("again") {
        let text = "The two passwords differ.".to_owned();
        return show_set_up(web, visit.frame, &token, 422, Some(text)).map(Reply::Now);
    }
    match web.parts.sign_ins.use_link(&token, &Password::new(form.get("password")), &visit.place()) {
        Ok(opened) => {
            let response = web.redirect_with_notice("/app", Notice::PasswordSet);
            Ok(Reply::Now(web.with_session(response, &opened)))
        }
        Err(SignInError::Weak(why)) => {
            show_set_up(web, visit.frame, &token, 422, Some(why.to_string())).map(Reply::Now)
        }
        Err(error) => Err(link_error(error)),
    }
}

fn show_set_up(
    web: &Web,
    frame: Frame,
    token: &Token,
    status: u16,
    wrong: Option<String>,
) -> Result<Response, WebError> {
    let account = web.parts.sign_ins.link_account(token).map_err(link_error)?;
    let token = token.expose().to_owned();
    let page = SetUpPage { frame, token, email: account.email, least_chars: LEAST_CHARS, wrong };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_app_are_return_paths() {
        for (next, want) in [
            ("/app/keys", "/app/keys"),
            ("/app?type=email", "/app?type=email"),
            ("/app?query=https://github.com/../a\\b?c", "/app?query=https://github.com/../a\\b?c"),
            ("/app#//evil.example", "/app"),
            ("/application", "/app"),
            ("https://evil.example", "/app"),
            ("//evil.example", "/app"),
            ("/app//evil.example", "/app"),
            ("/app/../v1", "/app"),
            ("/app/\\evil.example", "/app"),
            ("/app/\r\nSet-Cookie: a=b", "/app"),
            ("", "/app"),
        ] {
            assert_eq!(return_path(next), want, "{next:?}");
        }
    }
}
