//! The changes of a watch by run.

use crate::base::ids::RunId;
use crate::model::diff::Difference;
use crate::model::watch::{ChangeKind, StoredChange};
use crate::web::error::WebError;
use crate::web::pages::difference_row::DifferenceRow;
use crate::web::show::Moment;

/// The changes that were found in one run.
pub(super) struct ChangedRun {
    pub(super) run: RunId,
    pub(super) at: Moment,
    /// The runs with which its results were compared. They differ if a module came to no conclusion for a while.
    pub(super) before: Vec<RunId>,
    pub(super) changes: Vec<ChangeRow>,
}

/// A change.
pub(super) struct ChangeRow {
    pub(super) name: &'static str,
    /// The CSS class of its badge.
    pub(super) tone: &'static str,
    pub(super) row: DifferenceRow,
}

/// Returns the changes by run, in their order.
///
/// # Errors
/// Returns 500 if a stored change cannot be read.
pub(super) fn by_run(changes: Vec<StoredChange>) -> Result<Vec<ChangedRun>, WebError> {
    let mut runs: Vec<ChangedRun> = Vec::new();
    for change in changes {
        let StoredChange { kind, run_before, run_after, at, difference, .. } = change;
        let difference: Difference = serde_json::from_value(difference).map_err(WebError::internal)?;
        let (name, tone) = match kind {
            ChangeKind::Added => ("added", "good"),
            ChangeKind::Removed => ("removed", "bad"),
            ChangeKind::Changed => ("changed", "accent"),
        };
        let row = ChangeRow { name, tone, row: DifferenceRow::new(&difference) };
        match runs.last_mut().filter(|last| last.run == run_after) {
            Some(last) => {
                if !last.before.contains(&run_before) {
                    last.before.push(run_before);
                }
                last.changes.push(row);
            }
            None => runs.push(ChangedRun {
                run: run_after,
                at: Moment(at),
                before: vec![run_before],
                changes: vec![row],
            }),
        }
    }
    Ok(runs)
}
