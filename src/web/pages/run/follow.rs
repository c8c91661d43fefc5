//! Following one lead of a run.

use std::sync::Arc;

use super::lookup::find;
use crate::http::Reply;
use crate::model::credits::STANDARD_COST;
use crate::model::start::Refused;
use crate::runs::family::service::FollowResult;
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// Handles `POST /app/searches/{run_id}/leads/{lead_id}/follow`: starts a search for the lead, and redirects to its page.
/// A lead that has a search already leads to that one.
///
/// # Errors
/// Returns 400 for a lead that cannot be followed, 402 without credits, 403 for a suppressed identifier, 404 for an
/// unknown run or lead, 503 if the store is unavailable.
pub(in crate::web) fn follow(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let runs = &web.parts.runs;
    let family = runs.families.of(runs.reader.record(&find(web, &visit)?)?)?;
    let lead = visit.id("lead_id")?;
    let charge = web.parts.accounts.charge(visit.caller()?, STANDARD_COST);
    match runs.families.follow(&family, lead, &charge, visit.origin()?)? {
        FollowResult::Run(id) => Ok(Reply::Now(web.redirect(&format!("/app/searches/{id}")))),
        FollowResult::NoSuchLead => Err(WebError::no_such_page()),
        FollowResult::NotFollowable(_) => {
            Err(WebError::invalid("This lead cannot be searched. Nothing was charged."))
        }
        FollowResult::Refused(Refused::FamilyFull) => Err(WebError::invalid(
            "The leads of this search have started as many searches as possible. Nothing was charged.",
        )),
        FollowResult::Suppressed => {
            Err(WebError::not_allowed("This identifier is never searched here. Nothing was charged."))
        }
        FollowResult::Refused(Refused::UnknownAccount) => Err(WebError::not_signed_in()),
        FollowResult::Refused(Refused::InsufficientCredits { .. }) => Err(WebError::new(
            402,
            "Not enough credits",
            "A search for this lead costs 1 credit, and none is left in this cycle. Nothing was charged.",
        )),
        FollowResult::Refused(_) => {
            Err(WebError::invalid("The search at which these leads began was deleted. Nothing was charged."))
        }
    }
}
