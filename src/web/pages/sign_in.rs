//! Signing in and out.

use std::sync::Arc;

use askama::Template;
use log::info;

use crate::account::sign_in::SignInError;
use crate::account::sign_in::password::Password;
use crate::http::Reply;
use crate::web::error::{WebError, too_many, whole_secs};
use crate::web::frame::{Frame, render, render_as};
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The longest way back that is taken along.
const NEXT_BYTES: usize = 512;

#[derive(Template)]
#[template(path = "sign-in.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    /// Where to go then.
    next: String,
    email: String,
    /// Why it did not work.
    wrong: Option<String>,
}

/// `GET /app/sign-in`: the form; for whoever is signed in, the app.
///
/// # Errors
/// Never.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let next = way_back(visit.query().get("next")).to_owned();
    if visit.signed_in.is_some() {
        return Ok(Reply::Now(web.redirect(&next)));
    }
    let page = Page { frame: visit.frame, next, email: String::new(), wrong: None };
    Ok(Reply::Now(render(&page)))
}

/// `POST /app/sign-in`: `email`, `password`, `next`.
///
/// # Errors
/// 503. Whatever is wrong with what was typed is said in the form, in the same words for all.
pub(in crate::web) fn sign_in(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    Ok(web.later(visit, try_it))
}

fn try_it(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let form = visit.form();
    let next = way_back(form.get("next"));
    let password = Password::new(form.get("password"));
    match web.parts.sign_ins.sign_in(form.get("email"), &password, &visit.place()) {
        Ok(opened) => Ok(Reply::Now(web.with_session(web.redirect(next), &opened))),
        Err(error @ (SignInError::Wrong | SignInError::TooMany(_))) => {
            info!(request_id = visit.request_id.as_str(); "a sign-in was refused: {error}");
            Ok(refused(visit.frame, form.get("email"), next, &error))
        }
        Err(error) => Err(error.into()),
    }
}

/// The form again, with what was typed but the password.
fn refused(frame: Frame, email: &str, next: &str, error: &SignInError) -> Reply {
    let (status, wait, text) = match error {
        SignInError::TooMany(wait) => (429, Some(*wait), too_many(*wait)),
        _ => (401, None, "The email address or the password is wrong.".to_owned()),
    };
    let page = Page { frame, next: next.to_owned(), email: email.to_owned(), wrong: Some(text) };
    let response = render_as(status, &page);
    Reply::Now(match wait {
        Some(wait) => response.with_header("Retry-After", whole_secs(wait).to_string()),
        None => response,
    })
}

/// `POST /app/sign-out`: ends the session.
///
/// # Errors
/// 503.
pub(in crate::web) fn sign_out(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let session = visit.session()?;
    match web.parts.sign_ins.end(session.account, session.id, &visit.origin()?) {
        // It was ended elsewhere a moment ago.
        Ok(()) | Err(SignInError::UnknownSession) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(Reply::Now(web.without_session(web.redirect_saying("/app/sign-in", Notice::SignedOut))))
}

/// A page of the app, or its first: nobody is sent elsewhere.
fn way_back(next: &str) -> &str {
    let is_ours = next == "/app" || next.starts_with("/app/") || next.starts_with("/app?");
    let is_plain =
        next.len() <= NEXT_BYTES && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_ours && is_plain && !next.contains("//") && !next.contains("/..") { next } else { "/app" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for (next, want) in [
            ("/app/keys", "/app/keys"),
            ("/app?type=email", "/app?type=email"),
            ("/application", "/app"),
            ("https://evil.example", "/app"),
            ("//evil.example", "/app"),
            ("/app//evil.example", "/app"),
            ("/app/../v1", "/app"),
            ("/app/\\evil.example", "/app"),
            ("/app/\r\nSet-Cookie: a=b", "/app"),
            ("", "/app"),
        ] {
            assert_eq!(way_back(next), want, "{next:?}");
        }
    }
}
