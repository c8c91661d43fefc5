//! The page of a run, and the parts of it that change while the run is running. The server renders all of it: without
//! scripts the page reloads by itself, with them the parts are inserted.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use serde_json::Value;

use super::actions::{Again, NotesView};
use super::cards::{CARDS, Group, View, kinds};
use super::family::TreeView;
use super::find;
use super::leads::CardLeads;
use crate::base::clock::to_the_second;
use crate::base::ids::{BatchId, RunId, WatchId};
use crate::http::Reply;
use crate::model::entity::merge;
use crate::model::run::{ModuleReport, RunSummary};
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;
use crate::report::Format;
use crate::report::html::{Overview, facts, initial, items, titled};
use crate::runs::record::RunRecord;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::pages::form_parts::new_once;
use crate::web::pages::run_row::RunRow;
use crate::web::service::Web;
use crate::web::show::lasted;
use crate::web::visit::Visit;

#[derive(Template)]
#[template(path = "run.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    live: Live,
    /// The last search before this one for the same query, if both have ended.
    earlier: Option<RunId>,
    /// The watch that has started the run, unless it was deleted.
    watch: Option<WatchId>,
    /// The batch of the run, if it is of one.
    batch: Option<BatchId>,
    failure: Option<String>,
    /// The search whose unanswered modules this one asks again, if it still exists.
    retry_of: Option<RunId>,
    /// The overview. It is empty while the run is running.
    overview: Overview,
    view: View,
    kinds: Vec<(String, bool)>,
    groups: Vec<Group>,
    /// The number of results that match the filter.
    matching: usize,
    /// Whether the overview has all results as tables, so that the cards are collapsed.
    is_dossier: bool,
    /// Whether the results are accounts, whose values are short.
    is_username: bool,
    notes: NotesView,
    leads: CardLeads,
    /// The run whose lead has started this one.
    parent: Option<(RunId, String)>,
    exports: Vec<Format>,
}

/// The parts that change while the run is running, and the results that came last.
#[derive(Template)]
#[template(path = "run-live.html", config = "src/web/askama.toml")]
struct LivePage {
    frame: Frame,
    live: Live,
    groups: Vec<Group>,
    leads: CardLeads,
}

/// What changes while the run is running.
struct Live {
    run: RunRow,
    /// The number of modules that were asked and have ended, and the number of those that are asked. `most` is the number
    /// of all modules, but at least 1, as a divisor.
    completed: u32,
    total: u32,
    most: u32,
    /// The time from the start to the end, or until now.
    took: String,
    record: RunRecord,
    /// The button that asks again what gave no answer.
    again: Option<Again>,
    once: String,
    /// The searches for leads. There is none if the run follows none and nobody has followed one by hand.
    tree: Option<TreeView>,
    /// The address of the next parts.
    next: String,
    /// The address of the page.
    page: String,
}

impl Live {
    fn new(
        web: &Web,
        visit: &Visit,
        next: String,
        record: RunRecord,
        tree: TreeView,
    ) -> Result<Self, WebError> {
        let (run, now) = (&record.summary, web.parts.clock.now());
        let (completed, total) = run.coverage.done_of(run.progress.modules_total);
        let took = run.completed_at.unwrap_or(now).duration_since(run.created_at);
        let view = View::of(&visit.query());
        let query = if view.is_filter() { format!("?{}", view.query()) } else { String::new() };
        Ok(Self {
            run: RunRow::new(run, now),
            completed,
            total,
            most: run.progress.modules_total.max(1),
            took: lasted(Duration::try_from(took).unwrap_or_default()),
            again: Again::of(web, run, &record.modules, visit.caller()?),
            once: new_once(),
            tree: Some(tree).filter(|tree| !tree.is_empty()),
            next,
            page: format!("{}/app/searches/{}{query}", web.root, run.id),
            record,
        })
    }

    /// Returns whether the page will change by itself.
    fn is_open(&self) -> bool {
        self.run.is_running || self.tree.as_ref().is_some_and(|tree| tree.is_open)
    }

    /// Returns a sentence about the share of modules that gave an answer, and one about those that were cut.
    fn answered(&self) -> String {
        let coverage = &self.record.summary.coverage;
        let (conclusive, applicable) = (coverage.conclusive, coverage.applicable);
        if applicable == 0 {
            return "No site has answered yet.".to_owned();
        }
        let percent = coverage.ratio * 100.0;
        let cuts = coverage.cuts_text().map(|cuts| format!(" {cuts}.")).unwrap_or_default();
        format!("{conclusive} of {applicable} sites gave an answer ({percent:.0}%).{cuts}")
    }

    /// Returns the modules with this outcome, by name. Those with an answer are many: they are listed at the end.
    fn modules_that(&self, outcome: Outcome) -> Vec<&ModuleReport> {
        let is_listed = !(self.run.is_running && outcome.is_conclusive());
        if is_listed { self.record.modules_that(outcome) } else { Vec::new() }
    }
}

/// Handles `GET /app/searches/{run_id}` with a filter (`text`, `kind`, `order`): shows the run.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (runs, view) = (&web.parts.runs, View::of(&visit.query()));
    let record = runs.reader.record(&find(web, &visit)?)?;
    let (run, catalog) = (record.summary.clone(), runs.catalog());
    let is_running = !run.status.is_terminal();
    let before = Some((run.created_at, run.id));
    let earlier = runs.reader.comparable(&run, before, 1)?.first().map(|run| run.id);
    let groups = view.groups(&record.results, is_running, &catalog);
    let family = runs.families.of(record.clone())?;
    let shown: HashSet<u32> = groups.iter().flat_map(Group::all).map(|card| card.result.id).collect();
    let mut tree = TreeView::new(web, &run, &family.tree());
    let page = Page {
        earlier,
        watch: watch(web, &run)?,
        batch: run.batch,
        failure: run.error.as_ref().map(|error| error.message.clone()),
        retry_of: retry_of(web, &run)?,
        overview: if is_running { Overview::default() } else { Overview::new(&record, &catalog) },
        kinds: kinds(&record.results, &view),
        matching: groups.iter().map(|group| group.count).sum(),
        is_dossier: !is_running && run.search_type != SearchType::Username && run.total_results > 0,
        is_username: run.search_type == SearchType::Username,
        notes: NotesView::of(&run.notes),
        leads: CardLeads::of(web, &family, |result| shown.contains(&result)),
        parent: tree.parent.take(),
        live: Live::new(web, &visit, next(web, &record, &view), record, tree)?,
        exports: exports(web),
        groups,
        view,
        frame: visit.frame,
    };
    Ok(Reply::Now(render(&page)))
}

/// Handles `GET /app/searches/{run_id}/live` with a filter, `after` (the last result that the page has) and `ended` (if it
/// shows a run that has ended): returns the parts of the page that have changed, for its script.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn live(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (runs, query) = (&web.parts.runs, visit.query());
    let mut record = runs.reader.record(&find(web, &visit)?)?;
    let view = View::of(&query);
    let tree = TreeView::new(web, &record.summary, &runs.families.tree(&record.summary)?);
    let (next, is_new_end) =
        (next(web, &record, &view), record.summary.status.is_terminal() && !query.is_checked("ended"));
    let after: u32 = query.get("after").parse().unwrap_or(u32::MAX);
    record.results.retain(|result| result.id > after);
    let groups = view.groups(&record.results, true, &runs.catalog());
    let mut live = Live::new(web, &visit, next, record, tree)?;
    if is_new_end {
        live.next.clone_from(&live.page);
    }
    Ok(Reply::Now(render(&LivePage { live, groups, leads: CardLeads::default(), frame: visit.frame })))
}

/// Returns the address of the next parts of a page with these results.
fn next(web: &Web, record: &RunRecord, view: &View) -> String {
    let state = match record.summary.status.is_terminal() {
        true => "ended=yes".to_owned(),
        false => format!("after={}", record.results.iter().map(|result| result.id).max().unwrap_or(0)),
    };
    format!("{}/app/searches/{}/live?{state}&{}", web.root, record.summary.id, view.query())
}

/// Returns the watch that has started the run, unless it was deleted.
fn watch(web: &Web, run: &RunSummary) -> Result<Option<WatchId>, WebError> {
    let Some(id) = run.watch else { return Ok(None) };
    Ok(web.parts.store.watch(run.account, id)?.map(|watch| watch.id))
}

/// The formats of the file, starting with the one to read.
const EXPORTS: [Format; Format::ALL.len()] = [
    Format::Html,
    Format::Pdf,
    Format::Md,
    Format::Csv,
    Format::Json,
    Format::Ndjson,
    Format::Graphml,
    Format::Stix,
];

/// Returns the formats that this server has: a PDF needs a browser.
fn exports(web: &Web) -> Vec<Format> {
    let can_print = web.parts.runs.browsing().prints();
    EXPORTS.into_iter().filter(|format| can_print || *format != Format::Pdf).collect()
}

/// Returns the search whose unanswered modules the run asks again, unless it was deleted.
fn retry_of(web: &Web, run: &RunSummary) -> Result<Option<RunId>, WebError> {
    let Some(id) = run.retry_of else { return Ok(None) };
    Ok(web.parts.runs.reader.find(id, run.account)?.map(|found| found.id()))
}
