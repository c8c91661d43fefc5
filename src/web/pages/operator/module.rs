//! The page `/app/operator/modules/{id}`: the state of a module, how its checks ended, its last failures, and the facts of
//! its entry. What was learnt about it can be reset.

use std::collections::BTreeSet;
use std::sync::Arc;

use askama::Template;

use super::learnt::{DownHost, QuarantinedModule, down_hosts, quarantined_modules};
use super::rows::{ModuleRow, duration};
use crate::base::storage::StorageError;
use crate::http::Reply;
use crate::model::audit::Origin;
use crate::model::health::Learnt;
use crate::modules::module::Module;
use crate::modules::reason::Reason;
use crate::runs::module_history::{ModuleHistory, PastFailure};
use crate::runs::service::Runs;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::show::Moment;
use crate::web::visit::Visit;

#[derive(Template)]
#[template(path = "operator-module.html", config = "src/web/askama.toml")]
struct Page<'m> {
    frame: Frame,
    row: ModuleRow<'m>,
    has_deadline: bool,
    configured_deadline: String,
    hosts_down: Vec<DownHost>,
    quarantine: Option<QuarantinedModule>,
    /// The outcomes with their numbers of checks, without those that are 0.
    counts: Vec<(&'static str, u64)>,
    failures: Vec<FailureRow>,
    since: Moment,
    category: &'m str,
    hosts: BTreeSet<&'m str>,
    home: Option<&'m str>,
    rank: Option<u32>,
    has_known: bool,
}

/// A check that came to no conclusion.
struct FailureRow {
    at: Moment,
    outcome: &'static str,
    reason: Option<String>,
    http_status: Option<u16>,
}

impl From<PastFailure> for FailureRow {
    fn from(failure: PastFailure) -> Self {
        Self {
            at: Moment(failure.at),
            outcome: failure.outcome.title(),
            reason: failure.reason.map(Reason::as_phrase),
            http_status: failure.http_status,
        }
    }
}

/// Handles `GET /app/operator/modules/{id}`: shows a module.
///
/// # Errors
/// Returns 404 for an unknown module.
pub(in crate::web) fn module(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (runs, now) = (&web.parts.runs, web.parts.clock.now());
    let module = find(web, &visit)?;
    let health = runs.module_health();
    let one = std::slice::from_ref(&module);
    let rows = health.of_all(one, now);
    let row = rows.first().ok_or_else(WebError::no_such_page)?;
    let hosts: BTreeSet<&str> = module.first_hosts().collect();
    let down = health.circuits.open().into_iter().filter(|(host, _)| hosts.contains(&**host)).collect();
    let quarantines = health.quarantines.open().into_iter().filter(|(id, _)| **id == **module.id()).collect();
    let ModuleHistory { counts, failures } = runs.figures().modules.of(module.id());
    let counts =
        counts.iter().filter(|(_, count)| **count > 0).map(|(outcome, count)| (outcome.title(), *count));
    let entry = module.entry();
    let page = Page {
        frame: visit.frame,
        has_deadline: row.1.deadline_ms.is_some(),
        row: ModuleRow::of(row, now),
        configured_deadline: duration(health.check_timeout().as_millis() as u64),
        hosts_down: down_hosts(down, now).0,
        quarantine: quarantined_modules(quarantines, now).0.pop(),
        counts: counts.collect(),
        failures: failures.into_iter().map(FailureRow::from).collect(),
        since: Moment(web.trends.since),
        category: &entry.category,
        hosts,
        home: entry.home.as_deref(),
        rank: entry.rank,
        has_known: !entry.known.is_empty(),
    };
    Ok(Reply::Now(render(&page)))
}

fn find(web: &Web, visit: &Visit) -> Result<Arc<Module>, WebError> {
    let catalog = web.parts.runs.selector.catalog();
    visit.segment("id").and_then(|id| catalog.get(id)).map(Arc::clone).ok_or_else(WebError::no_such_page)
}

/// Handles `POST /app/operator/modules/{id}/circuits/reset`: searches ask the hosts of the module again.
///
/// # Errors
/// Returns 404 for an unknown module, 503 if the store is unavailable.
pub(in crate::web) fn reset_module_circuits(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    reset(web, visit, |runs, module, by| {
        let hosts: BTreeSet<&str> = module.first_hosts().collect();
        hosts.into_iter().try_for_each(|host| runs.module_health().reset(Learnt::Host, Some(host), by))
    })
}

/// Handles `POST /app/operator/modules/{id}/quarantine/reset`: searches ask the module again.
///
/// # Errors
/// Returns 404 for an unknown module, 503 if the store is unavailable.
pub(in crate::web) fn reset_module_quarantine(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    reset(web, visit, |runs, module, by| {
        runs.module_health().reset(Learnt::Quarantine, Some(module.id()), by)
    })
}

/// Handles `POST /app/operator/modules/{id}/deadline/reset`: forgets the learnt deadline of the module.
///
/// # Errors
/// Returns 404 for an unknown module, 503 if the store is unavailable.
pub(in crate::web) fn reset_module_deadline(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    reset(web, visit, |runs, module, by| runs.module_health().reset(Learnt::Deadline, Some(module.id()), by))
}

fn reset(
    web: &Arc<Web>,
    visit: Visit,
    work: fn(&Runs, &Module, &Origin) -> Result<(), StorageError>,
) -> Result<Reply, WebError> {
    let module = find(web, &visit)?;
    Ok(web.later(visit, move |web, visit| {
        work(&web.parts.runs, &module, &visit.origin()?)?;
        let page = format!("/app/operator/modules/{}", module.id());
        Ok(Reply::Now(web.redirect_with_notice(&page, Notice::ModuleReset)))
    }))
}
