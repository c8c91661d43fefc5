//! What the results of a run say: leads and the searches for them, the graph, people, changes since another run, pictures.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::context::{Api, Call, ok_json};
use super::error::ApiError;
use super::request;
use super::searches::{Answer, accepted_run};
use crate::base::ids::RunId;
use crate::http::{Reply, Response, StaticFile};
use crate::model::diff::Diff;
use crate::model::run::Status;
use crate::report::Format;
use crate::runs::graph::Graph;
use crate::runs::leads::lead::Lead;
use crate::runs::people::people;
use crate::runs::people::person::{Person, Unattributed};
use crate::runs::record::{Findings, RunRecord};

/// The leads of a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct LeadList {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid)]
    pub run_id: RunId,
    /// State of the run. A run that has not ended may get further leads.
    pub status: Status,
    /// Number of leads.
    pub count: usize,
    /// The leads: verified ones first, then by confidence.
    pub leads: Vec<Lead>,
    /// Number of further links in the results, which are left out because one result or the run has too many.
    pub links_omitted: usize,
}

/// Lists the leads of a run.
///
/// A lead is a pointer from a result to something that could be searched next: a link in a profile, a name on another
/// platform, an email address. The same username on another site is no lead. `status` tells what became of each. Costs
/// no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}/leads",
    responses((status = 200, description = "The leads in the results found so far.", body = LeadList)))]
pub fn list_search_leads(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let run = api.runs.reader.record(&api.find(call)?)?;
    let (run_id, status) = (run.summary.id, run.summary.status);
    let family = api.runs.families.of(run)?;
    let found = api.runs.families.leads(&family);
    Ok(ok_json(&LeadList {
        run_id,
        status,
        count: found.all.len(),
        leads: found.all,
        links_omitted: found.omitted,
    }))
}

/// The query parameters of a graph.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct GraphParameters {
    /// Format of the graph; `json` by default.
    #[serde(default, deserialize_with = "graph_format")]
    #[param(value_type = Option<String>, pattern = "^(json|graphml|stix)$", example = "json")]
    format: Option<Format>,
    /// Whether the searches that leads of this one and theirs have started are included.
    #[param(required = false, value_type = bool, default = true)]
    family: Option<bool>,
}

fn graph_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Format>, D::Error> {
    request::format(deserializer, Format::OF_GRAPHS)
}

/// Gets the graph of a run.
///
/// Its nodes are the entities that the run has found or that its results name; its edges say why they are joined. The
/// same entity has the same id in every graph. Costs no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}/graph",
    params(GraphParameters),
    responses((status = 200, description = "The graph of the results found so far.",
        content((Graph = "application/json"), (String = "application/xml"),
            (Object = "application/stix+json;version=2.1")),
        headers(("X-Run-Id" = String), ("X-Run-Status" = String)))))]
pub fn get_search_graph(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let found = api.find(call)?;
    let GraphParameters { format, family } = request::query(call.request)?;
    let (format, family) = (format.unwrap_or(Format::Json), family.unwrap_or(true));
    let run = api.runs.reader.record(&found)?;
    let catalog = api.runs.catalog();
    let (run_id, status) = (run.summary.id, run.summary.status);
    let graph = of_family(api, run, family, |findings| Graph::of(findings, catalog.profiles()))?;
    let mut bytes = Vec::new();
    // Cannot happen: a Vec takes all bytes, and the graph contains only numbers and strings.
    format.write_graph(&mut bytes, &graph).map_err(ApiError::internal)?;
    let response = Response::new(200, format.media_type(), bytes)
        .with_header("X-Run-Id", run_id.to_string())
        .with_header("X-Run-Status", status.as_str());
    Ok(Reply::Now(response))
}

/// Calls `make` with what a run has found, and with what the runs below it have found if `family` is true.
fn of_family<T>(
    api: &Api,
    run: RunRecord,
    family: bool,
    make: impl FnOnce(&[Findings<'_>]) -> T,
) -> Result<T, ApiError> {
    if family {
        return Ok(make(&api.runs.families.of(run)?.findings()));
    }
    Ok(make(&[run.findings().ok_or_else(|| ApiError::internal("the stored query is not valid"))?]))
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
pub fn follow_lead(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (caller, run) = (call.caller()?, api.find(call)?);
    let lead = call.id("lead")?;
    Ok(accepted_run(&api.services.follow(caller, &run, lead, call.origin()?)?, &api.root))
}

/// The people of a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct PeopleList {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid)]
    pub run_id: RunId,
    /// State of the run. A run that has not ended may get further accounts.
    pub status: Status,
    /// Number of people.
    pub count: usize,
    /// The people with two or more accounts: the highest scores first.
    pub people: Vec<Person>,
    /// The accounts that nothing joins to another one, by platform and value.
    pub unattributed: Vec<Unattributed>,
}

/// The query parameters of the list of people.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PeopleParameters {
    /// Whether the searches that leads of this one and theirs have started are included.
    #[param(required = false, value_type = bool, default = true)]
    family: Option<bool>,
}

/// Lists the people of a run.
///
/// The accounts are grouped by who they probably belong to, from evidence in the results: links, email addresses, sites,
/// keys, names and bios. The same username alone joins nothing. Costs no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}/people",
    params(PeopleParameters),
    responses((status = 200, description = "The people in the results found so far.", body = PeopleList)))]
pub fn list_search_people(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let PeopleParameters { family } = request::query(call.request)?;
    let family = family.unwrap_or(true);
    Ok(ok_json(&people_of(api, api.runs.reader.record(&api.find(call)?)?, family)?))
}

/// Returns the people of a run, and of the runs below it if `family` is true.
pub(super) fn people_of(api: &Api, run: RunRecord, family: bool) -> Result<PeopleList, ApiError> {
    let (run_id, status) = (run.summary.id, run.summary.status);
    let catalog = api.runs.catalog();
    let found = of_family(api, run, family, |findings| people(findings, catalog.profiles()))?;
    Ok(PeopleList {
        run_id,
        status,
        count: found.people.len(),
        people: found.people,
        unattributed: found.unattributed,
    })
}

/// Compares two runs.
///
/// Lists what changed from the run `run_id` to the run `other`: two runs of the same type and query that have ended.
/// Nothing is stated that the runs do not prove: where a module came to no conclusion in one of them, took no part, or
/// had other rules, its results are `unknown`, and never `removed` or `added`. Costs no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}/diff/{other}",
    responses((status = 200, description = "What changed.", body = Diff), (status = 409), (status = 422)))]
pub fn diff_searches(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let before = api.runs.reader.record(&api.find(call)?)?;
    let after = api.runs.reader.record(&api.find_in(call, "other")?)?;
    between(api, &before, &after).map(|diff| ok_json(&diff))
}

/// Returns what changed between two runs.
pub(super) fn between(api: &Api, before: &RunRecord, after: &RunRecord) -> Result<Diff, ApiError> {
    let catalog = api.runs.catalog();
    let runs = before.findings().zip(after.findings());
    let (before, after) = runs.ok_or_else(|| ApiError::internal("the stored query is not valid"))?;
    Ok(Diff::between(&before, &after, catalog.profiles())?)
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
pub fn get_thumbnail(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let found = api.find(call)?;
    let result = call.segments.get("result_id").and_then(|id| id.parse().ok());
    let png = result.map(|result| api.runs.reader.thumbnail(found.id(), result)).transpose()?.flatten();
    let png = png.ok_or_else(|| ApiError::no_such("picture: this result has none"))?;
    let file = Arc::new(StaticFile::plain("image/png", png));
    let response = Response::of_file(&file, call.request)
        .with_header("Cache-Control", "private, max-age=86400, immutable")
        .with_header("Content-Security-Policy", "default-src 'none'");
    Ok(Reply::Now(response))
}
