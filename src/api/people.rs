//! Who the accounts of a run belong to.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::context::{Api, Call, ok_json};
use super::error::ApiError;
use super::leads::findings;
use crate::base::ids::RunId;
use crate::http::Reply;
use crate::runs::people::people;
use crate::runs::people::person::{Person, Unattributed};
use crate::runs::run::Status;

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

/// Lists the people of a run.
///
/// The accounts are grouped by who they probably belong to, from evidence in the results: links, email addresses, sites,
/// keys, names and bios. The same username alone joins nothing. Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/searches/{run_id}/people",
    operation_id = "listSearchPeople",
    tag = "Searches",
    responses((status = 200, description = "The people in the results found so far.", body = PeopleList))
)]
pub fn list(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let run = api.runs.reader.record(&api.find(call)?)?;
    let catalog = api.runs.starter.catalog();
    let found = people(&[findings(&run)?], catalog.profiles());
    Ok(ok_json(&PeopleList {
        run_id: run.summary.id,
        status: run.summary.status,
        count: found.people.len(),
        people: found.people,
        unattributed: found.unattributed,
    }))
}
