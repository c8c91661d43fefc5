//! What is done with a run from its page: it is stopped, asked again, noted, exported, deleted, and its leads are followed.

use std::sync::Arc;

use super::find;
use crate::base::ids::RunId;
use crate::http::Reply;
use crate::model::notes::{self, AnnotationUpdate, MAX_RESULT_NOTE, MAX_RUN_NOTE, RunNotesUpdate, Verdict};
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

/// Handles `POST /app/searches/{run_id}/leads/{lead_id}/follow`: starts a search for the lead, and redirects to the page of
/// the run, which then has its results, too. A lead that has a search already starts no other one.
///
/// # Errors
/// Returns 409 for a lead that cannot be followed, 402 without credits, 403 for a suppressed identifier, 404 for an
/// unknown run or lead, 503 if the store is unavailable.
pub(in crate::web) fn follow(web: &Arc<Web>, visit: Visit) -> Answer {
    let (found, lead, (_, origin)) = (find(web, &visit, "run_id")?, visit.id("lead_id")?, visit.actor()?);
    web.follow(visit.caller()?, &found, lead, origin)?;
    web.redirect(&format!("/app/searches/{}#searches", found.id))
}

/// Handles `GET /app/searches/{run_id}/thumbnails/{result_id}`: returns the profile picture of a result.
///
/// # Errors
/// Returns 404 for an unknown run or result and for a result without a thumbnail, 503 if the store is unavailable.
pub(in crate::web) fn thumbnail(web: &Arc<Web>, visit: Visit) -> Answer {
    let found = find(web, &visit, "run_id")?;
    Ok(Reply::Now(web.thumbnail(&found, visit.id("result_id")?, &visit.request)?))
}

/// Handles `GET /app/searches/{run_id}/results/{result_id}/evidence?module=…`: returns a kept answer as a file.
///
/// # Errors
/// Returns 404 for an unknown run or result and for a result without it, 503 if the store is unavailable.
pub(in crate::web) fn evidence(web: &Arc<Web>, visit: Visit) -> Answer {
    let found = find(web, &visit, "run_id")?;
    let module = Some(visit.form.get("module")).filter(|module| !module.is_empty());
    Ok(Reply::Now(web.evidence(&found, visit.id("result_id")?, module)?))
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

/// Handles `POST /app/searches/{run_id}/results` with `verdict` (the place of a result and a verdict or `none`, such as
/// `12 mine`): changes the verdict on the result, which may be one of a search for a lead, and redirects to it.
///
/// # Errors
/// Returns 404 for an unknown run or result, 503 if the store is unavailable.
pub(in crate::web) fn judge(web: &Arc<Web>, visit: Visit) -> Answer {
    let page: RunId = visit.id("run_id")?;
    let read = |text: &str| {
        let (place, verdict) = text.split_once(' ')?;
        let (run, result) = match place.rsplit_once('-') {
            Some((run, result)) => (run.parse().ok()?, result),
            None => (page, place),
        };
        let verdict = if verdict == "none" { None } else { Some(Verdict::from_name(verdict)?) };
        Some((place.to_owned(), run, result.parse().ok()?, verdict))
    };
    let (place, run, result, verdict) = read(visit.form.get("verdict")).ok_or_else(WebError::no_such_page)?;
    annotate(web, &visit, run, result, &AnnotationUpdate { note: None, verdict: Some(verdict) })?;
    web.redirect(&format!("/app/searches/{page}#result-{place}"))
}

/// Handles `POST /app/searches/{run_id}/results/{result_id}/note` with `note`: changes the note on the result, and redirects
/// to it.
///
/// # Errors
/// Returns 400 if the note is not valid, 404 for an unknown run or result, 503 if the store is unavailable.
pub(in crate::web) fn note_result(web: &Arc<Web>, visit: Visit) -> Answer {
    let note = Some(notes::note(visit.form.get("note"), MAX_RESULT_NOTE)?);
    let (run, result) = (visit.id("run_id")?, visit.id("result_id")?);
    annotate(web, &visit, run, result, &AnnotationUpdate { note, verdict: None })?;
    web.redirect(&format!("/app/searches/{run}#result-{result}"))
}

fn annotate(
    web: &Web,
    visit: &Visit,
    run: RunId,
    result: u32,
    update: &AnnotationUpdate,
) -> Result<(), WebError> {
    let (account, by) = visit.actor()?;
    web.annotate(run, result, account, update, &by)?;
    Ok(())
}
