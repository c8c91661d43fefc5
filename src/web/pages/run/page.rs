//! The page as the server renders it. It is complete without scripts, and then reloads while the run is
//! running. With scripts, it is updated from the events.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use jiff::Timestamp;

use super::cards::{self, Group, Site};
use super::coverage::{self, Part};
use super::family::TreeView;
use super::leads::CardLeads;
use super::lookup::find;
use super::notes::{NotesView, annotations};
use super::stop::Again;
use crate::base::ids::{BatchId, RunId, WatchId};
use crate::http::Reply;
use crate::model::coverage::Coverage;
use crate::model::run::RunSummary;
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;
use crate::report::Format;
use crate::report::html::Overview;
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
    run: RunRow,
    /// The last search before this one for the same query, if both have ended.
    earlier: Option<RunId>,
    /// The watch that has started the run, unless it was deleted.
    watch: Option<WatchId>,
    /// The batch of the run, if it is of one.
    batch: Option<BatchId>,
    /// The number of modules that were asked and have ended, and the number of those that are asked. `most` is the number
    /// of all modules, but at least 1, as a divisor.
    completed: u32,
    total: u32,
    most: u32,
    /// The time from the start to the end, or until now.
    took: String,
    took_millis: u128,
    failure: Option<String>,
    coverage: Coverage,
    hits: u32,
    /// The button that asks again what gave no answer.
    again: Option<Again>,
    /// The search whose unanswered modules this one asks again, if it still exists.
    retry_of: Option<RunId>,
    once: String,
    answered: String,
    parts: Vec<Part>,
    /// The overview. It is empty while the run is running.
    overview: Overview,
    groups: Vec<Group>,
    /// Whether the overview has all results as tables, so that the cards are collapsed.
    is_dossier: bool,
    /// Whether the results are accounts, whose values are short.
    is_username: bool,
    notes: NotesView,
    /// The annotations by the ids of their results, as JSON for the script.
    annotations: String,
    /// The leads on the cards.
    leads: CardLeads,
    /// The searches for leads. There is none if the run follows none and nobody has followed one by hand.
    tree: Option<TreeView>,
    /// The run whose lead has started this one.
    parent: Option<(RunId, String)>,
    /// The number of results that the page leaves out.
    more: usize,
    /// The category and the rank of each module.
    sites: String,
    /// The time in milliseconds without data after which the connection counts as lost.
    silence_millis: u128,
    sign_in: String,
    exports: Vec<(Format, &'static str)>,
}

/// Handles `GET /app/searches/{run_id}`: shows the run.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let found = find(web, &visit)?;
    let record = web.parts.runs.reader.record(&found)?;
    let before = Some((record.summary.created_at, record.summary.id));
    let earlier = web.parts.runs.reader.comparable(&record.summary, before, 1)?.first().map(|run| run.id);
    let watch = watch(web, &record.summary)?;
    let again = Again::of(web, &record.summary, &record.modules, visit.caller()?);
    let retry_of = retry_of(web, &record.summary)?;
    let once = new_once()?;
    let mut page = Page { earlier, watch, again, retry_of, once, ..make(web, visit.frame, &record) };
    let summary = record.summary.clone();
    let family = web.parts.runs.families.of(record)?;
    let mut tree = TreeView::new(web, &summary, &family.tree());
    page.parent = tree.parent.take();
    page.tree = Some(tree).filter(|tree| !tree.is_empty());
    let shown: HashSet<u32> = page.groups.iter().flat_map(Group::all).map(|card| card.id).collect();
    page.leads = CardLeads::of_page(web, &page.frame.root, &family, |result| shown.contains(&result));
    Ok(Reply::Now(render(&page)))
}

fn make(web: &Web, frame: Frame, record: &RunRecord) -> Page {
    let run = &record.summary;
    let catalog = web.parts.runs.catalog();
    let site = |module: &str| {
        let entry = catalog.get(module).map(|module| module.entry());
        let category = entry.map(|entry| entry.category.clone());
        Site { category, rank: entry.and_then(|entry| entry.rank) }
    };
    let (groups, more) = cards::groups(&record.results, site);
    let coverage = run.coverage;
    let now = web.parts.clock.now();
    let took = took(run, now);
    let (completed, total) = coverage.done_of(run.progress.modules_total);
    Page {
        run: RunRow::new(run, now),
        earlier: None,
        watch: None,
        batch: run.batch,
        completed,
        total,
        most: run.progress.modules_total.max(1),
        took: lasted(took),
        took_millis: took.as_millis(),
        failure: run.error.as_ref().map(|error| error.message.clone()),
        hits: coverage.count_of(Outcome::Hit),
        again: None,
        retry_of: None,
        once: String::new(),
        answered: coverage::answered(&coverage),
        coverage,
        parts: coverage::parts(record),
        overview: if run.status.is_terminal() {
            Overview::new(record, &catalog)
        } else {
            Overview::default()
        },
        groups,
        is_dossier: run.status.is_terminal()
            && run.search_type != SearchType::Username
            && run.total_results > 0,
        is_username: run.search_type == SearchType::Username,
        notes: NotesView::of(&run.notes),
        annotations: annotations(&record.results),
        leads: CardLeads::default(),
        tree: None,
        parent: None,
        more,
        sites: sites(web, run.search_type),
        silence_millis: silence(web.config.keep_alive).as_millis(),
        sign_in: format!("{}/app/sign-in?next=%2Fapp%2Fsearches%2F{}", frame.root, run.id),
        exports: exports(web),
        frame,
    }
}

/// Returns the watch that has started the run, unless it was deleted.
fn watch(web: &Web, run: &RunSummary) -> Result<Option<WatchId>, WebError> {
    let Some(id) = run.watch else { return Ok(None) };
    Ok(web.parts.store.watch(run.account, id)?.map(|watch| watch.id))
}

/// The formats of the file, starting with the one to read.
const EXPORTS: [(Format, &str); 8] = [
    (Format::Html, "Report to read and print (HTML)"),
    (Format::Pdf, "The same, printed (PDF)"),
    (Format::Md, "Text for notes (Markdown)"),
    (Format::Csv, "Spreadsheet (CSV)"),
    (Format::Json, "Everything (JSON)"),
    (Format::Ndjson, "Results, one on each line (NDJSON)"),
    (Format::Graphml, "Graph (GraphML)"),
    (Format::Stix, "Graph (STIX 2.1 bundle)"),
];

/// Returns the formats that this server has: a PDF needs a browser.
fn exports(web: &Web) -> Vec<(Format, &'static str)> {
    let can_print = web.parts.runs.browsing().prints();
    EXPORTS.into_iter().filter(|(format, _)| can_print || *format != Format::Pdf).collect()
}

/// Returns the search whose unanswered modules the run asks again, unless it was deleted.
fn retry_of(web: &Web, run: &RunSummary) -> Result<Option<RunId>, WebError> {
    let Some(id) = run.retry_of else { return Ok(None) };
    Ok(web.parts.runs.reader.find(id, run.account)?.map(|found| found.id()))
}

/// Returns the time that the run took, or has taken so far.
fn took(run: &RunSummary, now: Timestamp) -> Duration {
    run.completed_at.unwrap_or(now).duration_since(run.created_at).try_into().unwrap_or_default()
}

/// Returns a time longer than the longest silence of a working server, with a margin for slow networks.
fn silence(keep_alive: Duration) -> Duration {
    keep_alive * 2 + Duration::from_secs(5)
}

/// Returns the modules of this type by category, with the popularity of those whose rank is known:
/// `coding:github~25 gitlab~310|social:mastodon`.
fn sites(web: &Web, search_type: SearchType) -> String {
    let mut categories: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let catalog = web.parts.runs.catalog();
    for module in catalog.modules() {
        if module.search_type() == search_type {
            let entry = module.entry();
            let rank = entry.rank.map_or_else(String::new, |rank| format!("~{rank}"));
            categories.entry(&entry.category).or_default().push(format!("{}{rank}", module.id()));
        }
    }
    let groups = categories.iter().map(|(category, ids)| format!("{category}:{}", ids.join(" ")));
    groups.collect::<Vec<_>>().join("|")
}

impl Page {
    /// Returns whether the page will change by itself.
    fn is_open(&self) -> bool {
        self.run.is_running || self.tree.as_ref().is_some_and(|tree| tree.is_open)
    }
}
