//! [`Visit`]: a request with its session and its form.

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::error::WebError;
use super::frame::{CurrentUser, Frame};
use crate::account::service::Caller;
use crate::account::sign_in::service::SignInClient;
use crate::account::sign_in::token::Token;
use crate::base::ids::RequestId;
use crate::base::secret::random;
use crate::http::{Request, Segments};
use crate::model::account::Role;
use crate::model::audit::Origin;
use crate::model::sign_in::Session;

/// A request with its session and form. It owns its data, because a handler may move it to another thread.
#[derive(Debug)]
pub struct Visit {
    /// The request.
    pub request: Request,
    /// The id of the request.
    pub request_id: RequestId,
    /// The frame of the answer's page, also for an error.
    pub frame: Frame,
    pub(super) segments: Segments,
    pub(super) signed_in: Option<SignedIn>,
    /// The session token that the browser sent, valid or not.
    pub(super) token: Option<Token>,
}

/// The session and account of a visitor who is signed in.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The session.
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

/// Returns the token that forms send back if the browser is not signed in. It is derived from a cookie, which
/// other sites cannot read.
pub(super) fn csrf_of(token: &Token) -> [u8; 32] {
    Sha256::new().chain_update(b"form\0").chain_update(token.expose()).finalize().into()
}

/// Returns a token as a page contains it: with another mask in each page, so that the length of a compressed page reveals
/// nothing about it (BREACH).
pub(super) fn masked(token: &[u8; 32]) -> String {
    let mask: [u8; 32] = random();
    let hidden = mask.iter().zip(token).map(|(mask, byte)| mask ^ byte);
    URL_SAFE_NO_PAD.encode(mask.into_iter().chain(hidden).collect::<Vec<u8>>())
}

/// Returns the token that a form has sent back.
pub(super) fn unmasked(text: &str) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| bytes.len() == 64)?;
    let (mask, hidden) = bytes.split_at(32);
    Some(mask.iter().zip(hidden).map(|(mask, byte)| mask ^ byte).collect())
}

impl Visit {
    /// Returns the session and account. The route table lets only visitors with a session reach a handler
    /// that calls this.
    ///
    /// # Errors
    /// Returns 401 for a route whose access rule needs no session.
    pub fn signed_in(&self) -> Result<&SignedIn, WebError> {
        self.signed_in.as_ref().ok_or_else(WebError::not_signed_in)
    }

    /// Returns the account with its plan.
    ///
    /// # Errors
    /// Returns the same errors as [`Visit::signed_in`].
    pub fn caller(&self) -> Result<&Caller, WebError> {
        Ok(&self.signed_in()?.caller)
    }

    /// Returns the session.
    ///
    /// # Errors
    /// Returns the same errors as [`Visit::signed_in`].
    pub fn session(&self) -> Result<&Session, WebError> {
        Ok(&self.signed_in()?.session)
    }

    /// Returns the actor for the audit.
    ///
    /// # Errors
    /// Returns the same errors as [`Visit::signed_in`].
    pub fn origin(&self) -> Result<Origin, WebError> {
        Ok(Origin::request(self.caller()?.actor, &self.request_id))
    }

    /// Returns the segment of the path that matches this `{…}` of the route, as it was sent.
    pub fn segment(&self, name: &str) -> Option<&str> {
        self.segments.get(name)
    }

    /// Returns the id in the segment of the path that matches this `{…}` of the route.
    ///
    /// # Errors
    /// Returns 404 for anything else.
    pub fn id<T: FromStr>(&self, segment: &str) -> Result<T, WebError> {
        self.segment(segment).and_then(|text| text.parse().ok()).ok_or_else(WebError::no_such_page)
    }

    /// Returns the fields of the form in the body.
    pub fn form(&self) -> Form {
        let kind = self.request.header("content-type").unwrap_or("");
        let is_form = kind.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded");
        Form::parse(if is_form { &self.request.body } else { &[] })
    }

    /// Returns the parameters of the address.
    pub fn query(&self) -> Form {
        Form::parse(self.request.query.as_bytes())
    }

    /// Returns the client of a sign-in.
    pub(super) fn place(&self) -> SignInClient {
        SignInClient {
            client: self.request.client,
            user_agent: self.request.header("user-agent").unwrap_or("").to_owned(),
            request: self.request_id.clone(),
            token: self.token.clone(),
        }
    }
}

/// The fields of a form, or the parameters of an address.
#[derive(Debug, Clone, Default)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Parses `application/x-www-form-urlencoded`.
    pub fn parse(text: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(text).into_owned().collect())
    }

    /// Returns the first value of a field, empty if it is missing.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// Returns all values of a field.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns whether a check box is checked, which means that its field was sent.
    pub fn is_checked(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }
}
