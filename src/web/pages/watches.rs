//! The pages for watches: create, list, changes and runs of one; pause, resume, run and delete it.

use std::sync::Arc;

use askama::Template;
use jiff::Timestamp;
use uuid::Uuid;

use super::run::diff::{MOST_DETAILS, href, shown};
use super::search::{chooses_sites, form_of_run, new_form, search_of};
use crate::base::ids::{RunId, WatchChangeId, WatchId, WebhookId};
use crate::model::credits::{PREMIUM_COST, STANDARD_COST};
use crate::model::diff::Difference;
use crate::model::page::{Cursor, ListFilter, cut};
use crate::model::run::{RunSummary, Status};
use crate::model::watch::{
    ChangeKind, Interval, NewWatch, PauseReason, StoredChange, Watch, WatchState, WatchUpdate,
};
use crate::model::webhook::Webhook;
use crate::report::html::titled;
use crate::web::cookies::Notice;
use crate::web::form::new_once;
use crate::web::show::ago;
use crate::web::{Answer, Form, Frame, Moment, Visit, Web, WebError, render};

/// The number of watches, of changes, and of runs on a page.
const PAGE: usize = 50;
const RUNS: usize = 10;

#[derive(Template)]
#[template(path = "watches.html", config = "src/web/askama.toml")]
struct ListPage {
    frame: Frame,
    form: Form,
    webhooks: Vec<Webhook>,
    has_premium: bool,
    rows: Vec<Watch>,
    is_later_page: bool,
    /// The last watch of this page, if there are older ones.
    older: Option<WatchId>,
    now: Timestamp,
}

#[derive(Template)]
#[template(path = "watch.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    watch: Watch,
    /// The address of the webhook that gets the events, unless it was deleted.
    webhook: Option<String>,
    /// The changes by the run that has found them.
    changed_runs: Vec<(RunId, Vec<Change>)>,
    are_later_changes: bool,
    older_changes: Option<WatchChangeId>,
    runs: Vec<RunSummary>,
    are_later_runs: bool,
    older_runs: Option<Cursor>,
    once: String,
    now: Timestamp,
}

/// A change with the result that differs.
type Change = (StoredChange, Difference);

/// Handles `GET /app/watches`: shows the watches, and a form with the search of the run that the parameter `run` names.
///
/// # Errors
/// Returns 404 for an unknown run, 409 if the modules of the run are not known yet, 503 if the store is unavailable.
pub(in crate::web) fn list(web: &Arc<Web>, mut visit: Visit) -> Answer {
    let before = visit.form.get("before").parse().ok();
    let mut form = match visit.form.get("run") {
        "" => new_form("", None),
        id => {
            let id = id.parse().map_err(|_| WebError::no_such_page())?;
            let run = web.find_run(visit.caller()?, id)?;
            let is_done = run.status == Status::Completed && run.simulated == web.sandbox;
            let mut form = form_of_run(web, run)?;
            form.set("since", &if is_done { id.to_string() } else { String::new() });
            form
        }
    };
    form.set("every", "1d");
    ChangeKind::ALL.iter().for_each(|kind| form.add("notify_on", kind.as_str()));
    visit.form = form;
    show_list(web, visit, before)
}

fn show_list(web: &Web, visit: Visit, before: Option<WatchId>) -> Answer {
    let caller = visit.caller()?;
    let mut found = web.store.watches(caller.account.id, before, PAGE + 1)?;
    let older = cut(&mut found, PAGE).map(|last| last.id);
    render(&ListPage {
        webhooks: web.store.webhooks(caller.account.id)?,
        has_premium: caller.plan.premium,
        rows: found,
        is_later_page: before.is_some(),
        older,
        now: web.clock.now(),
        form: visit.form,
        frame: visit.frame,
    })
}

/// Handles `POST /app/watches`: creates a watch, and redirects to its page. A form that is sent several times creates only
/// one watch.
///
/// # Errors
/// Returns 503 if the store is unavailable. The form shows what else is wrong.
pub(in crate::web) fn create(web: &Arc<Web>, visit: Visit) -> Answer {
    match try_create(web, &visit) {
        Ok(watch) => web.redirect_with_notice(&address(watch.id), Notice::WatchCreated),
        Err(error) => visit.refuse(error, |visit| show_list(web, visit, None)),
    }
}

fn try_create(web: &Web, visit: &Visit) -> Result<Watch, WebError> {
    let (caller, form, (account, origin)) = (visit.caller()?, &visit.form, visit.actor()?);
    let (query, search) = search_of(form, &web.runs.catalog())?;
    // The store refuses one that is not of this account.
    let webhook_of = |id: &str| id.parse().unwrap_or(WebhookId(Uuid::nil()));
    let webhook = Some(form.get("webhook")).filter(|id| !id.is_empty()).map(webhook_of);
    let watch = NewWatch {
        id: WatchId::new(),
        account,
        search,
        simulated: web.sandbox,
        every: form.get("every").trim().parse()?,
        notify_on: form.all("notify_on").filter_map(ChangeKind::from_name).collect(),
        webhook,
        since: form.get("since").parse().ok(),
        idempotency: None,
    };
    Ok(web.create_watch(caller, &query, watch, form.once(), &origin)?)
}

/// Handles `GET /app/watches/{watch_id}`: shows the watch.
///
/// # Errors
/// Returns 404 for an unknown watch, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Answer {
    let (account, watch) = (visit.caller()?.account.id, find(web, &visit)?);
    let before: Option<WatchChangeId> = visit.form.get("before").parse().ok();
    let mut changes = web.store.watch_changes(watch.id, before, PAGE + 1)?;
    let older_changes = cut(&mut changes, PAGE).map(|last| last.id);
    let runs_before: Option<Cursor> = visit.form.get("runs_before").parse().ok();
    let filter = ListFilter { watch: Some(watch.id), before: runs_before, ..ListFilter::default() };
    let (runs, older_runs) = web.runs.page(account, &filter, RUNS)?;
    let webhook = web.store.webhooks(account)?.into_iter().find(|it| Some(it.id) == watch.webhook);
    render(&Page {
        webhook: webhook.map(|webhook| webhook.url),
        watch,
        are_later_changes: before.is_some(),
        older_changes,
        changed_runs: by_run(changes)?,
        runs,
        are_later_runs: runs_before.is_some(),
        older_runs,
        once: if visit.form.once().is_some() { visit.form.get("once").to_owned() } else { new_once() },
        now: web.clock.now(),
        frame: visit.frame,
    })
}

/// Returns the changes by run, in their order.
///
/// # Errors
/// Returns 500 if a stored change cannot be read.
fn by_run(changes: Vec<StoredChange>) -> Result<Vec<(RunId, Vec<Change>)>, WebError> {
    let mut runs: Vec<(RunId, Vec<_>)> = Vec::new();
    for change in changes {
        let difference = serde_json::from_value(change.difference.clone()).map_err(WebError::internal)?;
        if runs.last().is_none_or(|(run, _)| *run != change.run_after) {
            runs.push((change.run_after, Vec::new()));
        }
        if let Some((_, changes)) = runs.last_mut() {
            changes.push((change, difference));
        }
    }
    Ok(runs)
}

/// Returns the runs with which the results of a run were compared. They differ if a module came to no conclusion for a
/// while.
fn compared(changes: &[Change]) -> Vec<RunId> {
    let mut runs: Vec<RunId> = changes.iter().map(|(change, _)| change.run_before).collect();
    runs.dedup();
    runs
}

/// Returns how often a watch runs, such as `every day` or `every 12 hours`.
fn repeated(every: Interval) -> String {
    let text = every.to_string();
    let (number, unit) = text.split_at(text.len() - 1);
    let unit = match unit {
        "d" => "day",
        "h" => "hour",
        _ => "minute",
    };
    if number == "1" { format!("every {unit}") } else { format!("every {number} {unit}s") }
}

/// Handles `POST /app/watches/{watch_id}/run` with `once`: starts a run, and redirects to its page. The last run, if it has
/// not ended, is shown instead. A form that is sent several times starts only one.
///
/// # Errors
/// Returns 404 for an unknown watch, 503 if the store is unavailable. The page of the watch shows why else no run starts.
pub(in crate::web) fn run(web: &Arc<Web>, visit: Visit) -> Answer {
    let (watch, (_, origin)) = (find(web, &visit)?, visit.actor()?);
    match web.run_watch(visit.caller()?, &watch, Some(visit.once()?), origin) {
        Ok(run) => web.redirect(&format!("/app/searches/{}", run.id)),
        Err(refusal) => visit.refuse(refusal.into(), |visit| page(web, visit)),
    }
}

/// Handles `POST /app/watches/{watch_id}/pause`: starts no further runs.
///
/// # Errors
/// Returns 404 for an unknown watch, 503 if the store is unavailable.
pub(in crate::web) fn pause(web: &Arc<Web>, visit: Visit) -> Answer {
    switch(web, &visit, WatchState::Paused)
}

/// Handles `POST /app/watches/{watch_id}/resume`: starts runs again.
///
/// # Errors
/// Returns 404 for an unknown watch, 503 if the store is unavailable.
pub(in crate::web) fn resume(web: &Arc<Web>, visit: Visit) -> Answer {
    switch(web, &visit, WatchState::Active)
}

fn switch(web: &Web, visit: &Visit, state: WatchState) -> Answer {
    let ((account, origin), id) = (visit.actor()?, visit.id("watch_id")?);
    let update = WatchUpdate { state: Some(state), ..WatchUpdate::default() };
    web.store.change_watch(account, id, &update, &origin)?;
    web.redirect(&address(id))
}

/// Handles `POST /app/watches/{watch_id}/delete`: deletes the watch with its changes.
///
/// # Errors
/// Returns 404 for an unknown watch, 503 if the store is unavailable.
pub(in crate::web) fn delete(web: &Arc<Web>, visit: Visit) -> Answer {
    let (account, origin) = visit.actor()?;
    if !web.store.delete_watch(account, visit.id("watch_id")?, &origin)? {
        return Err(WebError::no_such_page());
    }
    web.redirect_with_notice("/app/watches", Notice::WatchDeleted)
}

/// Returns the watch of the address.
fn find(web: &Web, visit: &Visit) -> Result<Watch, WebError> {
    Ok(web.find_watch(visit.caller()?, visit.id("watch_id")?)?)
}

fn address(id: WatchId) -> String {
    format!("/app/watches/{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_shown_in_words() {
        for (every, want) in [("1d", "every day"), ("24h", "every day"), ("12h", "every 12 hours")] {
            assert_eq!(repeated(every.parse().unwrap()), want);
        }
    }
}
