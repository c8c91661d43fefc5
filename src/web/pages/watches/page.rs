//! The page of a watch: its facts, its changes and its runs.

use std::slice;
use std::sync::Arc;

use askama::Template;

use super::row::{WatchRow, repeated};
use crate::base::ids::{AccountId, RunId, WatchChangeId, WatchId};
use crate::http::{Reply, Response};
use crate::model::diff::Difference;
use crate::model::page::{Cursor, ListFilter};
use crate::model::watch::{ChangeKind, StoredChange, Watch};
use crate::web::error::WebError;
use crate::web::frame::{Frame, render_as};
use crate::web::pages::difference_row::{MOST_DETAILS, href, shown};
use crate::web::pages::refusal::Refusal;
use crate::web::pages::run_row::{RunRow, kind};
use crate::web::service::Web;
use crate::web::show::Moment;
use crate::web::visit::Visit;

/// The number of changes and of runs on a page.
const CHANGES: usize = 50;
const RUNS: usize = 10;

#[derive(Template)]
#[template(path = "watch.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    row: WatchRow,
    /// Why no run was started.
    refusal: Option<Refusal>,
    notify_on: String,
    /// The webhook that gets the events, with its address unless it was deleted. If it is `None`, all get them that have
    /// subscribed.
    webhook: Option<(String, Option<String>)>,
    changed_runs: Vec<ChangedRun>,
    are_later_changes: bool,
    older_changes: Option<WatchChangeId>,
    runs: Vec<RunRow>,
    are_later_runs: bool,
    older_runs: Option<Cursor>,
}

/// Handles `GET /app/watches/{watch_id}`: shows the watch.
///
/// # Errors
/// Returns 404 for an unknown watch, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let watch = find(web, &visit)?;
    show(web, visit, &watch, None).map(Reply::Now)
}

/// Shows the watch, and why no run was started.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(super) fn show(
    web: &Web,
    visit: Visit,
    watch: &Watch,
    refusal: Option<Refusal>,
) -> Result<Response, WebError> {
    let account = watch.account;
    let (query, now) = (visit.query(), web.parts.clock.now());
    let before: Option<WatchChangeId> = query.get("before").parse().ok();
    let changes = web.parts.store.watch_changes(account, watch.id, before, CHANGES + 1)?;
    let mut changes = changes.ok_or_else(WebError::no_such_page)?;
    let has_older = changes.len() > CHANGES;
    changes.truncate(CHANGES);
    let runs_before: Option<Cursor> = query.get("runs_before").parse().ok();
    let place = runs_before.map(Cursor::place);
    let filter = ListFilter { watch: Some(watch.id), before: place, ..ListFilter::default() };
    let runs = web.parts.runs.reader.page(account, &filter, RUNS)?;
    let activity = web.parts.store.watch_activity(slice::from_ref(watch))?;
    let kinds: Vec<&str> = watch.notify_on.iter().map(|kind| kind.as_str()).collect();
    let status = refusal.as_ref().map_or(200, |refusal| refusal.status);
    let page = Page {
        row: WatchRow {
            watch: watch.clone(),
            activity: activity.get(&watch.id).copied().unwrap_or_default(),
            now,
        },
        refusal,
        notify_on: kinds.join(", "),
        webhook: webhook(web, account, watch)?,
        are_later_changes: before.is_some(),
        older_changes: changes.last().filter(|_| has_older).map(|last| last.id),
        changed_runs: by_run(changes)?,
        runs: runs.runs.iter().map(|run| RunRow::new(run, now)).collect(),
        are_later_runs: runs_before.is_some(),
        older_runs: runs.next,
        frame: visit.frame,
    };
    Ok(render_as(status, &page))
}

/// Returns the webhook that gets the events of a watch: its id, and its address unless it was deleted.
fn webhook(
    web: &Web,
    account: AccountId,
    watch: &Watch,
) -> Result<Option<(String, Option<String>)>, WebError> {
    let Some(id) = watch.webhook else { return Ok(None) };
    let found = web.parts.store.webhooks(account)?.into_iter().find(|webhook| webhook.id == id);
    Ok(Some((id.to_string(), found.map(|webhook| webhook.url))))
}

/// Returns the watch of the address.
///
/// # Errors
/// Returns 404 for an unknown watch, 503 if the store is unavailable.
pub(super) fn find(web: &Web, visit: &Visit) -> Result<Watch, WebError> {
    let watch = web.parts.store.watch(visit.caller()?.account.id, visit.id("watch_id")?)?;
    watch.ok_or_else(WebError::no_such_page)
}

pub(super) fn address(id: WatchId) -> String {
    format!("/app/watches/{id}")
}

/// The changes that were found in one run.
struct ChangedRun {
    run: RunId,
    at: Moment,
    /// The runs with which its results were compared. They differ if a module came to no conclusion for a while.
    before: Vec<RunId>,
    changes: Vec<ChangeRow>,
}

/// A change.
struct ChangeRow {
    name: &'static str,
    /// The CSS class of its badge.
    tone: &'static str,
    row: Difference,
}

/// Returns the changes by run, in their order.
///
/// # Errors
/// Returns 500 if a stored change cannot be read.
fn by_run(changes: Vec<StoredChange>) -> Result<Vec<ChangedRun>, WebError> {
    let mut runs: Vec<ChangedRun> = Vec::new();
    for change in changes {
        let StoredChange { kind, run_before, run_after, at, difference, .. } = change;
        let difference: Difference = serde_json::from_value(difference).map_err(WebError::internal)?;
        let (name, tone) = match kind {
            ChangeKind::Added => ("added", "good"),
            ChangeKind::Removed => ("removed", "bad"),
            ChangeKind::Changed => ("changed", "accent"),
        };
        let row = ChangeRow { name, tone, row: difference };
        match runs.last_mut().filter(|last| last.run == run_after) {
            Some(last) => {
                if !last.before.contains(&run_before) {
                    last.before.push(run_before);
                }
                last.changes.push(row);
            }
            None => runs.push(ChangedRun {
                run: run_after,
                at: Moment(at),
                before: vec![run_before],
                changes: vec![row],
            }),
        }
    }
    Ok(runs)
}
