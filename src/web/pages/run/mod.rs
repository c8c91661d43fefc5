//! The page of a run, at one address while it runs and after it has ended.
//!
//! | file | holds |
//! |---|---|
//! | [`page`](mod@page) | the page, and the parts of it that change while the run is running |
//! | [`cards`] | results as cards: filter and order |
//! | [`actions`] | what is done with the run: stop, ask again, note, export, delete |
//! | [`graph`] | what the results point to |
//! | [`diff`] | what changed since another run |
//! | [`family`] | the searches for leads, as a tree |
//! | [`leads`] | leads in a table and on cards |
//! | [`people`] | the people of the run as cards |

pub(in crate::web) mod actions;
mod cards;
pub(in crate::web) mod diff;
pub(in crate::web) mod family;
pub(in crate::web) mod graph;
mod leads;
pub(in crate::web) mod page;
mod people;

use crate::runs::service::Found;
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// Returns the run of the address.
///
/// # Errors
/// Returns 404 for a malformed, unknown or deleted id and for a run of another account, always with the same text.
/// Returns 503 if the store is unavailable.
fn find(web: &Web, visit: &Visit) -> Result<Found, WebError> {
    find_in(web, visit, "run_id")
}

/// Returns the run of a segment of the address, as [`find`] does.
fn find_in(web: &Web, visit: &Visit, segment: &str) -> Result<Found, WebError> {
    let (id, account) = (visit.id(segment)?, visit.caller()?.account.id);
    web.parts.runs.reader.find(id, account)?.ok_or_else(WebError::no_such_page)
}
