//! Deleting accounts: bit by bit, so that others can write meanwhile; what was begun is brought to its end.

use std::thread;
use std::time::{Duration, Instant};

use log::{info, warn};

use super::account::Account;
use super::audit::Origin;
use super::ledger::{Erased, Erasure};
use super::service::{AccountError, Accounts};
use crate::base::ids::AccountId;
use crate::base::storage::StorageError;

/// The pause after a part was removed: as long as that took, within these bounds. Whoever waits for an SQLite file
/// that another process writes to looks every now and then, and would never find it free.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));
/// How often a server looks for deletions that somebody began and did not end.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// How long one round may take: the housekeeper has leases to renew too.
const ROUND: Duration = Duration::from_millis(250);

impl Accounts {
    /// Deletes the account with that email address and everything personal. Its keys are refused at once here, within
    /// [`KEY_CACHE_TTL`](super::service::KEY_CACHE_TTL) in other processes; its live runs stop where they are driven;
    /// nothing can be started for it from now on, anywhere. Then all of it is removed, which may take a while.
    ///
    /// # Errors
    /// [`AccountError::UnknownAccount`], the store's failure before anything was done, or
    /// [`AccountError::Unfinished`] after that.
    pub fn delete_account(&self, email: &str, by: &Origin) -> Result<(Account, Erased), AccountError> {
        let account = self.account_by_email(email)?;
        let erased = self.close(account.id, by)?;
        self.erase(account.id).map_err(AccountError::Unfinished)?;
        Ok((account, erased))
    }

    /// The same without waiting for the end: closes the account for good, and leaves the rest to the housekeeper, which
    /// begins with it at once.
    ///
    /// # Errors
    /// [`AccountError::UnknownAccount`] or the store's failure.
    pub fn close_account(&self, id: AccountId, by: &Origin) -> Result<Erased, AccountError> {
        let erased = self.close(id, by)?;
        *self.deletions_due.lock() = Instant::now();
        Ok(erased)
    }

    fn close(&self, id: AccountId, by: &Origin) -> Result<Erased, AccountError> {
        let closed = self.ledger.close_account(id, self.clock.now(), by)?;
        self.forget_access_of(id);
        closed.ok_or(AccountError::UnknownAccount)
    }

    fn erase(&self, account: AccountId) -> Result<(), StorageError> {
        loop {
            let begun = Instant::now();
            if self.ledger.erase_closed(account)? == Erasure::Done {
                return Ok(());
            }
            thread::sleep(begun.elapsed().clamp(PAUSE.0, PAUSE.1));
        }
    }

    /// Goes on, for a moment, with deletions that somebody began and did not end: a command that was interrupted. The
    /// housekeeper calls it about once a second.
    pub fn finish_deletions(&self) {
        let mut due = self.deletions_due.lock();
        if Instant::now() < *due {
            return;
        }
        match self.finish_some(Instant::now() + ROUND) {
            Ok(Erasure::More) => {}
            Ok(Erasure::Done) => *due = Instant::now() + LOOK_EVERY,
            Err(error) => {
                warn!("what is left of deleted accounts was not removed: {error}");
                *due = Instant::now() + LOOK_EVERY;
            }
        }
    }

    fn finish_some(&self, until: Instant) -> Result<Erasure, StorageError> {
        let mut failure = None;
        for account in self.ledger.closed_accounts()? {
            match self.finish_one(account, until) {
                Ok(Erasure::More) => return Ok(Erasure::More),
                Ok(Erasure::Done) => {
                    info!("account {account}: its deletion, which somebody had begun, is done");
                }
                // It must not keep those behind it waiting.
                Err(error) => {
                    warn!("account {account}: its deletion, which somebody had begun, fails");
                    failure = Some(error);
                }
            }
        }
        failure.map_or(Ok(Erasure::Done), Err)
    }

    fn finish_one(&self, account: AccountId, until: Instant) -> Result<Erasure, StorageError> {
        while self.ledger.erase_closed(account)? == Erasure::More {
            if Instant::now() >= until {
                return Ok(Erasure::More);
            }
        }
        Ok(Erasure::Done)
    }
}
