//! [`Visit`]: a request with its session and its form.

use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use url::Url;

use super::error::{Answer, Shown, WebError};
use super::form::{Form, new_once};
use super::frame::{CurrentUser, Frame};
use crate::account::service::Caller;
use crate::account::sign_in::service::SignInClient;
use crate::account::sign_in::token::Token;
use crate::base::encoding::sha256;
use crate::base::ids::{AccountId, RequestId};
use crate::base::secret::random;
use crate::http::{Reply, Request, Segments};
use crate::model::account::Role;
use crate::model::audit::Origin;
use crate::model::sign_in::Session;

/// The most bytes of a secret that a page shows once.
const MOST_SECRET_BYTES: usize = 128;

/// A request with its session and form. It owns its data, because its handler may run on another thread.
#[derive(Debug)]
pub struct Visit {
    /// The request with its whole body.
    pub request: Request,
    /// The id that the client has sent, or a new one.
    pub request_id: RequestId,
    /// The frame of the answer's page, also for an error.
    pub frame: Frame,
    /// The fields of the form that was sent, or the parameters of the address of a page.
    pub form: Form,
    pub(super) segments: Segments,
    pub(super) signed_in: Option<SignedIn>,
    /// The session token that the browser sent, valid or not.
    pub(super) token: Option<Token>,
    /// The secret that the request before this one has made, as the browser sent it.
    pub(super) made: Option<String>,
}

/// The session and account of a visitor who is signed in.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The session of the cookie, which has not ended.
    pub session: Session,
    /// The account with its plan. In the audit it is the owner of the action.
    pub caller: Caller,
}

impl SignedIn {
    pub(super) fn who(&self) -> CurrentUser {
        let account = &self.caller.account;
        CurrentUser { email: account.email.clone(), is_operator: account.role == Role::Operator }
    }
}

impl Visit {
    fn signed_in(&self) -> Result<&SignedIn, WebError> {
        self.signed_in.as_ref().ok_or_else(WebError::not_signed_in)
    }

    /// Returns the account with its plan. The route table lets only visitors with a session reach a handler that calls
    /// this.
    ///
    /// # Errors
    /// Returns 401 for a route whose access rule needs no session.
    pub fn caller(&self) -> Result<&Caller, WebError> {
        Ok(&self.signed_in()?.caller)
    }

    /// Returns the id of the account, and the actor for the audit.
    ///
    /// # Errors
    /// Returns the same errors as [`Visit::caller`].
    pub fn actor(&self) -> Result<(AccountId, Origin), WebError> {
        let caller = self.caller()?;
        Ok((caller.account.id, Origin::request(caller.actor, &self.request_id)))
    }

    /// Returns the session.
    ///
    /// # Errors
    /// Returns the same errors as [`Visit::caller`].
    pub fn session(&self) -> Result<&Session, WebError> {
        Ok(&self.signed_in()?.session)
    }

    /// Returns the id in the segment of the path that matches this `{…}` of the route.
    ///
    /// # Errors
    /// Returns 404 for anything else.
    pub fn id<T: FromStr>(&self, segment: &str) -> Result<T, WebError> {
        self.segments.get(segment).and_then(|text| text.parse().ok()).ok_or_else(WebError::no_such_page)
    }

    /// Returns the secret that the request before this one has made. Only one that starts with `prefix` is returned,
    /// since the browser may send anything.
    pub(super) fn made(&self, prefix: &str) -> Option<String> {
        self.made.clone().filter(|made| made.len() <= MOST_SECRET_BYTES && made.starts_with(prefix))
    }

    /// Returns the client of a sign-in.
    pub(super) fn client(&self) -> SignInClient {
        SignInClient {
            client: self.request.client,
            user_agent: self.request.header("user-agent").unwrap_or("").to_owned(),
            request: self.request_id.clone(),
            token: self.token.clone(),
        }
    }

    /// Returns the form's token as an idempotency key.
    ///
    /// # Errors
    /// Returns 400 if this app has not created it.
    pub(super) fn once(&self) -> Result<String, WebError> {
        self.form.once().ok_or_else(WebError::incomplete_form)
    }

    /// Shows the page of the form that was sent with the reason why it was refused. The form keeps its token unless that
    /// is used up, because the first attempt may have done the work although its answer was lost.
    ///
    /// # Errors
    /// Returns an error that needs a separate page.
    pub(super) fn refuse(mut self, error: WebError, show: impl FnOnce(Self) -> Answer) -> Answer {
        match error.shown {
            Shown::Page | Shown::Resend => return Err(error),
            Shown::NewForm => self.form.set("once", &new_once()),
            Shown::Form | Shown::Field(_) => {}
        }
        let error = Arc::new(error);
        self.frame.error = Some(Arc::clone(&error));
        Ok(match show(self)? {
            Reply::Now(response) => Reply::Now(error.mark(response)),
            other => other,
        })
    }
}

/// Returns the token that forms send back if the browser is not signed in. It is derived from a cookie, which
/// other sites cannot read.
pub(super) fn csrf_of(token: &Token) -> [u8; 32] {
    sha256(format!("form\0{}", token.expose()))
}

/// Returns a token as a page contains it: with another mask in each page, so that the length of a compressed page reveals
/// nothing about it (BREACH).
pub(super) fn masked(token: &[u8; 32]) -> String {
    let mask: [u8; 32] = random();
    let hidden = mask.iter().zip(token).map(|(mask, byte)| mask ^ byte);
    URL_SAFE_NO_PAD.encode(mask.into_iter().chain(hidden).collect::<Vec<u8>>())
}

/// Returns the token that a form has sent back.
fn unmasked(text: &str) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| bytes.len() == 64)?;
    let (mask, hidden) = bytes.split_at(32);
    Some(mask.iter().zip(hidden).map(|(mask, byte)| mask ^ byte).collect())
}

/// Refuses a change that another site sent, or that lacks all of `tokens` (OWASP's CSRF cheat sheet: a token
/// for each session, and the origin that the browser reports).
pub(super) fn check_origin(visit: &Visit, tokens: &[[u8; 32]], own_origin: &str) -> Result<(), WebError> {
    if is_from_elsewhere(&visit.request, own_origin) || !has_token(visit, tokens) {
        let text = "Nothing was done: the form is too old, or was not sent from this site. Load the page again, and allow \
                    cookies for it.";
        return Err(WebError::new(403, "This form is no longer valid", text));
    }
    Ok(())
}

fn has_token(visit: &Visit, tokens: &[[u8; 32]]) -> bool {
    // The time that comparing hashes takes says nothing of the tokens.
    let given = sha256(unmasked(visit.form.get("csrf")).unwrap_or_default());
    tokens.iter().any(|token| sha256(token) == given)
}

fn is_from_elsewhere(request: &Request, own_origin: &str) -> bool {
    if let Some(site) = request.header("sec-fetch-site") {
        return !matches!(site, "same-origin" | "none");
    }
    // Browsers send "null" for a form of a page with the policy `no-referrer`, which all pages of the app have.
    let origin = request.header("origin").filter(|origin| *origin != "null");
    origin.is_some_and(|origin| origin != own_origin && !is_of_host(origin, request))
}

/// Compares the origin with the `Host` header. Without a base URL, clients may use any name of this machine.
fn is_of_host(origin: &str, request: &Request) -> bool {
    let Ok(url) = Url::parse(origin) else { return false };
    let Some(host) = url.host_str() else { return false };
    let authority = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    request.header("host").is_some_and(|own| own.eq_ignore_ascii_case(&authority))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_other_origins_are_detected() {
        for (headers, is_elsewhere) in [
            (vec![], false),
            (vec![("sec-fetch-site", "same-origin")], false),
            (vec![("sec-fetch-site", "same-site")], true),
            (vec![("sec-fetch-site", "cross-site"), ("origin", "https://s.example")], true),
            (vec![("origin", "https://s.example")], false),
            (vec![("origin", "http://127.0.0.1:81"), ("host", "127.0.0.1:81")], false),
            (vec![("origin", "http://127.0.0.1:82"), ("host", "127.0.0.1:81")], true),
            (vec![("origin", "https://evil.example"), ("host", "s.example")], true),
            (vec![("origin", "null")], false),
            (vec![("origin", "nonsense"), ("host", "nonsense")], true),
        ] {
            let headers = headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
            let request = Request { headers, ..Request::default() };
            let seen = is_from_elsewhere(&request, "https://s.example");
            assert_eq!(seen, is_elsewhere, "{:?}", request.headers);
        }
    }

    #[test]
    fn only_a_token_of_the_server_is_an_idempotency_key() {
        let mut form = Form::default();
        let fresh = new_once();
        form.set("once", &fresh);
        assert_eq!(form.once().unwrap(), format!("web-form:{fresh}"));
        for bad in ["", "x", &"g".repeat(32), &"a".repeat(33)] {
            form.set("once", bad);
            assert!(form.once().is_none(), "{bad}");
        }
    }
}
