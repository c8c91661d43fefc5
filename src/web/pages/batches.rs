//! The pages of batches: check a list, start it, follow it, stop it, its matrix and its files.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::base::ids::BatchId;
use crate::model::batch::{Batch, BatchRow, BatchStatus, Counts, RowRefusal, batch_name};
use crate::model::credits::Balance;
use crate::model::page::cut;
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;
use crate::report::Format;
use crate::report::html::titled;
use crate::runs::batches::draft::{Draft, InvalidRow};
use crate::runs::batches::{BatchMatrix, MatrixRow, table};
use crate::web::error::Shown;
use crate::web::form::new_once;
use crate::web::show::lasted;
use crate::web::{Answer, Form, Frame, Moment, Visit, Web, WebError, render, sentence};

/// The number of batches, of searches of one, and of queries in its matrix, on a page.
const BATCHES: usize = 20;
const SEARCHES: usize = 50;
const QUERIES: usize = 25;
/// The maximum number of invalid searches, and of duplicates, on the page.
const MOST_LISTED: usize = 100;
/// The most characters of a line that is not valid.
const MOST_LINE_CHARS: usize = 80;

#[derive(Template)]
#[template(path = "batches.html", config = "src/web/askama.toml")]
struct ListPage {
    frame: Frame,
    form: Form,
    batches: Vec<Batch>,
    is_later_page: bool,
    /// The last batch of this page, if there are older ones.
    older: Option<BatchId>,
}

#[derive(Template)]
#[template(path = "batch-check.html", config = "src/web/askama.toml")]
struct CheckPage {
    frame: Frame,
    form: Form,
    draft: Draft,
    balance: Balance,
    /// What the button to start sends: the fingerprint of the batch that was checked.
    checked: String,
}

#[derive(Template)]
#[template(path = "batch.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    batch: Batch,
    rows: Vec<BatchRow>,
    /// The place after which the rows begin.
    after: u32,
    /// The last row of this page, if there are more.
    next: Option<u32>,
}

#[derive(Template)]
#[template(path = "batch-matrix.html", config = "src/web/askama.toml")]
struct MatrixPage {
    frame: Frame,
    batch: Batch,
    matrix: BatchMatrix,
    after: u32,
    /// The last row of this page, and whether there are more.
    last: u32,
    has_more: bool,
}

/// The outcomes of one type of queries: the searches, and the outcome of each for every site that has a hit for one.
type Table<'m> = (SearchType, Vec<&'m MatrixRow>, Vec<(String, Vec<Option<Outcome>>)>);

impl MatrixPage {
    fn tables(&self) -> Vec<Table<'_>> {
        let titles = self.matrix.titles();
        let table = |kind| {
            let rows: Vec<_> = self.matrix.rows.iter().filter(|row| row.search_type == kind).collect();
            let sites = titles.iter().enumerate().map(|(at, title)| {
                (title.clone(), rows.iter().map(|row| row.outcomes[at]).collect::<Vec<_>>())
            });
            let hits = |outcomes: &Vec<_>| outcomes.iter().filter(|it| **it == Some(Outcome::Hit)).count();
            let mut sites: Vec<_> = sites.filter(|(_, outcomes)| hits(outcomes) > 0).collect();
            sites.sort_by_key(|(_, outcomes)| Reverse(hits(outcomes)));
            (kind, rows, sites)
        };
        SearchType::ALL.into_iter().map(table).filter(|(_, rows, _)| !rows.is_empty()).collect()
    }
}

impl CheckPage {
    /// Returns the beginning of the line of a search that is not valid.
    fn line_of(&self, row: &InvalidRow) -> String {
        let line =
            row.line.and_then(|line| self.form.get("list").lines().nth(usize::try_from(line).ok()? - 1));
        line.unwrap_or_default().chars().take(MOST_LINE_CHARS).collect()
    }
}

/// Handles `GET /app/batches`: shows the batches and the form.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn list(web: &Arc<Web>, mut visit: Visit) -> Answer {
    visit.form.set("type", "auto");
    visit.form.set("once", &new_once());
    show_list(web, visit)
}

fn show_list(web: &Web, visit: Visit) -> Answer {
    let before: Option<BatchId> = visit.form.get("before").parse().ok();
    let (batches, older) = web.runs.batches(visit.caller()?.account.id, before, BATCHES)?;
    render(&ListPage {
        frame: visit.frame,
        form: visit.form,
        older,
        is_later_page: before.is_some(),
        batches,
    })
}

/// Handles `POST /app/batches`: checks the list and shows what the batch would cost. With `start`, the fingerprint of
/// the batch that was checked, it creates the batch and redirects to its page. A list that was changed after its check
/// is checked again.
///
/// # Errors
/// Returns 401 without a session, 503 if the store is unavailable. The form shows what is wrong, with 422.
pub(in crate::web) fn create(web: &Arc<Web>, mut visit: Visit) -> Answer {
    let (name, draft) = match read(&visit.form) {
        Ok(order) => order,
        Err(error) => return visit.refuse(error, |visit| show_list(web, visit)),
    };
    let fingerprint = draft.fingerprint(name.as_deref());
    let checked = URL_SAFE_NO_PAD.encode(fingerprint);
    let Ok(key) = visit.once() else {
        visit.form.set("once", &new_once());
        return show_check(web, visit, draft, checked);
    };
    if visit.form.get("start") != checked || draft.rows.is_empty() {
        return show_check(web, visit, draft, checked);
    }
    let (_, origin) = visit.actor()?;
    match web.create_batch(visit.caller()?, name, &draft, Some(key), &origin) {
        Ok(id) => web.redirect(&format!("/app/batches/{id}")),
        Err(refusal) => visit.refuse(refusal.into(), |visit| show_check(web, visit, draft, checked)),
    }
}

/// Reads the name and the searches of a form. The draft may contain invalid searches.
fn read(form: &Form) -> Result<(Option<String>, Draft), WebError> {
    let name = batch_name(form.get("name"))?;
    let detected =
        |query: &str| SearchType::from_name(form.get("type")).or_else(|| Some(SearchType::recognized(query)));
    let draft = table::read(form.get("list").as_bytes(), detected);
    Ok((name, draft.map_err(|refusal| WebError::from(refusal).at(Shown::Field("list")))?))
}

fn show_check(web: &Web, visit: Visit, draft: Draft, checked: String) -> Answer {
    let balance = web.accounts.balance(visit.caller()?)?;
    render(&CheckPage { frame: visit.frame, form: visit.form, draft, balance, checked })
}

/// Handles `GET /app/batches/{batch_id}`: shows the batch and its searches. While it runs, the page is loaded again, or the
/// script replaces its parts.
///
/// # Errors
/// Returns 404 for an unknown batch, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Answer {
    let (batch, after) = (find(web, &visit)?, after(&visit));
    let mut rows = web.store.batch_rows(batch.id, after, SEARCHES + 1)?;
    let next = cut(&mut rows, SEARCHES).map(|last| last.position);
    render(&Page { frame: visit.frame, batch, rows, after, next })
}

/// Returns the searches by state: its name, their number, and that of the searches in the states before it.
fn shares(counts: &Counts) -> [(&'static str, u32, u32); 6] {
    let Counts { pending, running, completed, failed, refused, skipped } = *counts;
    let mut from = 0;
    [
        ("completed", completed),
        ("failed", failed),
        ("refused", refused),
        ("skipped", skipped),
        ("running", running),
        ("pending", pending),
    ]
    .map(|(name, count)| {
        from += count;
        (name, count, from - count)
    })
}

/// Returns why a search was not made.
fn refusal(row: &BatchRow) -> &'static str {
    match row.reason {
        None => "",
        Some(RowRefusal::Suppressed) => "This identifier is never searched here.",
        Some(RowRefusal::InvalidChoice) => "Its choice of modules is not valid with the current catalogue.",
        Some(RowRefusal::PlanRequired) => "The plan does not include premium searches.",
        Some(RowRefusal::PremiumUnavailable) => "No browser was available.",
        Some(RowRefusal::Unreadable) => "This version of the program cannot read it.",
    }
}

/// Handles `POST /app/batches/{batch_id}/stop`: stops the batch and redirects to its page.
///
/// # Errors
/// Returns 404 for an unknown batch, 503 if the store is unavailable.
pub(in crate::web) fn stop(web: &Arc<Web>, visit: Visit) -> Answer {
    let ((account, origin), id) = (visit.actor()?, visit.id("batch_id")?);
    if !web.runs.stop_batch(account, id, &origin)? {
        return Err(WebError::no_such_page());
    }
    web.redirect(&format!("/app/batches/{id}"))
}

/// Handles `GET /app/batches/{batch_id}/matrix`: shows the outcomes of some searches by site: the sites with a hit.
///
/// # Errors
/// Returns 404 for an unknown batch, 503 if the store is unavailable.
pub(in crate::web) fn matrix(web: &Arc<Web>, visit: Visit) -> Answer {
    let (batch, after) = (find(web, &visit)?, after(&visit));
    let matrix = web.runs.matrix(batch.id, after, QUERIES)?;
    let last = matrix.rows.last().map_or(after, |row| row.row);
    let has_more = !web.store.batch_rows(batch.id, last, 1)?.is_empty();
    render(&MatrixPage { frame: visit.frame, batch, matrix, after, last, has_more })
}

/// Handles `GET /app/batches/{batch_id}/export?format=…`: sends the results found so far. If the export fails before
/// its end, the connection is closed, so that an incomplete file never looks complete.
///
/// # Errors
/// Returns 400 for an unknown format, 404 for an unknown batch, 503 if the store is unavailable.
pub(in crate::web) fn export(web: &Arc<Web>, visit: Visit) -> Answer {
    let format = Format::among(Format::OF_BATCHES, Some(visit.form.get("format")))?;
    Ok(web.batch_file(find(web, &visit)?, format, &visit.request_id))
}

fn shown_name(batch: &Batch) -> &str {
    batch.name.as_deref().unwrap_or("Batch without a name")
}

/// Returns the batch of the address.
fn find(web: &Web, visit: &Visit) -> Result<Batch, WebError> {
    Ok(web.find_batch(visit.caller()?, visit.id("batch_id")?)?)
}

/// Returns the place after which the rows of a page begin. An invalid one is ignored.
fn after(visit: &Visit) -> u32 {
    visit.form.get("after").parse().unwrap_or(0)
}
