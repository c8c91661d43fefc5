//! [`NoteStore`]: storage of what owners note about their runs and results.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::annotation::{Annotation, AnnotationUpdate, RunNotes, RunNotesUpdate};
use crate::account::audit::Origin;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::runs::run::ResultRecord;

/// Everything that is noted about a run and its results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredNotes {
    /// The tags and the note of the run.
    pub run: RunNotes,
    /// The annotations of results, by the ids of the results.
    pub results: BTreeMap<u32, Annotation>,
}

impl StoredNotes {
    /// Returns whether nothing is noted.
    pub fn is_empty(&self) -> bool {
        self.run.is_empty() && self.results.is_empty()
    }

    /// Adds the annotations to their results.
    pub fn annotate(&self, results: &mut [ResultRecord]) {
        if self.results.is_empty() {
            return;
        }
        for result in results {
            result.annotation = self.results.get(&result.id).cloned();
        }
    }
}

/// The storage of notes. Changes are recorded in the audit, without what was noted.
pub trait NoteStore: Send + Sync {
    /// Returns what is noted about a run and its results. Nothing is noted about an unknown run.
    fn notes(&self, run: RunId) -> Result<StoredNotes, StorageError>;

    /// Changes the tags or the note of a run. Returns its notes, or `None` if it is unknown, deleted or of
    /// another account.
    fn note_run(
        &self,
        run: RunId,
        account: AccountId,
        update: &RunNotesUpdate,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<RunNotes>, StorageError>;

    /// Changes the annotation of a stored result. Returns the annotation, or `None` if the result is unknown or the run
    /// is deleted or of another account.
    fn annotate(
        &self,
        run: RunId,
        result: u32,
        account: AccountId,
        update: &AnnotationUpdate,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Annotation>, StorageError>;
}
