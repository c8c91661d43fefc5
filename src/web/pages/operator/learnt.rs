//! What was learnt from searches: the hosts that are down, the modules in quarantine, and the deadlines of modules. All
//! can be reset.

use std::sync::Arc;

use jiff::Timestamp;

use super::paging::shown;
use crate::http::Reply;
use crate::model::health::{Learnt, Opening};
use crate::web::error::WebError;
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::show::Moment;
use crate::web::visit::Visit;

/// The maximum number of rows.
const ROWS: usize = 100;

/// A host that searches do not ask.
pub(super) struct DownHost {
    pub(super) host: String,
    /// How its last checks ended.
    pub(super) outcome: String,
    pub(super) since: Moment,
    /// The time of the next try, or `None` if the next search tries the host.
    pub(super) next_try: Option<Moment>,
}

/// Returns the rows of the open circuits at `now`, and a text such as `1–100 of 640 hosts`.
pub(super) fn down_hosts(open: Vec<(Arc<str>, Opening)>, now: Timestamp) -> (Vec<DownHost>, String) {
    let all = open.len();
    let row = |(host, opening): (Arc<str>, Opening)| DownHost {
        host: host.to_string(),
        outcome: opening.cause.text(),
        since: Moment(opening.since),
        next_try: (opening.next_try > now).then_some(Moment(opening.next_try)),
    };
    let rows: Vec<DownHost> = open.into_iter().take(ROWS).map(row).collect();
    let shown = shown(0, rows.len(), all, "host", "hosts");
    (rows, shown)
}

/// A module in quarantine.
pub(super) struct QuarantinedModule {
    pub(super) id: String,
    /// The number of control checks in a row that failed.
    pub(super) failures: u32,
    /// What changed in the answers to control checks.
    pub(super) change: String,
    pub(super) since: Moment,
    /// The time of the next try, or `None` if the next search tries the module.
    pub(super) next_try: Option<Moment>,
}

/// Returns the rows of the modules in quarantine at `now`, and a text such as `1–100 of 640 modules`.
pub(super) fn quarantined_modules(
    open: Vec<(Arc<str>, Opening)>,
    now: Timestamp,
) -> (Vec<QuarantinedModule>, String) {
    let all = open.len();
    let row = |(id, opening): (Arc<str>, Opening)| QuarantinedModule {
        id: id.to_string(),
        failures: opening.failures,
        change: opening.cause.text(),
        since: Moment(opening.since),
        next_try: (opening.next_try > now).then_some(Moment(opening.next_try)),
    };
    let rows: Vec<QuarantinedModule> = open.into_iter().take(ROWS).map(row).collect();
    let shown = shown(0, rows.len(), all, "module", "modules");
    (rows, shown)
}

/// Handles `POST /app/operator/quarantines/reset`: searches ask all modules again.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn reset_quarantines(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    reset(web, visit, Learnt::Quarantine, Notice::QuarantinesReset)
}

/// Handles `POST /app/operator/circuits/reset`: searches ask all hosts again.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn reset_circuits(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    reset(web, visit, Learnt::Host, Notice::CircuitsReset)
}

/// Handles `POST /app/operator/deadlines/reset`: forgets the learnt deadlines of all modules.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn reset_deadlines(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    reset(web, visit, Learnt::Deadline, Notice::DeadlinesReset)
}

fn reset(web: &Arc<Web>, visit: Visit, what: Learnt, notice: Notice) -> Result<Reply, WebError> {
    Ok(web.later(visit, move |web, visit| {
        web.parts.runs.module_health().reset(what, None, &visit.origin()?)?;
        Ok(Reply::Now(web.redirect_with_notice("/app/operator", notice)))
    }))
}
