//! Following one lead of a run on request.

use std::sync::Arc;

use uuid::Uuid;

use super::context::{Api, Call};
use super::error::ApiError;
use super::searches::{Answer, accepted_run};
use crate::account::service::Caller;
use crate::base::ids::RequestId;
use crate::http::Reply;
use crate::model::audit::Origin;
use crate::runs::service::Found;

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
    let lead = call.segments.get("lead_id").unwrap_or_default();
    let run = follow(api, call.caller()?, &api.find(call)?, lead, call.request_id)?;
    Ok(accepted_run(&run, &api.root))
}

/// Starts or finds the search for a lead of a run.
pub(super) fn follow(
    api: &Api,
    caller: &Caller,
    found: &Found,
    lead: &str,
    request_id: &RequestId,
) -> Result<Found, ApiError> {
    let lead = Uuid::try_parse(lead).map_err(|_| ApiError::no_such("lead"))?;
    Ok(api.services().follow(caller, found, lead, Origin::request(caller.actor, request_id))?)
}
