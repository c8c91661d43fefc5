//! A batch as a file: the results of all its searches, and the matrix of its queries and platforms.

use std::sync::Arc;

use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::context::{Api, Call, json_response};
use super::error::ApiError;
use super::request;
use crate::base::ids::BatchId;
use crate::http::{Reply, Response};
use crate::report::batch::{BatchFormat, BatchMatrix, BatchReport, file_name};
use crate::report::batch_export::write_batch;

/// The query parameters of an export.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct BatchExportParameters {
    /// Format of the file; `json` by default.
    #[param(required = false, value_type = BatchFormat)]
    format: Option<BatchFormat>,
}

/// Gets the results of all searches of a batch as a file.
///
/// Contains the results found so far if the batch has not ended; the file name then says so. If the export fails before
/// its end, the connection is closed, so that an incomplete file never looks complete. CSV cells never run as formulas
/// in a spreadsheet. Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/batches/{batch_id}/export",
    operation_id = "exportBatch",
    tag = "Batches",
    params(BatchExportParameters),
    responses(
        (status = 200, description = "The file.",
            content(
                (BatchReport<'_> = "application/json"), (String = "application/x-ndjson"), (String = "text/csv"),
            ),
            headers(("Content-Disposition" = String))),
    )
)]
pub fn export(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let BatchExportParameters { format } = request::query(call.request)?;
    let format = format.unwrap_or(BatchFormat::Json);
    let batch = api.find_batch(call)?;
    let name = file_name(&batch, "batch", format.as_str());
    let head = Response::empty(200)
        .with_header("Content-Type", format.media_type())
        .with_header("Content-Disposition", format!("attachment; filename=\"{name}\""));
    let (api, request_id) = (Arc::clone(api), call.request_id.clone());
    Ok(Reply::file(head, move |out| {
        let written = write_batch(&api.batches, &api.runs, &batch, format, out);
        written.inspect_err(|error| error.log("a batch", &request_id)).is_ok()
    }))
}

/// A format of the matrix: `json` or `csv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatrixFormat {
    /// One document.
    Json,
    /// RFC 4180 with a header: one row for each query, one column for each module.
    Csv,
}

/// The query parameters of the matrix.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MatrixParameters {
    /// Format of the file; `json` by default.
    #[param(required = false, value_type = MatrixFormat)]
    format: Option<MatrixFormat>,
}

/// Gets the outcomes of a batch: its queries by the platforms that were asked.
///
/// Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/batches/{batch_id}/matrix",
    operation_id = "getBatchMatrix",
    tag = "Batches",
    params(MatrixParameters),
    responses(
        (status = 200, description = "The matrix.",
            content((BatchMatrix<'_> = "application/json"), (String = "text/csv")),
            headers(("Content-Disposition" = String))),
    )
)]
pub fn matrix(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let MatrixParameters { format } = request::query(call.request)?;
    let format = format.unwrap_or(MatrixFormat::Json);
    let batch = api.find_batch(call)?;
    let name = file_name(&batch, "matrix", "csv");
    let api = Arc::clone(api);
    Ok(call.later(move || {
        let response = matrix_of(&api, batch.id, format)?;
        Ok(Reply::Now(match format {
            MatrixFormat::Csv => {
                response.with_header("Content-Disposition", format!("attachment; filename=\"{name}\""))
            }
            MatrixFormat::Json => response,
        }))
    }))
}

fn matrix_of(api: &Api, batch: BatchId, format: MatrixFormat) -> Result<Response, ApiError> {
    let matrix = api.batches.matrix(batch)?;
    let columns = matrix.columns();
    let body = BatchMatrix::new(&matrix, &columns);
    if format == MatrixFormat::Json {
        return Ok(json_response(200, &body));
    }
    let mut bytes = Vec::new();
    // Cannot happen: a Vec takes all bytes.
    body.write_csv(&mut bytes).map_err(ApiError::internal)?;
    Ok(Response::new(200, BatchFormat::Csv.media_type(), bytes))
}
