//! What the results of a run say: leads and the searches for them, the graph, people, changes since another run, pictures;
//! what the caller notes about them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::context::{Api, Call, ok_json};
use super::request;
use super::searches::{Answer, accepted_run};
use crate::base::ids::RunId;
use crate::http::Reply;
use crate::model::diff::Diff;
use crate::model::notes::{
    self, Annotation, AnnotationUpdate, MAX_RESULT_NOTE, MAX_RUN_NOTE, RunNotesUpdate, Verdict,
};
use crate::model::refusal::Refusal;
use crate::model::run::{RunSummary, Status};
use crate::report::Format;
use crate::runs::graph::Graph;
use crate::runs::leads::{Lead, Leads};
use crate::runs::people::people;
use crate::runs::people::person::{People, Person, PersonAccount};
use crate::runs::record::RunRecord;

/// The leads of a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct LeadList {
    /// Identifies the run.
    pub run_id: RunId,
    /// State of the run. A run that has not ended may get further leads.
    pub status: Status,
    /// Number of leads.
    pub count: usize,
    /// The leads: verified ones first, then by confidence.
    pub leads: Vec<Lead>,
    /// Number of further links in the results, which are omitted because one result or the run has too many.
    pub links_omitted: usize,
}

/// Lists the leads of a run.
///
/// A lead is a pointer from a result to something that could be searched next: a link in a profile, a name on another
/// platform, an email address. The same username on another site is no lead. `status` says what became of each. Costs
/// no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}/leads", responses((status = 200, body = LeadList)))]
pub fn list_search_leads(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let run = api.runs.record(api.find(call)?)?;
    let (run_id, status) = (run.summary.id, run.summary.status);
    let Leads { all: leads, omitted: links_omitted } = api.runs.leads(&api.runs.family(run)?);
    Ok(ok_json(&LeadList { run_id, status, count: leads.len(), leads, links_omitted }))
}

/// The query parameters of what is read of a run or of its family.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FamilyParameters {
    /// Whether the searches that leads of this one and theirs have started are included.
    #[param(required = false, value_type = bool, default = true)]
    family: Option<bool>,
}

/// Gets the graph of a run.
///
/// Its nodes are the entities that the run has found or that its results name; its edges say why they are joined. The
/// same entity has the same id in every graph. Costs no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}/graph",
    params(FamilyParameters, ("format" = Option<String>, Query, description = "Format of the graph; `json` by default.",
        pattern = "^(json|graphml|stix)$", example = "json")),
    responses((status = 200, description = "The graph of the results found so far.",
        content((Graph = "application/json"), (String = "application/xml"),
            (Object = "application/stix+json;version=2.1")),
        headers(("X-Run-Id" = String), ("X-Run-Status" = String))), (status = 409)))]
pub fn get_search_graph(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let found = api.find(call)?;
    let FamilyParameters { family } = request::query(call.request)?;
    let format = request::format(call.request, Format::OF_GRAPHS)?;
    api.graph_file(found, family.unwrap_or(true), format).map(Reply::Now)
}

/// Follows one lead of a run.
///
/// Starts a search for the lead, even if it is further away or less sure than leads are followed otherwise. An account is
/// looked up with its own module. Costs 1 credit; a request for a lead that has a search already answers that search and
/// costs nothing. Counts as `search`.
#[utoipa::path(post, path = "/v1/searches/{run_id}/leads/{lead_id}/follow",
    responses(
        (status = 200, description = "The search is accepted, or was accepted before.", body = Answer<'_>,
            headers(("Location" = String), ("X-Run-Id" = String))),
        (status = 402), (status = 409)))]
pub fn follow_lead(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let (caller, run) = (call.caller()?, api.find(call)?);
    let lead = call.id("lead")?;
    Ok(accepted_run(&api.services.follow(caller, &run, lead, call.origin()?)?, &api.root))
}

/// The people of a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct PeopleList {
    /// Identifies the run.
    pub run_id: RunId,
    /// State of the run. A run that has not ended may get further accounts.
    pub status: Status,
    /// Number of people.
    pub count: usize,
    /// The people with two or more accounts: the highest scores first.
    pub people: Vec<Person>,
    /// The accounts that nothing joins to another one, by platform and value.
    pub unattributed: Vec<PersonAccount>,
}

/// Lists the people of a run.
///
/// The accounts are grouped by who they probably belong to, from evidence in the results: links, email addresses, sites,
/// keys, names and bios. The same username alone joins nothing. Costs no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}/people", params(FamilyParameters),
    responses((status = 200, body = PeopleList), (status = 409)))]
pub fn list_search_people(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let FamilyParameters { family } = request::query(call.request)?;
    let run = api.runs.record(api.find(call)?)?;
    Ok(ok_json(&people_of(api, run, family.unwrap_or(true))?))
}

/// Returns the people of a run, and of the runs below it if `family` is true.
pub(super) fn people_of(api: &Api, run: RunRecord, family: bool) -> Result<PeopleList, Refusal> {
    let (run_id, status) = (run.summary.id, run.summary.status);
    let People { people, unattributed } = api.of_family(run, family, people)?;
    Ok(PeopleList { run_id, status, count: people.len(), people, unattributed })
}

/// Compares two runs.
///
/// Lists what changed from the run `run_id` to the run `other`: two runs of the same type and query that have ended.
/// Nothing is stated that the runs do not prove: where a module came to no conclusion in one of them, took no part, or
/// had other rules, its results are `unknown`, and never `removed` or `added`. Costs no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}/diff/{other}",
    responses((status = 200, body = Diff), (status = 409), (status = 422)))]
pub fn diff_searches(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let before = api.runs.record(api.find(call)?)?;
    let after = api.runs.record(api.find_run(call.caller()?, call.id_in("other", "run")?)?)?;
    Ok(ok_json(&api.services.diff(&before, &after)?))
}

/// Gets the profile picture of a result.
///
/// A search with `avatars` fetches the pictures of the accounts that it finds. A result whose picture was fetched has
/// `metadata.avatar`: `sha256` of the file, and `phash`, a perceptual hash of 64 bits, unless the picture has only one or
/// two colours. The service keeps a small copy of 64 by 64 pixels, which it has drawn itself, until the run is deleted.
/// Costs no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}/thumbnails/{result_id}",
    params(("If-None-Match" = String, Header)),
    responses((status = 200, description = "The picture.", content((String = "image/png")),
    headers(("ETag" = String), ("Content-Security-Policy" = String)))))]
pub fn get_thumbnail(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let found = api.find(call)?;
    api.thumbnail(&found, call.id_in("result_id", "picture: this result has none")?, call.request)
        .map(Reply::Now)
}

/// The parameters of a kept answer.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct EvidenceParameters {
    /// Module whose answer is wanted, by id, or `screenshot`; the first of those in `metadata.sources` that have `evidence`
    /// if it is not given.
    module: Option<String>,
}

/// Downloads the answer that was kept as evidence for a result.
///
/// A search with `evidence` keeps the answer that each hit was judged by. In `metadata.sources`, `evidence` then has its
/// `sha256`, the time (`at`), the `address` that was asked, the `http_status`, the number of `bytes`, and whether it was
/// `truncated`. It is kept until the run is deleted. Costs no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}/results/{result_id}/evidence", params(EvidenceParameters),
    responses((status = 200, description = "The answer, as its check read it, or the screenshot.",
    content((String = "application/octet-stream")),
    headers(("Content-Disposition" = String), ("X-Evidence-SHA256" = String), ("X-Evidence-Time" = String),
        ("X-Evidence-Address" = String)))))]
pub fn get_evidence(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let EvidenceParameters { module } = request::query(call.request)?;
    let found = api.find(call)?;
    api.evidence(&found, call.id_in("result_id", "result")?, module.as_deref()).map(Reply::Now)
}

/// The change of what is noted about a run. What is not given stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = RunNotesRequest)]
pub struct RunNotesBody {
    /// New tags, which replace all tags: at most 10 words of up to 40 characters. They are kept in lower case, each once.
    #[serde(default, deserialize_with = "request::list::<_, _, 0, 1000>")]
    #[schema(max_items = 10)]
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
    /// New verdict: whether the result belongs to the one who is searched. `null` removes it.
    #[serde(default, deserialize_with = "request::given")]
    #[schema(value_type = Option<Verdict>)]
    verdict: Option<Option<Verdict>>,
}

/// Changes the tags and the note of a run.
///
/// They are for the owner of the run: nothing is asked again. Tags find runs in the list (`tag`). Both are part of exports,
/// and are deleted with the run. Costs no credits.
#[utoipa::path(patch, path = "/v1/searches/{run_id}",
    request_body(content = RunNotesBody, example = json!({"tags": ["case-7"], "note": "Ask the bank on Monday"})),
    responses((status = 200, description = "The run without its results.", body = RunSummary)))]
pub fn note_search(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let (account, id) = (call.caller()?.account.id, call.id("run")?);
    let body: RunNotesBody = request::json(call.request)?;
    let tags = body.tags.map(|tags| notes::tags(tags.iter().map(String::as_str))).transpose()?;
    let note = body.note.map(|text| notes::note(&text.unwrap_or_default(), MAX_RUN_NOTE)).transpose()?;
    let noted = api.store.note_run(id, account, &RunNotesUpdate { tags, note }, &call.origin()?)?;
    let notes = noted.ok_or_else(|| Refusal::no_such("run"))?;
    let mut summary = api.find(call)?;
    summary.notes = notes;
    Ok(ok_json(&summary))
}

/// Changes the verdict and the note on a result.
///
/// They are for the owner of the run. The result then has the member `annotation`, in the run and in exports, as long as one
/// of them is set; streams omit it. Results that are mine are one person. Those that are not mine are left out of people,
/// leads, the graph, the summary and the timeline. Costs no credits.
#[utoipa::path(patch, path = "/v1/searches/{run_id}/results/{result_id}",
    request_body(content = AnnotationBody, example = json!({"verdict": "mine", "note": "Same picture as on GitLab"})),
    responses((status = 200, body = Annotation)))]
pub fn annotate_result(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let (account, id) = (call.caller()?.account.id, call.id("run")?);
    let AnnotationBody { note, verdict } = request::json(call.request)?;
    let note = note.map(|text| notes::note(&text.unwrap_or_default(), MAX_RESULT_NOTE)).transpose()?;
    let (update, result) = (AnnotationUpdate { note, verdict }, call.id_in("result_id", "result")?);
    Ok(ok_json(&api.annotate(id, result, account, &update, &call.origin()?)?))
}
