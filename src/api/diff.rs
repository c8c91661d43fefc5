//! What changed between two runs.

use std::sync::Arc;

use super::context::{Api, Call, ok_json};
use super::error::ApiError;
use crate::http::Reply;
use crate::model::diff::Diff;
use crate::runs::record::RunRecord;

/// Compares two runs.
///
/// Lists what changed from the run `run_id` to the run `other`: two runs of the same type and query that have ended.
/// Nothing is stated that the runs do not prove: where a module came to no conclusion in one of them, took no part, or
/// had other rules, its results are `unknown`, and never `removed` or `added`. Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/searches/{run_id}/diff/{other}",
    operation_id = "diffSearches",
    tag = "Searches",
    params(("other" = Uuid, Path,
        description = "Identifies the run whose changes are listed: the hyphenated form of a UUID. A malformed id gets \
                       404, like an unknown one.",
        example = "018f4b1a-2c3d-7e4f-8a5b-6c7d8e9f0a1b")),
    responses(
        (status = 200, description = "What changed.", body = Diff),
        (status = 409, description = "run_not_ended"),
        (status = 422, description = "runs_differ"),
    )
)]
pub fn diff(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let before = api.runs.reader.record(&api.find(call)?)?;
    let after = api.runs.reader.record(&api.find_in(call, "other")?)?;
    between(api, &before, &after).map(|diff| ok_json(&diff))
}

/// Returns what changed between two runs.
pub(super) fn between(api: &Api, before: &RunRecord, after: &RunRecord) -> Result<Diff, ApiError> {
    let catalog = api.runs.catalog();
    let runs = before.findings().zip(after.findings());
    let (before, after) = runs.ok_or_else(|| ApiError::internal("the stored query is not valid"))?;
    Diff::between(&before, &after, catalog.profiles()).map_err(ApiError::not_comparable)
}
