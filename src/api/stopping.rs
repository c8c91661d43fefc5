//! Stopping a search before its end, and asking the modules again that came to no conclusion.

use std::sync::Arc;

use super::context::{Api, Call, ok_json};
use super::decode;
use super::error::ApiError;
use super::searches::{Answer, accepted_run};
use crate::http::Reply;
use crate::report::body::RunHead;

/// Stops a search.
///
/// The search ends a moment later with what it has: checks under way are given up, and the modules that are left end as
/// `skipped` with the reason `stopped`. Its status is then `completed`, or `failed` with a refund if no module had come to
/// a conclusion. The first search of a family stops all its searches, and no further lead is followed. Does nothing to a
/// search that has ended. Costs no credits.
#[utoipa::path(post, path = "/v1/searches/{run_id}/stop",
    responses((
        status = 200,
        description = "The search has ended or ends soon: follow its stream, or read it again.",
        body = RunHead<'_>
    )))]
pub fn stop_search(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (account, id) = (call.caller()?.account.id, call.id("run")?);
    if !api.runs.stop(id, account, &call.origin()?)? {
        return Err(ApiError::no_such("run"));
    }
    let summary = api.runs.reader.state(&api.find(call)?)?.summary;
    Ok(ok_json(&RunHead::from(&summary)))
}

/// Asks the modules again that came to no conclusion.
///
/// Starts a search of these modules alone, with the query and the options of the first one; it follows no leads. Costs as
/// much as a search. Counts as `search`.
#[utoipa::path(post, path = "/v1/searches/{run_id}/retry",
    params(("Idempotency-Key" = String, Header)),
    responses(
        (status = 200, description = "The search is accepted.", body = Answer<'_>,
            headers(("Location" = String), ("X-Run-Id" = String))),
        (status = 402), (status = 409)))]
pub fn retry_search(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let caller = call.caller()?;
    let key = decode::idempotency_key(call.request)?;
    let found = api.find(call)?;
    Ok(accepted_run(&api.services.retry(caller, &found, key, call.origin()?)?, &api.root))
}
