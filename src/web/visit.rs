//! One request on its way through a handler: who, which form, which address.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::error::WebError;
use super::frame::{Frame, Who};
use crate::account::account::Role;
use crate::account::audit::Origin;
use crate::account::service::Caller;
use crate::account::sign_in::service::Place;
use crate::account::sign_in::session::Session;
use crate::account::sign_in::token::Token;
use crate::base::ids::RequestId;
use crate::http::Request;

/// A request, and what is known about it. Owned: a handler may take it to another thread.
#[derive(Debug)]
pub struct Visit {
    /// The request.
    pub request: Request,
    /// Its id.
    pub request_id: RequestId,
    /// For the page around the answer, or around an error.
    pub frame: Frame,
    pub(super) segment: Option<String>,
    pub(super) signed_in: Option<SignedIn>,
    /// The session's token that the browser sent, good or not.
    pub(super) token: Option<Token>,
}

/// Who is signed in, and by which session.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The session.
    pub session: Session,
    /// The account with what it may do; to the audit, its owner.
    pub caller: Caller,
}

impl SignedIn {
    pub(super) fn who(&self) -> Who {
        let account = &self.caller.account;
        Who { email: account.email.clone(), is_operator: account.role == Role::Operator }
    }

    /// What forms of this session bring back.
    pub(super) fn csrf(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.session.csrf)
    }
}

/// What forms of a browser bring back that is not signed in: made of a cookie, so that no other site knows it.
pub(super) fn csrf_of(token: &Token) -> String {
    let hash = Sha256::new().chain_update(b"form\0").chain_update(token.expose()).finalize();
    URL_SAFE_NO_PAD.encode(hash)
}

impl Visit {
    /// Who is signed in. The route table lets nobody else reach a handler that asks for it.
    ///
    /// # Errors
    /// 401, for a route that forgot to.
    pub fn signed_in(&self) -> Result<&SignedIn, WebError> {
        self.signed_in.as_ref().ok_or_else(WebError::not_signed_in)
    }

    /// The account with what it may do.
    ///
    /// # Errors
    /// As [`Visit::signed_in`].
    pub fn caller(&self) -> Result<&Caller, WebError> {
        Ok(&self.signed_in()?.caller)
    }

    /// The session.
    ///
    /// # Errors
    /// As [`Visit::signed_in`].
    pub fn session(&self) -> Result<&Session, WebError> {
        Ok(&self.signed_in()?.session)
    }

    /// Who does it, to the audit.
    ///
    /// # Errors
    /// As [`Visit::signed_in`].
    pub fn origin(&self) -> Result<Origin, WebError> {
        Ok(Origin::request(self.caller()?.actor, &self.request_id))
    }

    /// What stands for the route's `{…}`, as it was sent.
    pub fn segment(&self) -> Option<&str> {
        self.segment.as_deref()
    }

    /// The fields of the form that was sent.
    pub fn form(&self) -> Form {
        let kind = self.request.header("content-type").unwrap_or("");
        let is_form = kind.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded");
        Form::parse(if is_form { &self.request.body } else { &[] })
    }

    /// The parameters of the address.
    pub fn query(&self) -> Form {
        Form::parse(self.request.query.as_bytes())
    }

    /// Where somebody signs in from.
    pub(super) fn place(&self) -> Place {
        Place {
            client: self.request.client,
            user_agent: self.request.header("user-agent").unwrap_or("").to_owned(),
            request: self.request_id.clone(),
            token: self.token.clone(),
        }
    }
}

/// Fields of a form, or parameters of an address.
#[derive(Debug, Clone, Default)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads `application/x-www-form-urlencoded`.
    pub fn parse(text: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(text).into_owned().collect())
    }

    /// The first value of a field; empty where it is missing.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// All values of a field.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a check box is checked: its field was sent.
    pub fn is_checked(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }
}
