//! Following one lead of a run on request.

use std::sync::Arc;

use super::context::{Api, Call};
use super::error::ApiError;
use super::searches::{Answer, accepted_run};
use crate::http::Reply;

/// Follows one lead of a run.
///
/// Starts a search for the lead, even if it is further away or less sure than leads are followed otherwise. An account is
/// looked up with its own module. Costs 1 credit; a request for a lead that has a search already answers that search and
/// costs nothing. Counts as `search`.
#[utoipa::path(
    post,
    path = "/v1/searches/{run_id}/leads/{lead_id}/follow",
    operation_id = "followLead",
    tag = "Searches",
    params(
        ("lead_id" = Uuid, Path, description = "Identifies the lead: see `GET /v1/searches/{run_id}/leads`.",
            example = "0b3c1c1e-7f0f-5b0e-8f5e-1d2c3b4a5968"),
    ),
    responses(
        (status = 200, description = "The search is accepted, or was accepted before.", body = Answer<'_>,
            headers(("Location" = String), ("X-Run-Id" = String))),
        (status = 402, description = "insufficient_credits"),
        (status = 403, description = "suppressed"),
        (status = 409, description = "conflict"),
        (status = 503, description = "unavailable"),
    )
)]
pub fn follow_lead(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (caller, run) = (call.caller()?, api.find(call)?);
    let lead = call.id("lead")?;
    Ok(accepted_run(&api.services().follow(caller, &run, lead, call.origin()?)?, &api.root))
}
