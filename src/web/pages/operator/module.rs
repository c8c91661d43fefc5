//! The page `/app/operator/modules/{id}`: the state of a module, how its checks ended, its last failures, and the facts of
//! its entry, with forms that reset what was learnt about it.

use std::collections::BTreeSet;
use std::sync::Arc;

use askama::Template;

use super::health::NotAsked;
use super::rows::{ModuleRow, duration};
use crate::http::Reply;
use crate::modules::reason::Reason;
use crate::runs::health::breaker::Breakers;
use crate::runs::module_history::{ModuleHistory, PastFailure};
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
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
    hosts_down: Vec<NotAsked>,
    quarantine: Option<NotAsked>,
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
    let catalog = runs.catalog();
    let module = visit.segment("id").and_then(|id| catalog.get(id)).ok_or_else(WebError::no_such_page)?;
    let health = runs.module_health();
    let one = std::slice::from_ref(module);
    let rows = health.of_all(one, now);
    let row = rows.first().ok_or_else(WebError::no_such_page)?;
    let hosts: BTreeSet<&str> = module.first_hosts().collect();
    let not_asked =
        |breakers: &Breakers, name: &str| Some(NotAsked::of((name.into(), breakers.of(name)?), now));
    let ModuleHistory { counts, failures } = runs.figures().modules.of(module.id());
    let counts =
        counts.iter().filter(|(_, count)| **count > 0).map(|(outcome, count)| (outcome.title(), *count));
    let entry = module.entry();
    let page = Page {
        frame: visit.frame,
        has_deadline: row.1.deadline_ms.is_some(),
        row: ModuleRow::of(row, now),
        configured_deadline: duration(health.check_timeout().as_millis() as u64),
        hosts_down: hosts.iter().filter_map(|host| not_asked(&health.circuits, host)).collect(),
        quarantine: not_asked(&health.quarantines, module.id()),
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
