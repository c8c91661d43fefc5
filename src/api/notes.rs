//! What the caller notes about runs and their results.

use std::sync::Arc;

use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Array, ArrayBuilder, ObjectBuilder, SchemaType, Type};

use super::context::{Api, Call, ok_json};
use super::decode;
use super::error::ApiError;
use super::members::{Members, object};
use crate::http::{Reply, Request};
use crate::model::notes::{
    self, Annotation, AnnotationUpdate, MAX_RESULT_NOTE, MAX_RUN_NOTE, MAX_TAGS, NoteError, RunNotesUpdate,
    TAG_ALLOWED,
};
use crate::report::body::RunHead;

/// What a tag looks like.
const TAG: &str = concat!(
    r"^[^\x00-\x22\x24-\x2a\x2c\x3b-\x3f\x5b-\x5e\x60\x7b-\xa0\u061c\u1680\u2000-\u200a",
    r"\u200e\u200f\u2028-\u202f\u205f\u2066-\u206f\u3000]{1,40}$"
);

/// The change of what is noted about a run. What is not given stays as it is.
#[derive(Debug, ToSchema)]
#[schema(as = RunNotesRequest)]
pub struct RunNotesBody {
    /// New tags, which replace all tags.
    #[schema(schema_with = new_tags)]
    pub tags: Option<Vec<String>>,
    /// New note of at most 2,000 characters. `null` removes the note.
    #[schema(
        max_length = 2000,
        pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
        examples("The account on GitLab is the one that we know.")
    )]
    pub note: Option<String>,
}

/// The change of what is noted about a result. What is not given stays as it is.
#[derive(Debug, ToSchema)]
#[schema(as = AnnotationRequest)]
pub struct AnnotationBody {
    /// New note of at most 1,000 characters. `null` removes the note.
    #[schema(
        max_length = 1000,
        pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
        examples("Same picture as on GitLab")
    )]
    pub note: Option<String>,
    /// Whether the result belongs to another person than the one who is searched.
    #[schema(examples(true))]
    pub not_this_person: Option<bool>,
}

fn new_tags() -> Array {
    let tag = ObjectBuilder::new().schema_type(Type::String).pattern(Some(TAG));
    ArrayBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .description(Some("New tags, which replace all tags: at most 10 words of up to 40 characters. They are kept in lower case, each once."))
        .items(tag)
        .max_items(Some(MAX_TAGS))
        .examples([json!(["case-7", "open"])])
        .build()
}

/// Changes the tags and the note of a run.
///
/// They are for the owner of the run: nothing is asked again. Tags find runs in the list (`tag`). Both are part of exports,
/// and are deleted with the run. Costs no credits.
#[utoipa::path(
    patch,
    path = "/v1/searches/{run_id}",
    operation_id = "noteSearch",
    tag = "Searches",
    request_body(content = RunNotesBody, description = "What changes."),
    responses(
        (status = 200, description = "The run without its results.", body = RunHead<'_>),
        (status = 415, description = "unsupported_media_type"),
    )
)]
pub fn note_run(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (account, id) = (call.caller()?.account.id, call.id("run")?);
    let update = run_update(call.request)?;
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
#[utoipa::path(
    patch,
    path = "/v1/searches/{run_id}/results/{result_id}/annotation",
    operation_id = "annotateResult",
    tag = "Searches",
    params(("result_id" = u32, Path, minimum = 1, example = 1, description = "The number of the result in its run.")),
    request_body(content = AnnotationBody, description = "What changes."),
    responses(
        (status = 200, description = "The annotation.", body = Annotation),
        (status = 415, description = "unsupported_media_type"),
    )
)]
pub fn annotate(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (account, id) = (call.caller()?.account.id, call.id("run")?);
    let update = annotation_update(call.request)?;
    let result = call.segments.get("result_id").and_then(|id| id.parse().ok());
    let annotate =
        |result| api.runs.annotate(id, result, account, &update, &call.origin()?).map_err(ApiError::from);
    let annotation: Option<Annotation> = result.map(annotate).transpose()?.flatten();
    Ok(ok_json(&annotation.ok_or_else(|| ApiError::not_found("unknown result"))?))
}

/// Returns the tag that a list is filtered by.
pub(super) fn tag_parameter(request: &Request) -> Result<Option<String>, ApiError> {
    let Some(text) = decode::parameter(request, "tag")? else { return Ok(None) };
    notes::tag(&text).map(Some).map_err(|error| invalid("tag", error))
}

fn run_update(request: &Request) -> Result<RunNotesUpdate, ApiError> {
    decode::require_json(request)?;
    let members = object(&request.body)?;
    let tags = members.optional("tags", |members, field| members.names(field, 0))?;
    let tags = tags.map(|tags| notes::tags(tags.iter().map(String::as_str)));
    Ok(RunNotesUpdate {
        tags: tags.transpose().map_err(|error| invalid("tags", error))?,
        note: note(&members, MAX_RUN_NOTE)?,
    })
}

fn annotation_update(request: &Request) -> Result<AnnotationUpdate, ApiError> {
    decode::require_json(request)?;
    let members = object(&request.body)?;
    let not_this_person = members.optional("not_this_person", Members::flag)?;
    Ok(AnnotationUpdate { note: note(&members, MAX_RESULT_NOTE)?, not_this_person })
}

/// Returns the note that is given, or `Some(None)` if it is null.
fn note(members: &Members, most: usize) -> Result<Option<Option<String>>, ApiError> {
    match members.get("note") {
        None => Ok(None),
        Some(Value::Null) => Ok(Some(None)),
        Some(_) => {
            let text = members.text("note")?;
            notes::note(text, most).map(Some).map_err(|error| invalid("note", error))
        }
    }
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
