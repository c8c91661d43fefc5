//! What can be done: sign in, say who is signed in, sign out, set a password, look after sessions.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use log::warn;

use super::attempts::{Allowance, Attempt, BY_EMAIL, BY_NETWORK, BY_PAIR, Subject};
use super::keeping::{SetUpLink, SignInStore};
use super::password::{HashingError, Password, PasswordHasher, WeakPassword};
use super::session::{Session, SessionLimits, USER_AGENT_BYTES};
use super::token::{Token, random};
use crate::account::account::{Account, Role};
use crate::account::audit::{Actor, Origin};
use crate::account::ledger::Ledger;
use crate::base::clock::Clock;
use crate::base::ids::{AccountId, RequestId, SessionId};
use crate::base::storage::StorageError;

/// How long a set-up link is good: over a weekend.
pub const LINK_LASTS: Duration = Duration::from_secs(72 * 60 * 60);

/// Why somebody is not signed in, or something about it was not done.
#[derive(Debug)]
pub enum SignInError {
    /// No such account, no password, or a wrong one: nobody is told which.
    Wrong,
    /// Too many attempts; the next one may come after this time.
    TooMany(Duration),
    /// The new password is not taken.
    Weak(WeakPassword),
    /// The set-up link was used, replaced, or is too old.
    LinkOver,
    /// No account has this id, or it is being deleted.
    UnknownAccount,
    /// No such session.
    UnknownSession,
    /// Too many passwords are being checked.
    Busy,
    /// The system gave no random numbers.
    Random(getrandom::Error),
    /// Hashing failed: no memory, most likely.
    Hashing,
    /// The store failed.
    Storage(StorageError),
}

impl From<StorageError> for SignInError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl From<getrandom::Error> for SignInError {
    fn from(error: getrandom::Error) -> Self {
        Self::Random(error)
    }
}

impl From<WeakPassword> for SignInError {
    fn from(why: WeakPassword) -> Self {
        Self::Weak(why)
    }
}

impl From<HashingError> for SignInError {
    fn from(error: HashingError) -> Self {
        match error {
            HashingError::Busy => Self::Busy,
            HashingError::Random(error) => Self::Random(error),
            HashingError::Failed => Self::Hashing,
        }
    }
}

impl fmt::Display for SignInError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong => f.write_str("the email address or the password is wrong"),
            Self::TooMany(wait) => write!(f, "too many attempts; the next one in {} s", wait.as_secs() + 1),
            Self::Weak(why) => why.fmt(f),
            Self::LinkOver => f.write_str("the set-up link was used, replaced, or is too old"),
            Self::UnknownAccount => f.write_str("no such account"),
            Self::UnknownSession => f.write_str("no such session"),
            Self::Busy => f.write_str("too many passwords are being checked at this moment"),
            Self::Random(error) => write!(f, "the system gives no random numbers: {error}"),
            Self::Hashing => f.write_str("the password could not be hashed"),
            Self::Storage(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SignInError {}

/// Where somebody signs in from.
#[derive(Debug, Clone)]
pub struct Place {
    /// The client's address.
    pub client: Option<IpAddr>,
    /// What the browser says it is.
    pub user_agent: String,
    /// The request.
    pub request: RequestId,
    /// The session that the browser has already, of whomever: it ends where another one begins.
    pub token: Option<Token>,
}

/// A session that has just begun.
#[derive(Debug)]
pub struct Opened {
    /// For the cookie. This is the only time that it is known here.
    pub token: Token,
    /// The session.
    pub session: Session,
}

/// The use cases. One for a process; shared.
pub struct SignIns {
    store: Arc<dyn SignInStore>,
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    hasher: PasswordHasher,
    limits: SessionLimits,
}

impl SignIns {
    /// Over that store.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn new(
        store: Arc<dyn SignInStore>,
        ledger: Arc<dyn Ledger>,
        clock: Arc<dyn Clock>,
        limits: SessionLimits,
    ) -> Result<Self, getrandom::Error> {
        Ok(Self { store, ledger, clock, hasher: PasswordHasher::new()?, limits })
    }

    /// How long sessions last.
    pub fn limits(&self) -> SessionLimits {
        self.limits
    }

    /// Signs in. The session that the browser had ends, and a new token is made: whoever planted one has gained nothing.
    ///
    /// # Errors
    /// [`SignInError::Wrong`] in the same words and after the same work whether there is such an account or not;
    /// [`SignInError::TooMany`], [`SignInError::Busy`], or the store's failure.
    pub fn sign_in(&self, email: &str, password: &Password, place: &Place) -> Result<Opened, SignInError> {
        let email = email.trim().to_lowercase();
        let subjects = [
            (Subject::network(place.client), BY_NETWORK),
            (Subject::pair(&email, place.client), BY_PAIR),
            (Subject::email(&email), BY_EMAIL),
        ];
        self.count(&subjects)?;
        let account = self.ledger.account_by_email(&email)?.filter(|account| !account.is_being_deleted());
        // Asked for in any case, so that a look-up more tells nothing.
        let id = account.as_ref().map_or_else(AccountId::new, |account| account.id);
        let hash = self.store.password(id)?;
        let is_right = self.hasher.verify(password, hash.as_deref())?;
        let Some(account) = account.filter(|_| is_right) else { return Err(SignInError::Wrong) };
        for (subject, allowance) in &subjects {
            self.store.forgive(subject, *allowance)?;
        }
        self.open(account.id, hash.as_deref(), place)
    }

    fn count(&self, subjects: &[(Subject, Allowance)]) -> Result<(), SignInError> {
        let now = self.clock.now();
        for (subject, allowance) in subjects {
            if let Attempt::Refused(wait) = self.store.attempt(subject, *allowance, now)? {
                return Err(SignInError::TooMany(wait));
            }
        }
        Ok(())
    }

    fn open(&self, account: AccountId, known: Option<&str>, place: &Place) -> Result<Opened, SignInError> {
        let now = self.clock.now();
        let token = Token::generate()?;
        let session = Session {
            id: SessionId::new(),
            account,
            csrf: random()?,
            created_at: now,
            last_seen_at: now,
            expires_at: self.limits.end_of(now, now),
            user_agent: cut(&place.user_agent),
            address: place.client.map(|client| client.to_canonical().to_string()).unwrap_or_default(),
        };
        let by = Origin::request(Actor::Account(account), &place.request);
        if !self.store.open_session(&session, &token.hash(), known, &by)? {
            return Err(SignInError::Wrong);
        }
        self.end_former(place, now)?;
        Ok(Opened { token, session })
    }

    fn end_former(&self, place: &Place, now: Timestamp) -> Result<(), SignInError> {
        let Some(token) = &place.token else { return Ok(()) };
        if let Some((former, _)) = self.store.session(&token.hash(), now)? {
            let by = Origin::request(Actor::Account(former.account), &place.request);
            self.store.end_session(former.account, former.id, now, &by)?;
        }
        Ok(())
    }

    /// Who has that token. Notes, now and then, that the session is used.
    ///
    /// # Errors
    /// The store's failure.
    pub fn session(&self, token: &Token) -> Result<Option<(Session, Account)>, SignInError> {
        let found = self.session_unused(token)?;
        let now = self.clock.now();
        if let Some((session, _)) = &found
            && self.limits.is_worth_noting(session, now)
        {
            let end = self.limits.end_of(session.created_at, now);
            // A store that takes no writes can still be read: the pages go on.
            if let Err(error) = self.store.touch_session(session.id, now, end) {
                warn!("it is not noted that a session is used: {error}");
            }
        }
        Ok(found)
    }

    /// Who has that token, for what a page does by itself: that is no use of the session.
    ///
    /// # Errors
    /// The store's failure.
    pub fn session_unused(&self, token: &Token) -> Result<Option<(Session, Account)>, SignInError> {
        let now = self.clock.now();
        let found = self.store.session(&token.hash(), now)?;
        Ok(found
            .filter(|(session, account)| !account.is_being_deleted() && !self.limits.has_ended(session, now)))
    }

    /// The sessions of an account, the one last used first.
    ///
    /// # Errors
    /// The store's failure.
    pub fn sessions(&self, account: AccountId) -> Result<Vec<Session>, SignInError> {
        let now = self.clock.now();
        let mut sessions = self.store.sessions(account, now)?;
        sessions.retain(|session| !self.limits.has_ended(session, now));
        Ok(sessions)
    }

    /// Ends a session of an account: signs it out.
    ///
    /// # Errors
    /// [`SignInError::UnknownSession`] or the store's failure.
    pub fn end(&self, account: AccountId, session: SessionId, by: &Origin) -> Result<(), SignInError> {
        match self.store.end_session(account, session, self.clock.now(), by)? {
            true => Ok(()),
            false => Err(SignInError::UnknownSession),
        }
    }

    /// Whether that is the account's password: for what must not be done by whoever finds a browser open. Attempts
    /// are counted here too, apart from those to sign in.
    ///
    /// # Errors
    /// [`SignInError::Wrong`], [`SignInError::TooMany`], [`SignInError::Busy`], or the store's failure.
    pub fn confirm(&self, account: &Account, password: &Password) -> Result<(), SignInError> {
        self.known_hash(account, password).map(|_| ())
    }

    /// The hash that the password was found to fit.
    fn known_hash(&self, account: &Account, password: &Password) -> Result<String, SignInError> {
        let subject = Subject::confirming(account.id);
        self.count(&[(subject, BY_PAIR)])?;
        let hash = self.store.password(account.id)?;
        let is_right = self.hasher.verify(password, hash.as_deref())?;
        let known = hash.filter(|_| is_right).ok_or(SignInError::Wrong)?;
        self.store.forgive(&subject, BY_PAIR)?;
        Ok(known)
    }

    /// Changes a password. All sessions end, also the one that asks: it gets a new one, so that whoever had copied its
    /// token has nothing any more.
    ///
    /// # Errors
    /// As [`SignIns::confirm`], and [`SignInError::Weak`].
    pub fn change_password(
        &self,
        account: &Account,
        old: &Password,
        new: &Password,
        place: &Place,
    ) -> Result<Opened, SignInError> {
        new.check(&account.email)?;
        let known = self.known_hash(account, old)?;
        let hash = self.hasher.hash(new)?;
        let by = Origin::request(Actor::Account(account.id), &place.request);
        if !self.store.set_password(account.id, &hash, Some(&known), self.clock.now(), &by)? {
            return Err(SignInError::Wrong);
        }
        self.open(account.id, Some(&hash), place)
    }

    /// Makes a link by which its owner sets the account's password; earlier links are void.
    ///
    /// # Errors
    /// [`SignInError::UnknownAccount`], or the store's failure.
    pub fn make_link(&self, account: AccountId, by: &Origin) -> Result<Token, SignInError> {
        let (token, now) = (Token::generate()?, self.clock.now());
        let expires_at = now.saturating_add(LINK_LASTS).unwrap_or(Timestamp::MAX);
        let link = SetUpLink { token: token.hash(), account, created_at: now, expires_at };
        match self.store.add_set_up_link(&link, by)? {
            true => Ok(token),
            false => Err(SignInError::UnknownAccount),
        }
    }

    /// Whose password a link sets.
    ///
    /// # Errors
    /// [`SignInError::LinkOver`] or the store's failure.
    pub fn link_account(&self, token: &Token) -> Result<Account, SignInError> {
        let account = self.store.set_up_account(&token.hash(), self.clock.now())?;
        account.ok_or(SignInError::LinkOver)
    }

    /// Uses a link up: sets the password, ends all sessions of the account, and begins a new one.
    ///
    /// # Errors
    /// [`SignInError::LinkOver`], [`SignInError::Weak`], [`SignInError::Busy`], or the store's failure.
    pub fn use_link(&self, token: &Token, password: &Password, place: &Place) -> Result<Opened, SignInError> {
        let account = self.link_account(token)?;
        password.check(&account.email)?;
        let hash = self.hasher.hash(password)?;
        let by = Origin::request(Actor::Account(account.id), &place.request);
        let used = self.store.use_set_up_link(&token.hash(), &hash, self.clock.now(), &by)?;
        self.open(used.ok_or(SignInError::LinkOver)?.id, Some(&hash), place)
    }

    /// Gives an account a role; holds at once.
    ///
    /// # Errors
    /// [`SignInError::UnknownAccount`] or the store's failure.
    pub fn set_role(&self, account: AccountId, role: Role, by: &Origin) -> Result<(), SignInError> {
        match self.store.set_role(account, role, self.clock.now(), by)? {
            true => Ok(()),
            false => Err(SignInError::UnknownAccount),
        }
    }

    /// Removes what has expired. The housekeeper calls it every now and then.
    ///
    /// # Errors
    /// The store's failure.
    pub fn keep_house(&self) -> Result<(), SignInError> {
        Ok(self.store.forget_expired(self.clock.now())?)
    }
}

/// At most [`USER_AGENT_BYTES`], at the end of a character, without control characters.
fn cut(text: &str) -> String {
    let mut end = text.len().min(USER_AGENT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].chars().filter(|character| !character.is_control()).collect()
}
