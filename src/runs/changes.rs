//! What owners change about their runs: they stop them, delete them, and note something about them.

use super::family::advance::advance;
use super::service::Runs;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::notes::{Annotation, AnnotationUpdate, RunNotes, RunNotesUpdate};

impl Runs {
    /// Deletes a run and all runs that its leads and theirs have started. Returns `false` like [`Self::delete`].
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn delete_family(&self, root: RunId, account: AccountId, by: &Origin) -> Result<bool, StorageError> {
        let context = &self.context;
        let deleted = context.store.delete_family(root, account, by)?;
        deleted.iter().for_each(|run| self.registry.note_deleted(*run));
        Ok(!deleted.is_empty())
    }

    /// Deletes a run. Stops it first if it is running. Returns `false` if the run is unknown, already deleted or of
    /// another account.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn delete(&self, id: RunId, account: AccountId, by: &Origin) -> Result<bool, StorageError> {
        let known = self.context.store.delete(id, account, by)?;
        if known {
            self.registry.note_deleted(id);
        }
        Ok(known)
    }

    /// Stops a run, and the runs below it if it is the root of a family. A run that is driven ends a moment later, by
    /// whichever instance drives it. A run that waits ends at once. Does nothing to runs that have ended. Returns `false`
    /// if the run is unknown, deleted or of another account.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn stop(&self, id: RunId, account: AccountId, by: &Origin) -> Result<bool, StorageError> {
        let context = &self.context;
        let Some(stopped) = context.store.stop(id, account, context.clock.now(), by)? else {
            return Ok(false);
        };
        for run in stopped {
            match self.registry.live(run.id) {
                Some(live) => live.end_early(run.at),
                None if run.waits => self.end_waiting(run.id)?,
                // The driver is on another instance, which was notified.
                None => {}
            }
        }
        // The following of leads ends if no run of the family is running.
        advance(context, id, account, None);
        Ok(true)
    }

    /// Changes the tags or the note of a run. Returns its notes, or `None` if the run is unknown, deleted or of another
    /// account.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn note_run(
        &self,
        run: RunId,
        account: AccountId,
        update: &RunNotesUpdate,
        by: &Origin,
    ) -> Result<Option<RunNotes>, StorageError> {
        let context = &self.context;
        let noted = context.store.note_run(run, account, update, by)?;
        self.registry.note_annotated(run);
        Ok(noted)
    }

    /// Changes the annotation of a stored result. Returns the annotation, or `None` if the result is unknown or the run
    /// is deleted or of another account.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn annotate(
        &self,
        run: RunId,
        result: u32,
        account: AccountId,
        update: &AnnotationUpdate,
        by: &Origin,
    ) -> Result<Option<Annotation>, StorageError> {
        let context = &self.context;
        let noted = context.store.annotate(run, result, account, update, by)?;
        self.registry.note_annotated(run);
        Ok(noted)
    }
}
