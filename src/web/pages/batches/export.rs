//! The results of a batch as a file.

use std::io::{self, Write};
use std::sync::Arc;

use log::warn;

use super::lookup::find;
use crate::http::{Reply, Response, StreamEnd};
use crate::report::account::ExportError;
use crate::report::batch::{BatchFormat, file_name};
use crate::report::batch_export::write_batch;
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The number of bytes that are sent at once.
const PIECE_BYTES: usize = 32 * 1024;

/// Handles `GET /app/batches/{batch_id}/export?format=…`: sends the results found so far. If the export fails before
/// its end, the connection is closed, so that an incomplete file never looks complete.
///
/// # Errors
/// Returns 400 for an unknown format, 404 for an unknown batch, 503 if the store is unavailable.
pub(in crate::web) fn export(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let format = BatchFormat::from_name(visit.query().get("format"));
    let format =
        format.ok_or_else(|| WebError::invalid("A batch can be exported as json, ndjson or csv."))?;
    let batch = find(web, &visit)?;
    let name = file_name(&batch, "batch", format.as_str());
    let head = Response::empty(200)
        .with_header("Content-Type", format.media_type())
        .with_header("Content-Disposition", format!("attachment; filename=\"{name}\""));
    let web = Arc::clone(web);
    Ok(Reply::Stream(
        head,
        Box::new(move |out| {
            let mut out = io::BufWriter::with_capacity(PIECE_BYTES, out);
            let written = write_batch(&web.parts.batches, &web.parts.runs, &batch, format, &mut out);
            let written = written.and_then(|()| out.flush().map_err(ExportError::from));
            // The stream is dropped without sending the rest of an incomplete document.
            drop(out.into_parts());
            match written {
                Ok(()) => StreamEnd::Complete,
                Err(ExportError::Io(_)) => StreamEnd::ReaderGone,
                Err(error) => {
                    warn!(request_id = visit.request_id.as_str(); "the export of a batch failed: {error}");
                    StreamEnd::ReaderGone
                }
            }
        }),
    ))
}
