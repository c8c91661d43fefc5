//! What the owner notes about the run and its results.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;

use super::lookup::find;
use crate::base::text::{plain, visible};
use crate::http::Reply;
use crate::model::notes::{
    self, Annotation, AnnotationUpdate, MAX_RESULT_NOTE, MAX_RUN_NOTE, NoteError, RunNotes, RunNotesUpdate,
    TAG_ALLOWED,
};
use crate::model::run::ResultRecord;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::pages::refusal::sentence;
use crate::web::pages::run_row::RunRow;
use crate::web::service::Web;
use crate::web::visit::{Form, Visit};

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

    /// Returns the note as the form shows it.
    pub(super) fn text(&self) -> &str {
        self.note.as_deref().unwrap_or_default()
    }
}

/// Returns the annotations by the ids of their results, as JSON for the script.
pub(super) fn annotations(results: &[ResultRecord]) -> String {
    let annotation = |result: &ResultRecord| Some((result.id, result.annotation.clone()?));
    let all: BTreeMap<u32, Annotation> = results.iter().filter_map(annotation).collect();
    serde_json::to_string(&all).unwrap_or_default()
}

/// The form for the note on a result.
#[derive(Template)]
#[template(path = "annotation.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    run: RunRow,
    result_id: u32,
    platform: String,
    value: Option<String>,
    annotation: Annotation,
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

/// Handles `GET /app/searches/{run_id}/results/{result_id}/annotation`: shows the form for the note on a result.
///
/// # Errors
/// Returns 404 for an unknown run or result, 503 if the store is unavailable.
pub(in crate::web) fn form(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let id: u32 = visit.id("result_id")?;
    let record = web.parts.runs.reader.record(&find(web, &visit)?)?;
    let result = record.results.into_iter().find(|result| result.id == id);
    let result = result.ok_or_else(WebError::no_such_page)?;
    Ok(Reply::Now(render(&Page {
        run: RunRow::new(&record.summary, web.parts.clock.now()),
        result_id: id,
        platform: plain(result.platform.as_deref().unwrap_or(&result.source)).into_owned(),
        value: result.value.as_deref().map(|value| plain(value).into_owned()),
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
