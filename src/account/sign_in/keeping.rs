//! What signing in asks of storage. `store` implements it, once for each database.

use jiff::Timestamp;

use super::attempts::{Allowance, Attempt, Subject};
use super::session::Session;
use super::token::TokenHash;
use crate::account::account::{Account, Role};
use crate::account::audit::Origin;
use crate::base::ids::{AccountId, SessionId};
use crate::base::storage::StorageError;

/// A link that sets a password, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetUpLink {
    /// What the store knows it by.
    pub token: TokenHash,
    /// Whose password.
    pub account: AccountId,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Keeps passwords, sessions and set-up links. Every change but the passing of time is noted in the audit, with its
/// origin. None is made for an account that is being deleted.
pub trait SignInStore: Send + Sync {
    /// The hash of an account's password, a PHC string. `None`: it has none.
    fn password(&self, account: AccountId) -> Result<Option<String>, StorageError>;

    /// Sets a password instead of the one with the hash `known`, and ends all sessions; set-up links are void.
    /// `false`: no such account, or its password is another one by now.
    fn set_password(
        &self,
        account: AccountId,
        hash: &str,
        known: Option<&str>,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError>;

    /// Begins a session for whoever knew the password with the hash `known`. `false`: no such account, or its password
    /// is another one by now.
    fn open_session(
        &self,
        session: &Session,
        token: &TokenHash,
        known: Option<&str>,
        by: &Origin,
    ) -> Result<bool, StorageError>;

    /// The session of that token and its account, if it has not expired.
    fn session(&self, token: &TokenHash, now: Timestamp) -> Result<Option<(Session, Account)>, StorageError>;

    /// Notes that a session was used, and when it ends now. Never moves a date back.
    fn touch_session(&self, id: SessionId, seen: Timestamp, expires: Timestamp) -> Result<(), StorageError>;

    /// The sessions of an account that have not expired, the one last used first.
    fn sessions(&self, account: AccountId, now: Timestamp) -> Result<Vec<Session>, StorageError>;

    /// Ends a session of that account. `false`: it has no such session.
    fn end_session(
        &self,
        account: AccountId,
        id: SessionId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError>;

    /// Adds a link; earlier ones of the account are void. `false`: no such account.
    fn add_set_up_link(&self, link: &SetUpLink, by: &Origin) -> Result<bool, StorageError>;

    /// Whose password that link sets, if it is still good.
    fn set_up_account(&self, token: &TokenHash, now: Timestamp) -> Result<Option<Account>, StorageError>;

    /// Uses a link up: sets the password of its account and ends all sessions of it. `None`: it is not good (any more).
    fn use_set_up_link(
        &self,
        token: &TokenHash,
        hash: &str,
        now: Timestamp,
        by: &Origin,
    ) -> Result<Option<Account>, StorageError>;

    /// Gives an account a role. `false`: no such account.
    fn set_role(
        &self,
        account: AccountId,
        role: Role,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError>;

    /// Counts an attempt to sign in.
    fn attempt(
        &self,
        subject: &Subject,
        allowance: Allowance,
        now: Timestamp,
    ) -> Result<Attempt, StorageError>;

    /// Gives an attempt back: it succeeded.
    fn forgive(&self, subject: &Subject, allowance: Allowance) -> Result<(), StorageError>;

    /// Removes sessions and links that have expired, and counts of attempts that hold nobody back.
    fn forget_expired(&self, now: Timestamp) -> Result<(), StorageError>;
}
