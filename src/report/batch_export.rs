//! Writes the results of all searches of a batch as one file.

use std::io::Write;

use super::account::ExportError;
use super::batch::{BatchFormat, BatchWriter};
use crate::model::batch::Batch;
use crate::runs::batches::service::Batches;
use crate::runs::service::Runs;

/// The number of searches that are read from the store at once.
const PAGE: usize = 50;

/// Writes the results that the searches of a batch have found so far.
///
/// # Errors
/// Returns an error if the store or `out` fails. The file is then incomplete.
pub fn write_batch(
    batches: &Batches,
    runs: &Runs,
    batch: &Batch,
    format: BatchFormat,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut file = BatchWriter::begin(out, format, batch)?;
    let mut after = 0;
    loop {
        let rows = batches.rows(batch.id, after, PAGE)?;
        let Some(last) = rows.last() else { break };
        after = last.position;
        for row in &rows {
            let found = match row.run() {
                Some(run) => runs.reader.find(run.id, batch.account)?,
                None => None,
            };
            let record = found.map(|found| runs.reader.record(&found)).transpose()?;
            file.search(row, record.as_ref())?;
        }
    }
    Ok(file.end()?)
}
