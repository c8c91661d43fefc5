//! Following one lead of a run on request.

use std::sync::Arc;

use uuid::Uuid;

use super::context::{Api, Call};
use super::error::ApiError;
use super::searches::{Answer, accepted_run, refused};
use crate::account::service::Caller;
use crate::base::ids::RequestId;
use crate::http::Reply;
use crate::model::audit::Origin;
use crate::model::credits::STANDARD_COST;
use crate::runs::family::service::FollowResult;
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
    let no_such_lead = || ApiError::not_found("unknown lead");
    let lead = Uuid::try_parse(lead).map_err(|_| no_such_lead())?;
    let family = api.runs.families.of(api.runs.reader.record(found)?)?;
    let charge = api.accounts.charge(caller, STANDARD_COST);
    let origin = Origin::request(caller.actor, request_id);
    match api.runs.families.follow(&family, lead, &charge, origin)? {
        FollowResult::Run(id) => api.runs.reader.find(id, caller.account.id)?.ok_or_else(no_such_lead),
        FollowResult::NoSuchLead => Err(no_such_lead()),
        FollowResult::NotFollowable(Some(reason)) => {
            let reason = serde_json::to_value(reason).unwrap_or_default();
            let reason = reason.as_str().unwrap_or_default().to_owned();
            Err(ApiError::conflict(format!("this lead cannot be followed: {reason}")))
        }
        FollowResult::NotFollowable(None) => {
            Err(ApiError::conflict("the search has found this lead already"))
        }
        FollowResult::Suppressed => Err(ApiError::suppressed()),
        FollowResult::Refused(refused) => Err(self::refused(refused, &charge)),
    }
}
