//! What the results of a run point to, and the graph of a run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::context::{Api, Call, ok_json};
use super::error::ApiError;
use super::request;
use crate::base::ids::RunId;
use crate::http::{Reply, Response};
use crate::model::run::Status;
use crate::report::graph::GraphFormat;
use crate::runs::graph::Graph;
use crate::runs::leads::lead::Lead;
use crate::runs::record::{Findings, RunRecord};

/// The leads of a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct LeadList {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// State of the run. A run that has not ended may get further leads.
    pub status: Status,
    /// Number of leads.
    #[schema(examples(4))]
    pub count: usize,
    /// The leads: verified ones first, then by confidence.
    pub leads: Vec<Lead>,
    /// Number of further links in the results, which are left out because one result or the run has too many.
    #[schema(examples(0))]
    pub links_omitted: usize,
}

/// Lists the leads of a run.
///
/// A lead is a pointer from a result to something that could be searched next: a link in a profile, a name on another
/// platform, an email address. The same username on another site is no lead. `status` tells what became of each. Costs
/// no credits.
#[utoipa::path(
    get,
    path = "/v1/searches/{run_id}/leads",
    operation_id = "listSearchLeads",
    tag = "Searches",
    responses((status = 200, description = "The leads in the results found so far.", body = LeadList))
)]
pub fn list(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
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
    #[param(required = false, value_type = GraphFormat)]
    format: Option<GraphFormat>,
    /// Whether the searches that leads of this one and theirs have started are included.
    #[param(required = false, value_type = bool, default = true, example = false)]
    family: Option<bool>,
}

/// Gets the graph of a run.
///
/// Its nodes are the entities that the run has found or that its results name; its edges say why they are joined. The
/// same entity has the same id in every graph. Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/searches/{run_id}/graph",
    operation_id = "getSearchGraph",
    tag = "Searches",
    params(GraphParameters),
    responses(
        (status = 200, description = "The graph of the results found so far.",
            content((Graph = "application/json"), (String = "application/xml"),
                (Object = "application/stix+json;version=2.1")),
            headers(("X-Run-Id" = String), ("X-Run-Status" = String))),
    )
)]
pub fn graph(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let found = api.find(call)?;
    let GraphParameters { format, family } = request::query(call.request)?;
    let (format, family) = (format.unwrap_or(GraphFormat::Json), family.unwrap_or(true));
    let run = api.runs.reader.record(&found)?;
    let catalog = api.runs.catalog();
    let (run_id, status) = (run.summary.id, run.summary.status);
    let graph = of_family(api, run, family, |findings| Graph::of(findings, catalog.profiles()))?;
    let mut bytes = Vec::new();
    // Cannot happen: a Vec takes all bytes, and the graph contains only numbers and strings.
    format.write(&mut bytes, &graph).map_err(ApiError::internal)?;
    let response = Response::new(200, format.media_type(), bytes)
        .with_header("X-Run-Id", run_id.to_string())
        .with_header("X-Run-Status", status.as_str());
    Ok(Reply::Now(response))
}

/// Calls `make` with what a run has found, and with what the runs below it have found if `family` is true.
pub(super) fn of_family<T>(
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
