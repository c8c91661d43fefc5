//! Batches: create, list, read, stop; as a file.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::batch_body::{self, BatchBody, BatchParameters, CsvFile};
use super::context::{Api, Call, json_response, no_content, ok_json};
use super::decode;
use super::openapi::schemas::to_json;
use super::pages::{PageParameters, page_of};
use super::request;
use crate::base::ids::BatchId;
use crate::http::Reply;
use crate::model::batch::{Batch, BatchRow, MAX_SEARCHES};
use crate::model::page::cut;
use crate::model::refusal::Refusal;
use crate::model::run::count;
use crate::report::Format;
use crate::report::batch::BatchReport;
use crate::runs::batches::BatchMatrix;
use crate::runs::batches::draft::{Duplicate, InvalidRow};

/// The maximum number of invalid searches and of duplicates that an answer lists.
const MOST_LISTED: usize = 100;

/// The price of a batch, and the searches that it has twice.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchPrice {
    /// Credits that its searches cost if all are made, without those that leads start.
    pub credits: u64,
    /// Number of searches that are the same as an earlier one.
    pub duplicate_count: u32,
    /// These searches; the first 100 of them.
    pub duplicates: Vec<Duplicate>,
}

/// A batch that was accepted.
#[derive(Debug, Serialize, ToSchema)]
pub struct AcceptedBatch {
    /// The batch.
    #[serde(flatten)]
    pub batch: Batch,
    /// Its price.
    #[serde(flatten)]
    pub price: BatchPrice,
}

/// What a batch would cost, and which of its searches are not valid.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchPreview {
    /// Always true: nothing was charged and nothing was stored.
    pub dry_run: bool,
    /// Number of searches that would be made.
    pub searches: u32,
    /// Their price.
    #[serde(flatten)]
    pub price: BatchPrice,
    /// Credits that the account has left in this billing period; null if there is no limit.
    pub credits_remaining: Option<u64>,
    /// Number of searches that are not valid. A batch with one is refused.
    pub invalid_count: u32,
    /// These searches; the first 100 of them.
    pub invalid: Vec<InvalidRow>,
}

/// Creates a batch of searches.
///
/// Each search is an ordinary run, which is charged when it starts: 1 credit, or 2 for a premium search. Single searches
/// of all accounts come first, and accounts with batches take turns. Without credits a batch waits until there are some.
/// An account has at most 100 batches in progress.
/// If one search is not valid, nothing is accepted, and `detail.rows` lists all that are not. Counts as `search`.
///
/// The searches are JSON, or CSV in UTF-8 with the columns `type` and `query`. The cells may be separated by `;` or tabs.
/// One column of queries needs no header if `type` is given. A first line with a cell `query` is the header.
#[utoipa::path(post, path = "/v1/batches",
    params(BatchParameters, ("Idempotency-Key" = String, Header)),
    request_body(
        content(
            (BatchBody = "application/json", example = json!({"searches": [{"type": "username", "query": "octocat"}]})),
            (CsvFile = "text/csv", example = "type,query\nusername,octocat\n"),
        ),
        description = "1 to 1,000 searches, at most 2 MiB.",
    ),
    responses(
        (status = 200, description = "The answer to a dry run.", body = BatchPreview),
        (status = 201, description = "The batch is accepted. A repeated `Idempotency-Key` gets the earlier batch.",
            body = AcceptedBatch, headers(("Location" = String))), (status = 409)))]
pub fn create_batch(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let caller = call.caller()?;
    let key = decode::idempotency_key(call.request)?;
    let (draft, name, dry_run) = batch_body::read(api, call.request, caller)?;
    let invalid: Vec<InvalidRow> = draft.invalid.iter().take(MOST_LISTED).cloned().collect();
    let price = BatchPrice {
        credits: draft.cost(),
        duplicate_count: count(draft.duplicates.len()),
        duplicates: draft.duplicates.iter().take(MOST_LISTED).copied().collect(),
    };
    if dry_run {
        let (searches, invalid_count) = (count(draft.rows.len()), count(draft.invalid.len()));
        let credits_remaining = api.accounts.balance(caller)?.remaining();
        return Ok(ok_json(&BatchPreview {
            dry_run,
            searches,
            price,
            credits_remaining,
            invalid_count,
            invalid,
        }));
    }
    if !invalid.is_empty() {
        let message = format!("searches that are not valid: {}; nothing was accepted", draft.invalid.len());
        let refusal = Refusal::invalid_request("searches", message, "searches that are all valid");
        return Err(refusal.with("rows", to_json(&invalid)));
    }
    let id = api.services.create_batch(caller, name, &draft, key, &call.origin()?)?;
    let batch = api.find_batch(caller, id)?;
    let answer = AcceptedBatch { batch, price };
    let location = format!("{}/v1/batches/{id}", api.root);
    Ok(Reply::Now(json_response(201, &answer).with_header("Location", location)))
}

page_of! {
    /// A page of the caller's batches, newest first.
    BatchList { batches: [Batch], Uuid: "018f4a7e-5c1d-7b3a-9e2f-0123456789ad" }
}

/// Lists the batches of the account, newest first.
///
/// Costs no credits.
#[utoipa::path(get, path = "/v1/batches", params(PageParameters),
    responses((status = 200, body = BatchList)))]
pub fn list_batches(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let PageParameters { limit, cursor } = request::query(call.request)?;
    let (batches, next) = api.runs.batches(call.caller()?.account.id, cursor.map(BatchId), limit)?;
    Ok(BatchList::reply(batches, limit, next))
}

/// A batch with some of its searches.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchWithSearches {
    /// The batch.
    #[serde(flatten)]
    pub batch: Batch,
    /// Searches of the batch, in the order of the request.
    pub searches: Vec<BatchRow>,
    /// Value of `after` for the next searches; null if there are none.
    pub next_after: Option<u32>,
}

/// The query parameters of a batch.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RowParameters {
    /// The most searches in the answer.
    #[serde(default, deserialize_with = "request::whole::<_, _, 1, 1000>")]
    #[param(required = false, value_type = usize, minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Leaves out the searches up to this place.
    #[serde(default, deserialize_with = "request::whole::<_, _, 0, { u32::MAX }>")]
    #[param(required = false, value_type = i64, minimum = 0, maximum = 4_294_967_295_u64, default = 0)]
    after: Option<u32>,
}

/// Reads a batch: the number of its searches by state, and the searches.
///
/// Costs no credits.
#[utoipa::path(get, path = "/v1/batches/{batch_id}", params(RowParameters),
    responses((status = 200, body = BatchWithSearches)))]
pub fn get_batch(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let parameters: RowParameters = request::query(call.request)?;
    let (limit, after) = (parameters.limit.unwrap_or(100) as usize, parameters.after.unwrap_or(0));
    let batch = api.find_batch(call.caller()?, call.id("batch")?)?;
    let mut searches = api.store.batch_rows(batch.id, after, limit + 1)?;
    let next_after = cut(&mut searches, limit).map(|row| row.position);
    Ok(ok_json(&BatchWithSearches { batch, next_after, searches }))
}

/// Stops a batch.
///
/// Searches that have not begun are not made and not charged. Those that have begun go on. The batch and its results can
/// still be read. Stopping it again changes nothing.
#[utoipa::path(delete, path = "/v1/batches/{batch_id}",
    responses((status = 204, description = "The batch is stopped.")))]
pub fn stop_batch(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let account = call.caller()?.account.id;
    no_content(api.runs.stop_batch(account, call.id("batch")?, &call.origin()?)?, "batch")
}

/// Gets the results of all searches of a batch as a file.
///
/// Contains the results found so far if the batch has not ended; the file name then shows it. If the export fails before
/// its end, the connection is closed, so that an incomplete file never looks complete. CSV cells never run as formulas
/// in a spreadsheet. Costs no credits.
#[utoipa::path(get, path = "/v1/batches/{batch_id}/export",
    params(("format" = Option<String>, Query, description = "Format of the file; `json` by default.",
        pattern = "^(json|ndjson|csv)$", example = "json")),
    responses((status = 200, description = "The file.",
        content(
            (BatchReport<'_> = "application/json"), (String = "application/x-ndjson"), (String = "text/csv"),
        ),
        headers(("Content-Disposition" = String)))))]
pub fn export_batch(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let format = request::format(call.request, Format::OF_BATCHES)?;
    let batch = api.find_batch(call.caller()?, call.id("batch")?)?;
    Ok(api.batch_file(batch, format, call.request_id))
}

/// Gets the outcomes of a batch: its queries by the platforms that were asked.
///
/// Costs no credits.
#[utoipa::path(get, path = "/v1/batches/{batch_id}/matrix",
    params(("format" = Option<String>, Query, pattern = "^(json|csv)$", example = "json",
        description = "Format of the file; `json` by default. CSV has one row for each query, one column for each module.")),
    responses((status = 200, description = "The matrix.",
        content((BatchMatrix = "application/json"), (String = "text/csv")),
        headers(("Content-Disposition" = String)))))]
pub fn get_batch_matrix(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let format = request::format(call.request, Format::OF_MATRICES)?;
    let batch = api.find_batch(call.caller()?, call.id("batch")?)?;
    let api = Arc::clone(api);
    call.later_if(true, move || match format {
        Format::Json => Ok(ok_json(&api.runs.matrix(batch.id, 0, MAX_SEARCHES)?)),
        _ => api.matrix_file(&batch).map(Reply::Now),
    })
}
