//! [`SignInStore`]: storage of passwords, sessions and set-up links.

use jiff::Timestamp;

use super::attempts::{Allowance, Attempt, Subject};
use super::session::Session;
use super::token::TokenHash;
use crate::account::account::{Account, Role};
use crate::account::audit::Origin;
use crate::base::ids::{AccountId, SessionId};
use crate::base::storage::StorageError;

/// A link with which a password is set once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetUpLink {
    /// The hash of the link's token.
    pub token: TokenHash,
    /// The account whose password it sets.
    pub account: AccountId,
    /// The time at which it was created.
    pub created_at: Timestamp,
    /// The time at which it expires.
    pub expires_at: Timestamp,
}

/// The storage of passwords, sessions and set-up links. Every change except expiry is recorded in the audit with its
/// origin. Nothing is created for an account that is being deleted. `store` is the only implementation: the trait
/// keeps SQL out of this layer.
pub trait SignInStore: Send + Sync {
    /// Returns the hash of an account's password as a PHC string, or `None` if the account has no password.
    fn password(&self, account: AccountId) -> Result<Option<String>, StorageError>;

    /// Replaces the password with the hash `known`, ends all sessions and voids set-up links. Returns `false` if the
    /// account is unknown or its password has changed.
    fn set_password(
        &self,
        account: AccountId,
        hash: &str,
        known: Option<&str>,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError>;

    /// Creates a session for a user who entered the password with the hash `known`. Returns `false` if the account is
    /// unknown or its password has changed.
    fn open_session(
        &self,
        session: &Session,
        token: &TokenHash,
        known: Option<&str>,
        by: &Origin,
    ) -> Result<bool, StorageError>;

    /// Returns the session with that token and its account, if it has not expired.
    fn session(&self, token: &TokenHash, now: Timestamp) -> Result<Option<(Session, Account)>, StorageError>;

    /// Records that a session was used, and its new time of expiry. Recorded times never become earlier.
    fn touch_session(&self, id: SessionId, seen: Timestamp, expires: Timestamp) -> Result<(), StorageError>;

    /// Returns the sessions of an account that have not expired, the most recently used one first.
    fn sessions(&self, account: AccountId, now: Timestamp) -> Result<Vec<Session>, StorageError>;

    /// Ends a session of that account. Returns `false` if the account has no such session.
    fn end_session(
        &self,
        account: AccountId,
        id: SessionId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError>;

    /// Adds a link and voids earlier ones of the account. Returns `false` if the account is unknown.
    fn add_set_up_link(&self, link: &SetUpLink, by: &Origin) -> Result<bool, StorageError>;

    /// Returns the account whose password that link sets, if the link is valid.
    fn set_up_account(&self, token: &TokenHash, now: Timestamp) -> Result<Option<Account>, StorageError>;

    /// Consumes a link: sets the password of its account and ends all sessions. Returns `None` if the link is not
    /// valid.
    fn use_set_up_link(
        &self,
        token: &TokenHash,
        hash: &str,
        now: Timestamp,
        by: &Origin,
    ) -> Result<Option<Account>, StorageError>;

    /// Changes the role of an account. Returns `false` if the account is unknown.
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

    /// Subtracts an attempt that succeeded.
    fn return_attempt(&self, subject: &Subject, allowance: Allowance) -> Result<(), StorageError>;

    /// Removes expired sessions and links, and counts of attempts that have no effect any more.
    fn remove_expired(&self, now: Timestamp) -> Result<(), StorageError>;
}
