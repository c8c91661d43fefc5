//! What rate limits ask of a store that several instances work on.

use std::time::Duration;

use super::Policy;
use crate::base::ids::AccountId;
use crate::base::storage::StorageError;

/// Asks for the right to answer requests.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// Of whom.
    pub account: AccountId,
    /// Of what kind.
    pub policy: Policy,
    /// The most that may count at any time, over all instances.
    pub limit: u32,
    /// So many requests at once; fewer are granted where little is left, so that other instances get some.
    pub wanted: u32,
    /// How long they count.
    pub counts_for: Duration,
}

/// What a store has granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// When, in milliseconds since 1970, by the database's clock.
    pub moment: i64,
    /// How many requests, at least 1.
    pub requests: u32,
}

/// What became of an [`Ask`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// `None`: all that the limit allows counts already.
    pub grant: Option<Grant>,
    /// How many requests count now, these too.
    pub used: u32,
    /// How long it takes until the oldest of them no longer count.
    pub frees_in: Duration,
}

/// Grants requests to instances, each of which may answer as many. Times are those of the database's clock.
pub trait Quota: Send + Sync {
    /// Grants what there is of what is wanted. `None`: there is no such account, any more.
    fn take(&self, ask: &Ask) -> Result<Option<Taken>, StorageError>;

    /// Takes back `unused` requests of a grant.
    fn give_back(
        &self,
        account: AccountId,
        policy: Policy,
        grant: Grant,
        unused: u32,
    ) -> Result<(), StorageError>;
}
