//! Who the accounts of a run belong to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::context::{Api, Call, ok_json};
use super::error::ApiError;
use super::leads::of_family;
use super::request;
use crate::base::ids::RunId;
use crate::http::Reply;
use crate::model::run::Status;
use crate::runs::people::people;
use crate::runs::people::person::{Person, Unattributed};
use crate::runs::record::RunRecord;

/// The people of a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct PeopleList {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// State of the run. A run that has not ended may get further accounts.
    pub status: Status,
    /// Number of people.
    #[schema(examples(2))]
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
    #[param(required = false, value_type = bool, default = true, example = false)]
    family: Option<bool>,
}

/// Lists the people of a run.
///
/// The accounts are grouped by who they probably belong to, from evidence in the results: links, email addresses, sites,
/// keys, names and bios. The same username alone joins nothing. Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/searches/{run_id}/people",
    operation_id = "listSearchPeople",
    tag = "Searches",
    params(PeopleParameters),
    responses((status = 200, description = "The people in the results found so far.", body = PeopleList))
)]
pub fn list(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
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
