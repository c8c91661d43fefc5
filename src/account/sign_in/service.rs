//! [`SignIns`]: signs users in and out, sets passwords, and reads and ends sessions.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use log::debug;

use super::password::{HashingError, Password, PasswordHasher};
use super::token::Token;
use crate::base::clock::Clock;
use crate::base::ids::{AccountId, RequestId, SessionId};
use crate::base::secret::random;
use crate::base::storage::StorageError;
use crate::model::account::{Account, Role};
use crate::model::audit::{Actor, Origin};
use crate::model::quota::{BY_EMAIL, BY_NETWORK, BY_PAIR, Rate, Subject};
use crate::model::sign_in::{Session, SessionLimits, SetUpLink, USER_AGENT_BYTES};
use crate::store::Store;

/// The time for which a set-up link is valid. It is longer than a weekend.
pub const LINK_LIFETIME: Duration = Duration::from_secs(72 * 60 * 60);

/// The reasons why a sign-in, or an operation on passwords and sessions, fails.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The account does not exist, has no password, or has another one. The message does not show which.
    #[error("the email address or the password is wrong")]
    Wrong,
    /// There were too many attempts. The next one is possible after this time.
    #[error("too many attempts; the next one in {} s", .0.as_secs() + 1)]
    TooMany(Duration),
    /// The new password is refused. Contains why, and what to do.
    #[error("{0}")]
    Weak(String),
    /// The set-up link was used, replaced, or has expired.
    #[error("the set-up link was used or replaced, or has expired")]
    LinkOver,
    /// No account has this id, or it is being deleted.
    #[error("no such account")]
    UnknownAccount,
    /// The account has no such session.
    #[error("no such session")]
    UnknownSession,
    /// No hash of a password was computed.
    #[error(transparent)]
    Hashing(#[from] HashingError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The client of a sign-in.
#[derive(Debug, Clone)]
pub struct SignInClient {
    /// The client's address.
    pub client: Option<IpAddr>,
    /// The `User-Agent` of the browser.
    pub user_agent: String,
    /// The id of the request.
    pub request: RequestId,
    /// The token of the session that the browser already has, of any account. That session ends when a new one
    /// begins.
    pub token: Option<Token>,
}

/// A session that has just begun.
#[derive(Debug)]
pub struct Opened {
    /// The token for the cookie. It is not stored.
    pub token: Token,
    /// The session.
    pub session: Session,
}

/// The use cases of sign-in. There is one value for each process, which all layers share.
pub struct SignIns {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    hasher: PasswordHasher,
    limits: SessionLimits,
}

impl SignIns {
    /// Creates the use cases with a store.
    pub fn new(store: Arc<Store>, clock: Arc<dyn Clock>, limits: SessionLimits) -> Self {
        Self { store, clock, hasher: PasswordHasher::default(), limits }
    }

    /// Returns the lifetimes of sessions.
    pub fn limits(&self) -> SessionLimits {
        self.limits
    }

    /// Signs a user in. The browser's previous session ends, and the token is a new one, which prevents session
    /// fixation.
    ///
    /// # Errors
    /// Returns [`SignInError::Wrong`], after the same work whether or not the account exists,
    /// [`SignInError::TooMany`], [`SignInError::Hashing`], or an error of the store.
    pub fn sign_in(
        &self,
        email: &str,
        password: &Password,
        client: &SignInClient,
    ) -> Result<Opened, SignInError> {
        let email = email.trim().to_lowercase();
        let subjects = [
            (Subject::network(client.client), BY_NETWORK),
            (Subject::pair(&email, client.client), BY_PAIR),
            (Subject::email(&email), BY_EMAIL),
        ];
        let account = self.store.account_by_email(&email)?.filter(|account| !account.is_being_deleted());
        // The password is verified in any case, so that the time does not show whether the account exists.
        let id = account.map_or_else(AccountId::new, |account| account.id);
        let known = self.verify(id, password, &subjects)?;
        self.open(id, &known, client)
    }

    /// Returns the stored hash if the password matches it, with the same work whether or not the account has one. Of each of
    /// these subjects, the number of attempts that fail is limited.
    fn verify(
        &self,
        account: AccountId,
        password: &Password,
        subjects: &[(Subject, Rate)],
    ) -> Result<String, SignInError> {
        for (subject, rate) in subjects {
            let counted = self.store.count_request(subject, *rate)?;
            if !counted.is_allowed {
                return Err(SignInError::TooMany(counted.wait));
            }
        }
        let hash = self.store.password(account)?;
        let is_right = self.hasher.verify(password, hash.as_deref())?;
        let known = hash.filter(|_| is_right).ok_or(SignInError::Wrong)?;
        for (subject, rate) in subjects {
            self.store.return_request(subject, *rate)?;
        }
        Ok(known)
    }

    fn open(&self, account: AccountId, known: &str, client: &SignInClient) -> Result<Opened, SignInError> {
        let now = self.clock.now();
        let token = Token::generate();
        let session = Session {
            id: SessionId::new(),
            account,
            csrf: random(),
            created_at: now,
            last_seen_at: now,
            expires_at: self.limits.end_of(now, now),
            user_agent: truncate(&client.user_agent),
            address: client.client.map(|client| client.to_canonical().to_string()).unwrap_or_default(),
        };
        let by = Origin::request(Actor::Account(account), &client.request);
        if !self.store.open_session(&session, &token.hash(), Some(known), &by)? {
            return Err(SignInError::Wrong);
        }
        if let Some(former) = &client.token
            && let Some((former, _)) = self.store.session(&former.hash(), now)?
        {
            let by = Origin::request(Actor::Account(former.account), &client.request);
            self.store.end_session(former.account, former.id, &by)?;
        }
        Ok(Opened { token, session })
    }

    /// Returns the session with that token and its account. Records from time to time that the session is used.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn session(&self, token: &Token) -> Result<Option<(Session, Account)>, SignInError> {
        let found = self.peek_session(token)?;
        let now = self.clock.now();
        if let Some((session, _)) = &found
            && self.limits.is_worth_noting(session, now)
        {
            let end = self.limits.end_of(session.created_at, now);
            // Pages can still be read while the store accepts no writes.
            if let Err(error) = self.store.touch_session(session.id, now, end) {
                debug!("cannot record that a session is used: {error}");
            }
        }
        Ok(found)
    }

    /// Returns the session with that token and its account, for a request that a page's script makes without an action of the user. Such
    /// a request does not count as a use of the session.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn peek_session(&self, token: &Token) -> Result<Option<(Session, Account)>, SignInError> {
        let now = self.clock.now();
        let found = self.store.session(&token.hash(), now)?;
        Ok(found
            .filter(|(session, account)| !account.is_being_deleted() && !self.limits.has_ended(session, now)))
    }

    /// Returns the sessions of an account, the most recently used one first.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn sessions(&self, account: AccountId) -> Result<Vec<Session>, SignInError> {
        let now = self.clock.now();
        let mut sessions = self.store.sessions(account, now)?;
        sessions.retain(|session| !self.limits.has_ended(session, now));
        Ok(sessions)
    }

    /// Ends a session of an account.
    ///
    /// # Errors
    /// Returns [`SignInError::UnknownSession`], or an error of the store.
    pub fn end(&self, account: AccountId, session: SessionId, by: &Origin) -> Result<(), SignInError> {
        self.store.end_session(account, session, by)?.then_some(()).ok_or(SignInError::UnknownSession)
    }

    /// Checks the password of an account before an operation that must not be possible in an unattended browser.
    /// These attempts are also limited, separately from those to sign in.
    ///
    /// # Errors
    /// Returns [`SignInError::Wrong`], [`SignInError::TooMany`], [`SignInError::Hashing`], or an error of the store.
    pub fn confirm(&self, account: &Account, password: &Password) -> Result<(), SignInError> {
        self.verify(account.id, password, &confirming(account)).map(drop)
    }

    /// Changes a password. All sessions end, and the current one is replaced, so that a copied token is void.
    ///
    /// # Errors
    /// Returns the same errors as [`SignIns::confirm`], and [`SignInError::Weak`].
    pub fn change_password(
        &self,
        account: &Account,
        old: &Password,
        new: &Password,
        client: &SignInClient,
    ) -> Result<Opened, SignInError> {
        let known = self.verify(account.id, old, &confirming(account))?;
        new.check(&account.email).map_err(SignInError::Weak)?;
        let hash = self.hasher.hash(new)?;
        let by = Origin::request(Actor::Account(account.id), &client.request);
        if !self.store.set_password(account.id, &hash, Some(&known), &by)? {
            return Err(SignInError::Wrong);
        }
        self.open(account.id, &hash, client)
    }

    /// Creates a link with which the owner sets the account's password, and voids earlier links.
    ///
    /// # Errors
    /// Returns [`SignInError::UnknownAccount`], or an error of the store.
    pub fn make_link(&self, account: AccountId, by: &Origin) -> Result<Token, SignInError> {
        let (token, now) = (Token::generate(), self.clock.now());
        let expires_at = now.saturating_add(LINK_LIFETIME).unwrap_or(Timestamp::MAX);
        let link = SetUpLink { token: token.hash(), account, created_at: now, expires_at };
        self.store.add_set_up_link(&link, by)?.then_some(token).ok_or(SignInError::UnknownAccount)
    }

    /// Returns the account whose password a link sets.
    ///
    /// # Errors
    /// Returns [`SignInError::LinkOver`], or an error of the store.
    pub fn link_account(&self, token: &Token) -> Result<Account, SignInError> {
        let account = self.store.set_up_account(&token.hash(), self.clock.now())?;
        account.ok_or(SignInError::LinkOver)
    }

    /// Consumes a link: sets the password, ends all sessions of the account, and begins a new one.
    ///
    /// # Errors
    /// Returns [`SignInError::LinkOver`], [`SignInError::Weak`], [`SignInError::Hashing`], or an error of the store.
    pub fn use_link(
        &self,
        token: &Token,
        password: &Password,
        client: &SignInClient,
    ) -> Result<Opened, SignInError> {
        let account = self.link_account(token)?;
        password.check(&account.email).map_err(SignInError::Weak)?;
        let hash = self.hasher.hash(password)?;
        let by = Origin::request(Actor::Account(account.id), &client.request);
        let used = self.store.use_set_up_link(&token.hash(), &hash, self.clock.now(), &by)?;
        self.open(used.ok_or(SignInError::LinkOver)?.id, &hash, client)
    }

    /// Changes the role of an account with immediate effect.
    ///
    /// # Errors
    /// Returns [`SignInError::UnknownAccount`], or an error of the store.
    pub fn set_role(&self, account: AccountId, role: Role, by: &Origin) -> Result<(), SignInError> {
        self.store.set_role(account, role, by)?.then_some(()).ok_or(SignInError::UnknownAccount)
    }

    /// Removes expired sessions, links, counts and idempotency keys. The maintenance thread calls this every few seconds.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn remove_expired(&self) -> Result<(), StorageError> {
        self.store.remove_expired(self.clock.now())
    }
}

/// Returns the limit on attempts to confirm the password of an account.
fn confirming(account: &Account) -> [(Subject, Rate); 1] {
    [(Subject::confirming(account.id), BY_PAIR)]
}

/// Returns at most [`USER_AGENT_BYTES`] of a text, cut after a whole character, without control characters.
fn truncate(text: &str) -> String {
    let mut end = text.len().min(USER_AGENT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].chars().filter(|character| !character.is_control()).collect()
}
