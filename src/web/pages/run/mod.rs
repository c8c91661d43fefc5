//! The page of a run, at one address while it runs and after it has ended, and the parts of it that change while the run is
//! running. The server renders all of it: without scripts the page reloads automatically, with them the parts are inserted.
//!
//! | file | holds |
//! |---|---|
//! | [`results`] | the table of results: filter and order |
//! | [`leads`] | who the accounts belong to, and what to search next |
//! | [`actions`] | what is done with the run: stop, ask again, note, export, delete |
//! | [`tabs`] | people and timeline |
//! | [`graph`] | what joins the results |
//! | [`diff`] | what changed since another run |

pub(in crate::web) mod actions;
pub(in crate::web) mod diff;
pub(in crate::web) mod graph;
mod leads;
mod results;
pub(in crate::web) mod tabs;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use jiff::Timestamp;
use serde_json::Value;

use crate::base::clock::to_the_second;
use crate::base::ids::RunId;
use crate::http::{Reply, Response};
use crate::model::entity::merge;
use crate::model::family::FamilyTree;
use crate::model::follow::Class;
use crate::model::notes::Verdict;
use crate::model::page::Cursor;
use crate::model::run::{ModuleReport, RunSummary};
use crate::modules::catalog::Catalog;
use crate::modules::outcome::Outcome;
use crate::modules::query::{Query, SearchType};
use crate::report::Format;
use crate::report::html::{Overview, Timeline, facts, items, name, titled, years};
use crate::runs::record::RunRecord;
use crate::web::form::new_once;
use crate::web::show::{ago, initial, lasted};
use crate::web::{Answer, Form, Frame, Visit, Web, WebError, render};
use leads::{Lead, MOST_LINES, SHOWN_LEADS, Who, account_label, became, tone, verb};
use results::{MOST_RESULTS, Order, Results, Row};

#[derive(Template)]
#[template(path = "run.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    /// The filter in the address: `text`, `kind`, `verdict`, `order`. With `note`, the result whose note is written.
    form: Form,
    live: Live,
    earlier: Option<RunId>,
    /// Whether the watch that has started the run still exists, and the run that this one asks again.
    has_watch: bool,
    has_retried: bool,
    /// What the results say together. It is empty while the run is running, as are people and leads.
    overview: Overview,
    timeline: Timeline,
    who: Who,
    leads: Vec<Lead>,
    kinds: BTreeSet<String>,
    results: Results,
    can_print: bool,
}

/// The parts that change while the run is running, and the results that came last.
#[derive(Template)]
#[template(path = "run-live.html", config = "src/web/askama.toml")]
struct LivePage {
    frame: Frame,
    form: Form,
    live: Live,
    results: Results,
}

/// Returns the run of a row.
fn run_of(live: &Live, row: &Row) -> RunId {
    row.origin.as_ref().map_or(live.record.summary.id, |(run, _)| *run)
}

/// What changes while the run is running.
struct Live {
    record: RunRecord,
    /// The number of modules that were asked and have ended, and the number of those that are asked.
    completed: u32,
    total: u32,
    /// The time from the start to the end, or until now.
    took: String,
    /// The number of modules that can be asked again, and the price.
    again: Option<(usize, u64)>,
    once: String,
    catalog: Arc<Catalog>,
    /// The query, if it is valid for this version.
    query: Option<Query>,
    /// The searches for leads.
    tree: FamilyTree,
    /// The address of the next parts.
    next: String,
    /// The address of the page.
    page: String,
    now: Timestamp,
}

impl Live {
    fn new(web: &Web, visit: &Visit, record: RunRecord, tree: FamilyTree) -> Result<Self, WebError> {
        let (run, now) = (&record.summary, web.clock.now());
        let (completed, total) = run.coverage.done_of(run.progress.modules_total);
        let took = run.completed_at.unwrap_or(now).duration_since(run.created_at);
        let has_premium = visit.caller()?.plan.premium;
        let again = web.runs.retry(run, &record.modules).ok();
        let again = again.filter(|search| has_premium || !search.premium);
        let is_ended = run.status.is_terminal();
        let page = format!("{}/app/searches/{}", web.root, run.id);
        let last = record.results.iter().map(|result| result.id).max().unwrap_or(0).to_string();
        let (after, ended) = if is_ended { ("", "yes") } else { (&*last, "") };
        let state = state_of(run, &tree);
        let filter = visit.form.with("note", "");
        let next = filter.with("after", after).with("ended", ended).with("at", state).query();
        Ok(Self {
            completed,
            total,
            took: lasted(Duration::try_from(took).unwrap_or_default()),
            again: again.map(|search| (search.choice.modules.len(), search.cost())),
            once: new_once(),
            catalog: web.runs.catalog(),
            query: Query::parse(run.search_type, &run.query).ok(),
            tree,
            next: format!("{page}/live{next}"),
            page: format!("{page}{}", filter.query()),
            now,
            record,
        })
    }

    /// Returns whether the page will change without an action of the user.
    fn is_open(&self) -> bool {
        !self.record.summary.status.is_terminal() || self.has_tree() && self.tree.is_open
    }

    fn has_tree(&self) -> bool {
        has_tree(&self.record.summary, &self.tree)
    }

    /// Returns the page of a site that gave no answer, to look there by hand.
    fn page_of(&self, report: &ModuleReport) -> Option<String> {
        let query = self.query.as_ref().filter(|_| !report.status.is_conclusive())?;
        self.catalog.get(&report.module)?.page(query)
    }

    /// Returns the first outcome without an answer that modules had.
    fn first_unknown(&self) -> Option<Outcome> {
        let coverage = self.record.summary.coverage;
        Outcome::ALL.into_iter().find(|it| !it.is_conclusive() && coverage.count_of(*it) > 0)
    }

    /// Returns the modules with this outcome, by name. Those with an answer are many: they are listed at the end.
    fn modules_that(&self, outcome: Outcome) -> Vec<&ModuleReport> {
        let is_listed = self.record.summary.status.is_terminal() || !outcome.is_conclusive();
        if is_listed { self.record.modules_that(outcome) } else { Vec::new() }
    }
}

/// Returns a number that grows with each change of a run and of those below it, so that a page that has it already is not
/// rendered again.
fn state_of(run: &RunSummary, tree: &FamilyTree) -> String {
    let runs = std::iter::once(run).chain(tree.below.iter().map(|entry| &entry.run));
    let steps = |run: &RunSummary| {
        let flags = [true, run.status.is_terminal(), run.stopped_at.is_some()];
        let flags: u32 = flags.into_iter().map(u32::from).sum();
        run.progress.modules_completed + run.total_results + flags
    };
    let is_settled = !(has_tree(run, tree) && tree.is_open);
    (runs.map(steps).sum::<u32>() + u32::from(is_settled)).to_string()
}

/// Returns whether there are searches for leads, or may be.
fn has_tree(run: &RunSummary, tree: &FamilyTree) -> bool {
    run.follow.is_some() || !tree.below.is_empty()
}

/// Handles `GET /app/searches/{run_id}` with a filter (`text`, `kind`, `verdict`, `order`): shows the run.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Answer {
    let runs = &web.runs;
    let record = runs.record(find(web, &visit, "run_id")?)?;
    let (run, catalog) = (record.summary.clone(), runs.catalog());
    let is_running = !run.status.is_terminal();
    let mut overview = if is_running { Overview::default() } else { Overview::of(&record) };
    let family = runs.family(record.clone())?;
    let of_family = family.runs();
    let all = of_family.iter().flat_map(|run| run.results.iter().map(|result| (&run.summary, result)));
    let kinds = all.clone().map(|(_, result)| result.result_type.clone()).collect();
    let results = Results::new(run.id, all, &visit.form, is_running, &catalog);
    let (who, leads) = match is_running {
        true => (Who::default(), Vec::new()),
        false => (Who::of(&family.findings(), catalog.profiles()), leads::leads(runs, &family)),
    };
    let retried = run.retry_of.map(|id| web.store.run(id, run.account)).transpose()?;
    render(&Page {
        earlier: earlier(web, &run)?,
        has_watch: match run.watch {
            Some(id) => web.store.watch(run.account, id)?.is_some(),
            None => false,
        },
        has_retried: retried.flatten().is_some(),
        timeline: std::mem::take(&mut overview.timeline),
        overview,
        who,
        leads,
        kinds,
        results,
        can_print: runs.browsers.prints(),
        live: Live::new(web, &visit, record, family.tree())?,
        form: visit.form,
        frame: visit.frame,
    })
}

/// Handles `GET /app/searches/{run_id}/live` with a filter, `after` (the last result that the page has), `at` (its state)
/// and `ended` (if it shows a run that has ended): returns the parts of the page that have changed, for its script, or 204 if
/// nothing has.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn live(web: &Arc<Web>, mut visit: Visit) -> Answer {
    let (runs, found) = (&web.runs, find(web, &visit, "run_id")?);
    let tree = runs.tree(&found)?;
    if visit.form.has("at", &state_of(&found, &tree)) {
        return Ok(Reply::Now(Response::empty(204)));
    }
    let record = runs.record(found)?;
    let after: u32 = visit.form.get("after").parse().unwrap_or(u32::MAX);
    let new = record.results.iter().filter(|result| result.id > after).map(|it| (&record.summary, it));
    let results = Results::new(record.summary.id, new, &visit.form, true, &runs.catalog());
    let is_new_end = record.summary.status.is_terminal() && !visit.form.has("ended", "yes");
    ["after", "at", "ended"].iter().for_each(|name| visit.form.set(name, ""));
    let mut live = Live::new(web, &visit, record, tree)?;
    if is_new_end {
        live.next.clone_from(&live.page);
    }
    render(&LivePage { frame: visit.frame, form: visit.form, live, results })
}

/// Returns the run of a segment of the address.
///
/// # Errors
/// Returns 404 for a malformed, unknown or deleted id and for a run of another account, always with the same text.
pub(super) fn find(web: &Web, visit: &Visit, segment: &str) -> Result<RunSummary, WebError> {
    Ok(web.find_run(visit.caller()?, visit.id(segment)?)?)
}

/// Returns the last search before this one for the same query, if both have ended.
fn earlier(web: &Web, run: &RunSummary) -> Result<Option<RunId>, WebError> {
    Ok(web.runs.comparable(run, Some(Cursor::after(run)), 1)?.first().map(|run| run.id))
}

/// Returns the address parameters of the history of all runs with a tag.
pub(in crate::web) fn tag_query(tag: &str) -> String {
    Form::default().with("tag", tag).query()
}
