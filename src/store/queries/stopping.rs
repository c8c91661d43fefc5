//! Stopping runs before their end.

use jiff::Timestamp;

use super::audit::note;
use super::queue::waits;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::{Action, AuditEvent, Origin};
use crate::model::drive::{Notification, StoppedRun};
use crate::store::Store;
use crate::store::backend::Operation;
use crate::store::value::values;

/// Locks a run. A transaction that starts a run of its family holds this lock, too.
const LOCK: &str = "SELECT 1 FROM runs WHERE id = ?1 AND account = ?2 /*pg FOR NO KEY UPDATE */";
/// Marks a run that has not ended, or that still follows leads, and the runs of its family. `?3` is the time. A run that
/// was stopped before keeps its time.
const STOP: &str = concat!(
    "UPDATE runs SET stopped_at = coalesce(stopped_at, ?3) WHERE id IN \
     (SELECT id FROM runs WHERE (id = ?1 OR root_run = ?1) AND coalesce(account, NULL) = ?2 \
     AND (status = 'running' OR id = ?1 AND following = 'running') ORDER BY id /*pg FOR NO KEY UPDATE */) \
     RETURNING id, stopped_at, ",
    waits!(),
    ", status = 'running', stopped_at = ?3"
);

impl Store {
    /// Records that the owner stops a run, and the runs below it if it is the root of a family. Returns those that have
    /// not ended, which includes runs that were stopped before. Returns `None` if the run is unknown, deleted or of
    /// another account. A root that follows leads is stopped even if it has ended itself.
    pub fn stop(
        &self,
        id: RunId,
        account: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Vec<StoppedRun>>, StorageError> {
        self.write(Operation::new("stop"), |statements| {
            if !statements.has(LOCK, values![id, account])? {
                return Ok(None);
            }
            let mut stopped = Vec::new();
            for (id, at_first, waits, is_live, is_new) in statements.all(STOP, values![id, account, at])? {
                let run = StoppedRun { id, at: at_first, waits };
                if is_new {
                    note(statements, &AuditEvent::of_object(Action::RunStopped, account, id), at, by)?;
                }
                if is_live {
                    statements.announce(Notification::Stopped(run.id))?;
                    stopped.push(run);
                }
            }
            Ok(Some(stopped))
        })
    }
}
