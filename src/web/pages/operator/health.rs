//! What was learnt from searches: the hosts and modules that are not asked, and the reset of them and of deadlines.

use std::sync::Arc;

use jiff::Timestamp;

use super::paging::shown;
use crate::http::Reply;
use crate::model::health::{Learnt, Opening};
use crate::runs::health::HealthTable;
use crate::web::error::WebError;
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::show::Moment;
use crate::web::visit::Visit;

/// The maximum number of rows.
const ROWS: usize = 200;

/// A host or a module that searches do not ask.
pub(super) struct NotAsked {
    pub(super) name: Arc<str>,
    pub(super) is_module: bool,
    /// What happened to the last checks, or to the control checks of a module.
    pub(super) detail: String,
    /// The number of failures in a row.
    pub(super) failures: u32,
    pub(super) since: Moment,
    /// The time of the next try, or `None` if the next search tries it.
    pub(super) next_try: Option<Moment>,
}

impl NotAsked {
    /// Returns the row of an open breaker at `now`.
    pub(super) fn of((name, opening): (Arc<str>, Opening), now: Timestamp) -> Self {
        Self {
            name,
            is_module: opening.control().is_some(),
            detail: opening.cause.text(),
            failures: opening.failures,
            since: Moment(opening.since),
            next_try: (opening.next_try > now).then_some(Moment(opening.next_try)),
        }
    }
}

/// The hosts and modules that searches do not ask.
pub(super) struct AllNotAsked {
    pub(super) hosts: usize,
    pub(super) modules: usize,
    /// The hosts, then the modules.
    pub(super) rows: Vec<NotAsked>,
    /// A text such as `1–200 of 640 hosts and modules`.
    pub(super) shown: String,
}

impl AllNotAsked {
    pub(super) fn of(health: &HealthTable, now: Timestamp) -> Self {
        let (hosts, modules) = (health.circuits.open(), health.quarantines.open());
        let [hosts_down, quarantined] = [hosts.len(), modules.len()];
        let all = hosts.into_iter().chain(modules);
        let rows: Vec<_> = all.take(ROWS).map(|open| NotAsked::of(open, now)).collect();
        let shown = shown(0, rows.len(), hosts_down + quarantined, "host or module", "hosts and modules");
        Self { hosts: hosts_down, modules: quarantined, rows, shown }
    }
}

/// Handles `POST /app/operator/health/reset` with `kind`: forgets what was learnt of this kind. With `name` it does so only
/// for this host or module, with `module` it leads back to the page of this module.
///
/// # Errors
/// Returns 404 for an unknown kind or module, 503 if the store is unavailable.
pub(in crate::web) fn reset(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let form = visit.form();
    let kind = Learnt::from_name(form.get("kind")).ok_or_else(WebError::no_such_page)?;
    let given = |name: &str| Some(form.get(name).to_owned()).filter(|text| !text.is_empty());
    let name = given("name");
    let page = match given("module") {
        None => "/app/operator".to_owned(),
        Some(module) => {
            let catalog = web.parts.runs.catalog();
            let module = catalog.get(&module).ok_or_else(WebError::no_such_page)?;
            format!("/app/operator/modules/{}", module.id())
        }
    };
    Ok(web.later(visit, move |web, visit| {
        web.parts.runs.module_health().reset(kind, name.as_deref(), &visit.origin()?)?;
        Ok(Reply::Now(web.redirect_with_notice(&page, Notice::HealthReset)))
    }))
}
