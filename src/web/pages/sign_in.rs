//! The pages for signing in and out, and that of a set-up link, where the owner of an account chooses a password.

use std::sync::Arc;

use askama::Template;
use log::info;

use super::account;
use crate::account::sign_in::SignInError;
use crate::account::sign_in::password::{LEAST_CHARS, Password};
use crate::account::sign_in::token::Token;
use crate::web::cookies::{Cookie, Notice};
use crate::web::{Answer, Form, Frame, Visit, Web, WebError, render};

/// The longest return address in bytes.
const NEXT_BYTES: usize = 2048;

#[derive(Template)]
#[template(path = "sign-in.html", config = "src/web/askama.toml")]
struct SignInPage {
    frame: Frame,
    form: Form,
}

#[derive(Template)]
#[template(path = "set-up.html", config = "src/web/askama.toml")]
struct SetUpPage {
    frame: Frame,
    /// The token of the link, which is part of the form's address.
    token: String,
    email: String,
}

/// Handles `GET /app/sign-in`: shows the form. Redirects to the app if the browser is signed in.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Answer {
    match visit.signed_in {
        Some(_) => web.redirect(return_path(visit.form.get("next"))),
        None => show(visit),
    }
}

fn show(mut visit: Visit) -> Answer {
    let next = return_path(visit.form.get("next")).to_owned();
    visit.form.set("next", &next);
    render(&SignInPage { frame: visit.frame, form: visit.form })
}

/// Handles `POST /app/sign-in` with `email`, `password` and `next`: signs in.
///
/// # Errors
/// Returns 503 if the store is unavailable. The form shows all other errors with the same text, so that it
/// does not reveal which accounts exist.
pub(in crate::web) fn sign_in(web: &Arc<Web>, visit: Visit) -> Answer {
    let password = Password::new(visit.form.get("password"));
    match web.sign_ins.sign_in(visit.form.get("email"), &password, &visit.client()) {
        Ok(opened) => {
            let next = return_path(visit.form.get("next"));
            web.redirect_with(next, &[(Cookie::Session, opened.token.expose())])
        }
        Err(error) => {
            info!(request_id = visit.request_id.as_str(); "sign-in refused: {error}");
            let refusal = match error {
                SignInError::Wrong => {
                    let text = "The email address or the password is wrong.";
                    WebError::field("password", text).with_status(401)
                }
                error => error.into(),
            };
            visit.refuse(refusal, show)
        }
    }
}

/// Handles `POST /app/sign-out`: ends the session.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn sign_out(web: &Arc<Web>, visit: Visit) -> Answer {
    let ((account, origin), session) = (visit.actor()?, visit.session()?);
    match web.sign_ins.end(account, session.id, &origin) {
        // Another request has just ended the session.
        Ok(()) | Err(SignInError::UnknownSession) => account::sign_out(web, Notice::SignedOut),
        Err(error) => Err(error.into()),
    }
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

/// Handles `GET /app/set-up/{token}`: shows the account and the form. Viewing the page does not use up the link.
///
/// # Errors
/// Returns 404 for an invalid link.
pub(in crate::web) fn set_up_page(web: &Arc<Web>, visit: Visit) -> Answer {
    let token = token_of(&visit)?;
    let account = web.sign_ins.link_account(&token)?;
    render(&SetUpPage { frame: visit.frame, token: token.expose().to_owned(), email: account.email })
}

/// Handles `POST /app/set-up/{token}` with `password` and `again`: sets the password and signs in.
///
/// # Errors
/// Returns the same errors as [`set_up_page`], and 503 if the store is unavailable.
pub(in crate::web) fn set_up(web: &Arc<Web>, visit: Visit) -> Answer {
    let (token, form) = (token_of(&visit)?, &visit.form);
    if form.get("password") != form.get("again") {
        let error = WebError::field("password", "The two passwords differ.");
        return visit.refuse(error, |visit| set_up_page(web, visit));
    }
    match web.sign_ins.use_link(&token, &Password::new(form.get("password")), &visit.client()) {
        Ok(opened) => {
            let notice = Notice::PasswordSet.number();
            web.redirect_with("/app", &[(Cookie::Notice, &notice), (Cookie::Session, opened.token.expose())])
        }
        Err(error) => visit.refuse(error.into(), |visit| set_up_page(web, visit)),
    }
}

fn token_of(visit: &Visit) -> Result<Token, WebError> {
    Ok(Token::parse(&visit.id::<String>("token")?).ok_or(SignInError::LinkOver)?)
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
