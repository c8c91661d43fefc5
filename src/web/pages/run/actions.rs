//! What is done with a run from its page: it is stopped, asked again, noted, exported, deleted, and its leads are followed.

use std::sync::Arc;

use super::find;
use crate::base::ids::RunId;
use crate::http::Reply;
use crate::model::notes::{self, AnnotationUpdate, MAX_RESULT_NOTE, MAX_RUN_NOTE, RunNotesUpdate};
use crate::report::Format;
use crate::web::cookies::Notice;
use crate::web::{Answer, Visit, Web, WebError};

/// Handles `POST /app/searches/{run_id}/stop`: stops the run, and redirects to its page.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn stop(web: &Arc<Web>, visit: Visit) -> Answer {
    let ((account, origin), id) = (visit.actor()?, visit.id("run_id")?);
    if !web.runs.stop(id, account, &origin)? {
        return Err(WebError::no_such_page());
    }
    web.redirect(&format!("/app/searches/{id}"))
}

/// Handles `POST /app/searches/{run_id}/retry` with `once`: starts a run of the modules that came to no conclusion, and
/// redirects to its page. A form that is sent several times starts only one.
///
/// # Errors
/// Returns 409 if there is nothing to ask again, 404 for an unknown run, 503 if the store is unavailable, and another
/// status if the search is refused.
pub(in crate::web) fn retry(web: &Arc<Web>, visit: Visit) -> Answer {
    let (found, (_, origin)) = (find(web, &visit, "run_id")?, visit.actor()?);
    let run = web.retry(visit.caller()?, &found, Some(visit.once()?), origin)?;
    web.redirect(&format!("/app/searches/{}", run.id))
}

/// Handles `POST /app/searches/{run_id}/leads/{lead_id}/follow`: starts a search for the lead, and redirects to its page.
/// A lead that has a search already leads to that one.
///
/// # Errors
/// Returns 409 for a lead that cannot be followed, 402 without credits, 403 for a suppressed identifier, 404 for an
/// unknown run or lead, 503 if the store is unavailable.
pub(in crate::web) fn follow(web: &Arc<Web>, visit: Visit) -> Answer {
    let (found, lead, (_, origin)) = (find(web, &visit, "run_id")?, visit.id("lead_id")?, visit.actor()?);
    let run = web.follow(visit.caller()?, &found, lead, origin)?;
    web.redirect(&format!("/app/searches/{}", run.id))
}

/// Handles `GET /app/searches/{run_id}/thumbnails/{result_id}`: returns the profile picture of a result.
///
/// # Errors
/// Returns 404 for an unknown run or result and for a result without a thumbnail, 503 if the store is unavailable.
pub(in crate::web) fn thumbnail(web: &Arc<Web>, visit: Visit) -> Answer {
    let found = find(web, &visit, "run_id")?;
    Ok(Reply::Now(web.thumbnail(&found, visit.id("result_id")?, &visit.request)?))
}

/// Handles `GET /app/searches/{run_id}/export?format=…`: returns the results found so far. For a run that has not
/// ended, the file name shows it.
///
/// # Errors
/// Returns 400 for an unknown format, 404 for an unknown run, 503 if the store is unavailable, or if a PDF is asked for
/// and no browser prints it.
pub(in crate::web) fn export(web: &Arc<Web>, visit: Visit) -> Answer {
    let format = Format::among(&Format::ALL, Some(visit.form.get("format")))?;
    Ok(Reply::Now(web.run_file(find(web, &visit, "run_id")?, format)?))
}

/// Handles `POST /app/searches/{run_id}/delete`: deletes the run, with its family if `family` is `yes`.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn delete(web: &Arc<Web>, visit: Visit) -> Answer {
    let ((account, by), id) = (visit.actor()?, visit.id("run_id")?);
    if !web.runs.delete(id, account, visit.form.has("family", "yes"), &by)? {
        return Err(WebError::no_such_page());
    }
    web.redirect_with_notice("/app/searches", Notice::SearchDeleted)
}

/// Handles `POST /app/searches/{run_id}/notes`: changes the tags and the note of the run, and redirects to its page.
///
/// # Errors
/// Returns 400 if they are not valid, 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn note_run(web: &Arc<Web>, visit: Visit) -> Answer {
    let ((account, by), id, form) = (visit.actor()?, visit.id("run_id")?, &visit.form);
    let words = form.get("tags").split(|c: char| c.is_whitespace() || c == ',');
    let update = RunNotesUpdate {
        tags: Some(notes::tags(words.filter(|word| !word.is_empty()))?),
        note: Some(notes::note(form.get("note"), MAX_RUN_NOTE)?),
    };
    web.store.note_run(id, account, &update, &by)?.ok_or_else(WebError::no_such_page)?;
    web.redirect(&format!("/app/searches/{id}#notes"))
}

/// Handles `POST /app/searches/{run_id}/results/{result_id}/annotation` with `note`, `not_this_person` (`yes` or `no`) or
/// both: changes what is given, and redirects to the result.
///
/// # Errors
/// Returns 400 if the note is not valid, 404 for an unknown run or result, 503 if the store is unavailable.
pub(in crate::web) fn annotate(web: &Arc<Web>, visit: Visit) -> Answer {
    let (run, result): (RunId, u32) = (visit.id("run_id")?, visit.id("result_id")?);
    let ((account, by), form) = (visit.actor()?, &visit.form);
    let update = AnnotationUpdate {
        note: form.all("note").next().map(|note| notes::note(note, MAX_RESULT_NOTE)).transpose()?,
        not_this_person: match form.get("not_this_person") {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        },
    };
    web.store.annotate(run, result, account, &update, &by)?.ok_or_else(WebError::no_such_page)?;
    web.redirect(&format!("/app/searches/{run}#result-{result}"))
}
