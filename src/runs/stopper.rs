//! [`Stopper`]: stops a search before its end. It then ends with what it has.

use std::sync::Arc;

use super::dispatcher::Dispatcher;
use super::family::advance::advance;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;

/// A component that stops searches.
pub struct Stopper {
    dispatcher: Arc<Dispatcher>,
}

impl Stopper {
    pub(super) fn new(dispatcher: Arc<Dispatcher>) -> Self {
        Self { dispatcher }
    }

    /// Stops a run, and the runs below it if it is the root of a family. A run that is driven ends a moment later, by
    /// whichever instance drives it. A run that waits ends at once. Does nothing to runs that have ended. Returns `false`
    /// if the run is unknown, deleted or of another account.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn stop(&self, id: RunId, account: AccountId, by: &Origin) -> Result<bool, StorageError> {
        let context = &self.dispatcher.context;
        let Some(stopped) = context.store.stop(id, account, context.clock.now(), by)? else {
            return Ok(false);
        };
        for run in stopped {
            match self.dispatcher.registry.live(run.id) {
                Some(live) => live.end_early(run.at),
                None if run.waits => self.dispatcher.end_waiting(run.id)?,
                // The driver is on another instance, which was notified.
                None => {}
            }
        }
        // The following of leads ends if no run of the family is running.
        advance(context, id, account, None);
        Ok(true)
    }
}
