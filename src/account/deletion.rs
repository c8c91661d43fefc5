//! Deletes accounts in small steps, so that other writers are not blocked. An interrupted deletion is resumed.

use std::thread;
use std::time::{Duration, Instant};

use log::{info, log};

use super::service::{Accounts, no_account};
use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::model::account::{Account, Erased};
use crate::model::audit::Origin;
use crate::model::refusal::{Code, Refusal};

/// The bounds of the pause after a step. Within them, the pause is as long as the step took. A process that waits for
/// an SQLite file polls its lock, and would never find it free without a pause.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));
/// The interval at which a server searches for deletions that have begun and not ended.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// The longest duration of one round. The maintenance thread also takes over runs and starts those of batches and watches.
const ROUND: Duration = Duration::from_millis(250);

impl Accounts {
    /// Deletes the account with that email address and all its personal data. Its keys are refused at once by this
    /// process, and within [`KEY_CACHE_TTL`](super::service::KEY_CACHE_TTL) by other processes. Its live runs stop,
    /// and no instance starts new ones. Then the data is removed, which may take a while.
    ///
    /// # Errors
    /// Returns the refusal of an unknown account, and a failure of the store, whose message says whether the account is closed.
    pub fn delete_account(&self, email: &str, by: &Origin) -> Result<(Account, Erased), Refusal> {
        let account = self.account_by_email(email)?;
        let erased = self.close_account(account.id, by)?;
        self.erase(account.id, None).map_err(|error| {
            let message = "the account is closed for good, but not all of it is removed yet: a running server goes on with \
                           that, and so does the same command";
            Refusal::new(Code::Unavailable, message).with_cause(format!("{message}: {error}"))
        })?;
        Ok((account, erased))
    }

    /// Closes an account. The maintenance thread then removes its data, starting at once.
    ///
    /// # Errors
    /// Returns the refusal of an unknown account.
    pub fn close_account(&self, id: AccountId, by: &Origin) -> Result<Erased, Refusal> {
        let closed = self.store.close_account(id, by)?;
        self.evict_access_of(id);
        *self.deletions_due.lock() = Instant::now();
        closed.ok_or_else(|| no_account(&id.to_string()))
    }

    /// Removes the data of a closed account, until that moment at most. Returns whether all of it was removed.
    fn erase(&self, account: AccountId, until: Option<Instant>) -> Result<bool, StorageError> {
        loop {
            let begun = Instant::now();
            let is_gone = self.store.erase_closed(account)?;
            if is_gone || until.is_some_and(|until| Instant::now() >= until) {
                return Ok(is_gone);
            }
            thread::sleep(begun.elapsed().clamp(PAUSE.0, PAUSE.1));
        }
    }

    /// Continues, for a short time, the deletions that have begun and not ended, for instance because a command was
    /// interrupted. The maintenance thread calls this about once a second.
    pub fn finish_deletions(&self) {
        let mut due = self.deletions_due.lock();
        if Instant::now() < *due {
            return;
        }
        let until = Instant::now() + ROUND;
        let closed = self.store.closed_accounts().unwrap_or_else(|error| {
            log!(error.log_level(), "cannot look for accounts that are being deleted: {error}");
            Vec::new()
        });
        for account in closed {
            match self.erase(account, Some(until)) {
                // The next call goes on.
                Ok(false) => return,
                Ok(true) => info!("account {account}: finished its interrupted deletion"),
                // It must not block the following ones.
                Err(error) => {
                    log!(
                        error.log_level(),
                        "account {account}: cannot finish its interrupted deletion: {error}"
                    );
                }
            }
        }
        *due = Instant::now() + POLL_INTERVAL;
    }
}
