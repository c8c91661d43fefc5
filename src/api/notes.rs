//! What the caller notes about runs and their results.

use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;

use super::context::{Api, Call, ok_json};
use super::error::ApiError;
use super::request;
use crate::http::Reply;
use crate::model::notes::{
    self, Annotation, AnnotationUpdate, MAX_RESULT_NOTE, MAX_RUN_NOTE, MAX_TAGS, NoteError, RunNotesUpdate,
    TAG_ALLOWED,
};
use crate::report::body::RunHead;

/// The change of what is noted about a run. What is not given stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = RunNotesRequest)]
pub struct RunNotesBody {
    /// New tags, which replace all tags: at most 10 words of up to 40 characters. They are kept in lower case, each once.
    #[serde(default, deserialize_with = "request::list::<_, _, 0, 1000>")]
    #[schema(max_items = 10, examples(json!(["case-7", "open"])))]
    tags: Option<Vec<String>>,
    /// New note of at most 2,000 characters. `null` removes the note.
    #[serde(default, deserialize_with = "request::given")]
    #[schema(value_type = Option<String>, max_length = 2000, pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
        examples("The account on GitLab is the one that we know."))]
    note: Option<Option<String>>,
}

/// The change of what is noted about a result. What is not given stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AnnotationRequest)]
pub struct AnnotationBody {
    /// New note of at most 1,000 characters. `null` removes the note.
    #[serde(default, deserialize_with = "request::given")]
    #[schema(value_type = Option<String>, max_length = 1000, pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
        examples("Same picture as on GitLab"))]
    note: Option<Option<String>>,
    /// Whether the result belongs to another person than the one who is searched.
    not_this_person: Option<bool>,
}

/// Changes the tags and the note of a run.
///
/// They are for the owner of the run: nothing is asked again. Tags find runs in the list (`tag`). Both are part of exports,
/// and are deleted with the run. Costs no credits.
#[utoipa::path(patch, path = "/v1/searches/{run_id}",
    request_body(content = RunNotesBody, description = "What changes."),
    responses((status = 200, description = "The run without its results.", body = RunHead<'_>)))]
pub fn note_search(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (account, id) = (call.caller()?.account.id, call.id("run")?);
    let body: RunNotesBody = request::json(call.request)?;
    let tags = body.tags.map(|tags| notes::tags(tags.iter().map(String::as_str)));
    let tags = tags.transpose().map_err(|error| invalid("tags", error))?;
    let update = RunNotesUpdate { tags, note: body.note.map(|text| note(text, MAX_RUN_NOTE)).transpose()? };
    let noted = api.runs.note_run(id, account, &update, &call.origin()?)?;
    let notes = noted.ok_or_else(|| ApiError::no_such("run"))?;
    let mut summary = api.find(call)?.summary();
    summary.notes = notes;
    Ok(ok_json(&RunHead::from(&summary)))
}

/// Changes the annotation of a result.
///
/// The note and the mark are for the owner of the run. The result then has the member `annotation`, in the run and in
/// exports, as long as a note or the mark is set; streams leave it out. A result that is marked as that of another person
/// is left out of the summary in the web app. Costs no credits.
#[utoipa::path(patch, path = "/v1/searches/{run_id}/results/{result_id}/annotation",
    request_body(content = AnnotationBody, description = "What changes."),
    responses((status = 200, description = "The annotation.", body = Annotation)))]
pub fn annotate_result(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (account, id) = (call.caller()?.account.id, call.id("run")?);
    let AnnotationBody { note: text, not_this_person } = request::json(call.request)?;
    let text = text.map(|text| note(text, MAX_RESULT_NOTE)).transpose()?;
    let update = AnnotationUpdate { note: text, not_this_person };
    let result = call.segments.get("result_id").and_then(|id| id.parse().ok());
    let annotate =
        |result| api.runs.annotate(id, result, account, &update, &call.origin()?).map_err(ApiError::from);
    let annotation: Option<Annotation> = result.map(annotate).transpose()?.flatten();
    Ok(ok_json(&annotation.ok_or_else(|| ApiError::no_such("result"))?))
}

/// Returns the tag that a list is filtered by.
pub(super) fn one_tag(text: &str) -> Result<String, ApiError> {
    notes::tag(text).map_err(|error| invalid("tag", error))
}

fn note(text: Option<String>, most: usize) -> Result<Option<String>, ApiError> {
    let text = text.map(|text| notes::note(&text, most)).transpose();
    text.map(Option::flatten).map_err(|error| invalid("note", error))
}

fn invalid(field: &str, error: NoteError) -> ApiError {
    let allowed = match error {
        NoteError::TooManyTags => format!("at most {MAX_TAGS} tags"),
        NoteError::InvalidTag => TAG_ALLOWED.to_owned(),
        NoteError::TooLong(most) => format!("at most {most} characters"),
        NoteError::ControlCharacter => "text with line ends and tabs".to_owned(),
    };
    ApiError::invalid_request(field, error.to_string(), allowed)
}
