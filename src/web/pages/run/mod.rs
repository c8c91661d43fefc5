//! A run's page: running and ended alike, at an address that stays.
//!
//! | file | holds |
//! |---|---|
//! | [`page`](mod@page) | the page as the server writes it; its script makes it anew from the events |
//! | [`cards`] | results, for readers without scripts |
//! | [`coverage`] | what was asked and how that ended |
//! | [`events`] | what the script reads: the events, the modules |
//! | [`export`] | the run as a file |
//! | [`delete`] | its end |

mod cards;
mod coverage;
pub(in crate::web) mod delete;
pub(in crate::web) mod events;
pub(in crate::web) mod export;
pub(in crate::web) mod page;

use crate::base::ids::RunId;
use crate::runs::service::Found;
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The run that the address names.
///
/// # Errors
/// 404 in the same words for malformed, unknown, foreign and deleted; 503.
fn find(web: &Web, visit: &Visit) -> Result<Found, WebError> {
    let (id, account) = (run_id(visit)?, visit.caller()?.account.id);
    web.parts.runs.find(id, account)?.ok_or_else(WebError::no_such_page)
}

fn run_id(visit: &Visit) -> Result<RunId, WebError> {
    visit.segment().and_then(|text| text.parse().ok()).ok_or_else(WebError::no_such_page)
}
