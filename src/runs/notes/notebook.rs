//! [`Notebook`]: changes what is noted about runs and their results.

use std::sync::Arc;

use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::notes::{Annotation, AnnotationUpdate, RunNotes, RunNotesUpdate};
use crate::runs::dispatcher::Dispatcher;

/// A component that changes notes.
pub struct Notebook {
    dispatcher: Arc<Dispatcher>,
}

impl Notebook {
    pub(in crate::runs) fn new(dispatcher: Arc<Dispatcher>) -> Self {
        Self { dispatcher }
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
        let context = &self.dispatcher.context;
        let noted = context.store.note_run(run, account, update, context.clock.now(), by)?;
        self.dispatcher.registry.note_annotated(run);
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
        let context = &self.dispatcher.context;
        let noted = context.store.annotate(run, result, account, update, context.clock.now(), by)?;
        self.dispatcher.registry.note_annotated(run);
        Ok(noted)
    }
}
