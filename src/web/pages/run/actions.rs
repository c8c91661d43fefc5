//! What is done with a run from its page: it is stopped, asked again, started again, noted, exported, deleted, and its
//! leads are followed.

use std::sync::Arc;

use askama::Template;

use super::find;
use crate::account::service::Caller;
use crate::base::text::visible;
use crate::http::{Reply, Response, StaticFile};
use crate::model::notes::{
    self, Annotation, AnnotationUpdate, MAX_RESULT_NOTE, MAX_RUN_NOTE, NoteError, RunNotes, RunNotesUpdate,
    TAG_ALLOWED,
};
use crate::model::run::{ModuleReport, RunSummary};
use crate::report::Format;
use crate::report::file_name::content_disposition;
use crate::runs::record::RunRecord;
use crate::runs::retry::Retry;
use crate::runs::service::Found;
use crate::service::refusal::Refusal;
use crate::web::error::WebError;
use crate::web::frame::{Confirm, Frame, render};
use crate::web::notice::Notice;
use crate::web::pages::form_parts::once_key;
use crate::web::pages::refusal::sentence;
use crate::web::pages::run_row::RunRow;
use crate::web::pages::search::{begin, started};
use crate::web::pages::search_form::SearchForm;
use crate::web::service::Web;
use crate::web::visit::{Form, Visit};

/// The button that asks the modules of a run again.
pub(super) struct Again {
    /// The number of modules that are asked.
    pub(super) modules: usize,
    /// The price as text.
    pub(super) price: String,
}

impl Again {
    /// Returns the button of a run. Returns `None` if the run has not ended, or there is nothing to ask again.
    pub(super) fn of(web: &Web, run: &RunSummary, reports: &[ModuleReport], caller: &Caller) -> Option<Self> {
        let retry = Retry::of(run, reports, &web.parts.runs.catalog()).ok()?;
        if retry.is_premium() && !caller.plan.premium {
            return None;
        }
        let price = match retry.cost() {
            1 => "1 credit".to_owned(),
            cost => format!("{cost} credits"),
        };
        Some(Self { modules: retry.modules(), price })
    }
}

/// Handles `POST /app/searches/{run_id}/stop`: stops the run, and redirects to its page.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn stop(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (id, account) = (visit.id("run_id")?, visit.caller()?.account.id);
    if !web.parts.runs.stop(id, account, &visit.origin()?)? {
        return Err(WebError::no_such_page());
    }
    Ok(Reply::Now(web.redirect(&format!("/app/searches/{id}"))))
}

/// Handles `POST /app/searches/{run_id}/retry` with `once`: starts a run of the modules that came to no conclusion, and
/// redirects to its page. A form that is sent several times starts only one.
///
/// # Errors
/// Returns 409 if there is nothing to ask again, 404 for an unknown run, 503 if the store is unavailable, and another
/// status if the search is refused.
pub(in crate::web) fn retry(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let found = find(web, &visit)?;
    let key = once_key(visit.form().get("once"));
    let key = key.ok_or_else(|| WebError::invalid("The form was incomplete. Nothing was charged."))?;
    let run = web.services().retry(visit.caller()?, &found, Some(key), visit.origin()?);
    to_page_of(web, &visit, run)
}

/// Handles `POST /app/searches/{run_id}/leads/{lead_id}/follow`: starts a search for the lead, and redirects to its page.
/// A lead that has a search already leads to that one.
///
/// # Errors
/// Returns 409 for a lead that cannot be followed, 402 without credits, 403 for a suppressed identifier, 404 for an
/// unknown run or lead, 503 if the store is unavailable.
pub(in crate::web) fn follow(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (found, lead) = (find(web, &visit)?, visit.id("lead_id")?);
    let followed = web.services().follow(visit.caller()?, &found, lead, visit.origin()?);
    to_page_of(web, &visit, followed)
}

fn to_page_of(web: &Web, visit: &Visit, run: Result<Found, Refusal>) -> Result<Reply, WebError> {
    match started(visit, run)? {
        Ok(id) => Ok(Reply::Now(web.redirect(&format!("/app/searches/{id}")))),
        Err(refusal) if refusal.is_unconfirmed => Err(WebError::unavailable()),
        Err(refusal) => Err(WebError::new(refusal.status, "Not started", refusal.text)),
    }
}

/// Handles `POST /app/searches/{run_id}/again` with `once`: starts the same search with the same options, and redirects to
/// its page. A form that is sent several times starts only one. If the search is refused, the search form shows why.
///
/// # Errors
/// Returns 404 for an unknown run, 409 if its options are not known yet, 503 if the store is unavailable.
pub(in crate::web) fn again(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let once = visit.form().get("once").to_owned();
    let mut form = SearchForm::of_run(web, &find(web, &visit)?)?;
    form.once = once;
    begin(web, visit, form)
}

/// Handles `GET /app/searches/{run_id}/thumbnails/{result_id}`: returns the profile picture of a result.
///
/// # Errors
/// Returns 404 for an unknown run or result and for a result without a thumbnail, 503 if the store is unavailable.
pub(in crate::web) fn thumbnail(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let found = find(web, &visit)?;
    let png = web.parts.runs.reader.thumbnail(found.id(), visit.id("result_id")?)?;
    let file = Arc::new(StaticFile::plain("image/png", png.ok_or_else(WebError::no_such_page)?));
    let response = Response::of_file(&file, &visit.request);
    Ok(Reply::Now(response.with_header("Cache-Control", "private, max-age=86400, immutable")))
}

/// Handles `GET /app/searches/{run_id}/export?format=…`: returns the results found so far. For a run that has not
/// ended, the file name says so.
///
/// # Errors
/// Returns 400 for an unknown format, 404 for an unknown run, 503 if the store is unavailable, or if a PDF is asked for
/// and no browser prints it.
pub(in crate::web) fn export(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let format = Format::from_name(visit.query().get("format"));
    let format = format.ok_or_else(|| {
        let names = Format::ALL.map(Format::as_str).join(", ");
        WebError::invalid(format!("A search can be exported in these formats: {names}."))
    })?;
    let found = find(web, &visit)?;
    let run = format.read(&web.parts.runs.reader, &found)?;
    if format != Format::Pdf {
        return file(web, &run, format).map(Reply::Now);
    }
    if !web.parts.runs.browsing().can_print() {
        return Err(WebError::cannot_print());
    }
    // A browser takes seconds.
    Ok(web.later(visit, move |web, _| file(web, &run, format).map(Reply::Now)))
}

fn file(web: &Web, run: &RunRecord, format: Format) -> Result<Response, WebError> {
    let mut bytes = Vec::new();
    let runs = &web.parts.runs;
    // A Vec accepts all bytes, and the record contains only numbers and strings, so only printing can fail.
    let written = format.write(&mut bytes, run, &runs.catalog(), |page| runs.browsing().print(page));
    written.map_err(|error| WebError::cannot_print().with_cause(error))?;
    let response = Response::new(200, format.media_type(), bytes)
        .with_header("Content-Disposition", content_disposition(&run.summary, format));
    Ok(match format.content_security_policy() {
        Some(policy) => response.with_header("Content-Security-Policy", policy),
        None => response,
    })
}

/// Handles `GET /app/searches/{run_id}/delete`: asks for confirmation.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn confirm_delete(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let run = find(web, &visit)?.summary();
    // Only a root is deleted with its family.
    let family = match run.family {
        None => web.parts.runs.families.tree(&run)?.below.len(),
        Some(_) => 0,
    };
    let started = if family == 1 { "search".to_owned() } else { format!("{family} searches") };
    let is_running = if run.status.is_terminal() { "" } else { " It is still running and will be stopped." };
    Ok(Reply::Now(render(&Confirm {
        frame: visit.frame,
        question: "Delete this search?",
        subject: run.query,
        text: format!(
            "The search and everything that it found (results: {}) are removed permanently, also for the API.{is_running} Its \
             credits are not refunded.",
            run.total_results
        ),
        also: (family > 0)
            .then(|| ("family", format!("Also delete the {started} that its leads have started"))),
        button: "Delete permanently",
        back: format!("/app/searches/{}", run.id),
    })))
}

/// Handles `POST /app/searches/{run_id}/delete`: deletes the run, with its family if `family` is `yes`.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn delete(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (id, account, by) = (visit.id("run_id")?, visit.caller()?.account.id, visit.origin()?);
    let is_deleted = match visit.form().is_checked("family") {
        true => web.parts.runs.delete_family(id, account, &by)?,
        false => web.parts.runs.delete(id, account, &by)?,
    };
    if !is_deleted {
        return Err(WebError::no_such_page());
    }
    Ok(Reply::Now(web.redirect_with_notice("/app/searches", Notice::SearchDeleted)))
}

/// The tags and the note of a run.
pub(in crate::web::pages) struct NotesView {
    /// The tags, each with the query of the history that it filters.
    pub(in crate::web::pages) tags: Vec<(String, String)>,
    pub(in crate::web::pages) note: Option<String>,
}

impl NotesView {
    pub(in crate::web::pages) fn of(notes: &RunNotes) -> Self {
        let query = |tag: &str| {
            let tag: String = url::form_urlencoded::byte_serialize(tag.as_bytes()).collect();
            format!("?tag={tag}")
        };
        Self {
            tags: notes.tags.iter().map(|tag| (tag.clone(), query(tag))).collect(),
            note: notes.note.as_deref().map(|note| visible(note).into_owned()),
        }
    }

    /// Returns the tags as the form shows them.
    pub(super) fn words(&self) -> String {
        self.tags.iter().map(|(tag, _)| tag.as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// Handles `POST /app/searches/{run_id}/notes`: changes the tags and the note of the run, and redirects to its page.
///
/// # Errors
/// Returns 400 if they are not valid, 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn note_run(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (id, account, form) = (visit.id("run_id")?, visit.caller()?.account.id, visit.form());
    let words =
        form.get("tags").split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    let update = RunNotesUpdate {
        tags: Some(notes::tags(words).map_err(invalid)?),
        note: Some(notes::note(form.get("note"), MAX_RUN_NOTE).map_err(invalid)?),
    };
    let noted = web.parts.runs.note_run(id, account, &update, &visit.origin()?)?;
    noted.ok_or_else(WebError::no_such_page)?;
    Ok(Reply::Now(web.redirect(&format!("/app/searches/{id}#notes"))))
}

/// The form for the note on a result.
#[derive(Template)]
#[template(path = "annotation.html", config = "src/web/askama.toml")]
struct AnnotationPage {
    frame: Frame,
    run: RunRow,
    result_id: u32,
    platform: String,
    value: Option<String>,
    annotation: Annotation,
}

/// Handles `GET /app/searches/{run_id}/results/{result_id}/annotation`: shows the form for the note on a result.
///
/// # Errors
/// Returns 404 for an unknown run or result, 503 if the store is unavailable.
pub(in crate::web) fn annotation(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let id: u32 = visit.id("result_id")?;
    let record = web.parts.runs.reader.record(&find(web, &visit)?)?;
    let result = record.results.into_iter().find(|result| result.id == id);
    let result = result.ok_or_else(WebError::no_such_page)?;
    Ok(Reply::Now(render(&AnnotationPage {
        run: RunRow::new(&record.summary, web.parts.clock.now()),
        result_id: id,
        platform: result.platform.unwrap_or(result.source),
        value: result.value,
        annotation: result.annotation.unwrap_or_default(),
        frame: visit.frame,
    })))
}

/// Handles `POST /app/searches/{run_id}/results/{result_id}/annotation` with `note`, `not_this_person` (`yes` or `no`) or
/// both: changes what is given, and redirects to the result.
///
/// # Errors
/// Returns 400 if the note is not valid, 404 for an unknown run or result, 503 if the store is unavailable.
pub(in crate::web) fn annotate(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (run, result) = (visit.id("run_id")?, visit.id("result_id")?);
    let (account, update) = (visit.caller()?.account.id, update(&visit.form())?);
    let noted = web.parts.runs.annotate(run, result, account, &update, &visit.origin()?)?;
    noted.ok_or_else(WebError::no_such_page)?;
    Ok(Reply::Now(web.redirect(&format!("/app/searches/{run}#result-{result}"))))
}

fn update(form: &Form) -> Result<AnnotationUpdate, WebError> {
    let note = form.is_checked("note").then(|| notes::note(form.get("note"), MAX_RESULT_NOTE));
    let not_this_person = match form.get("not_this_person") {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    };
    Ok(AnnotationUpdate { note: note.transpose().map_err(invalid)?, not_this_person })
}

fn invalid(error: NoteError) -> WebError {
    let more = match error {
        NoteError::InvalidTag => format!(" Allowed: {TAG_ALLOWED}."),
        _ => String::new(),
    };
    WebError::invalid(format!("{}.{more}", sentence(&error.to_string())))
}
