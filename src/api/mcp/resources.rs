//! Resources: the searches of the account.

use std::fmt::Display;

use serde_json::{Value, json};

use super::answers::{self, Part, RunAnswer};
use super::message::{INVALID_PARAMS, Params, RpcError, text};
use crate::api::context::Api;
use crate::base::ids::{AccountId, RunId};
use crate::model::page::{Cursor, ListFilter};
use crate::model::run::RunSummary;
use crate::service::refusal::Refusal;

/// What the address of a run begins with.
const RUNS: &str = "sightline://runs/";
/// The runs of one page of the list.
const PAGE: usize = 50;
/// The results of a run that a resource contains.
const RESULTS: Part = Part { offset: 0, limit: 200 };

/// Returns the address of a run.
pub(super) fn uri(run: impl Display) -> String {
    format!("{RUNS}{run}")
}

/// Lists the runs of the account, the newest first.
pub(super) fn list(api: &Api, account: AccountId, params: &Params) -> Result<Value, RpcError> {
    let cursor = match params.get("cursor") {
        None => None,
        Some(cursor) => {
            let cursor = cursor.as_str().and_then(|text| text.parse::<Cursor>().ok());
            let cursor = cursor.ok_or_else(|| {
                RpcError::new(
                    INVALID_PARAMS,
                    "invalid cursor: the nextCursor of an earlier answer is allowed",
                )
            });
            Some(cursor?.place())
        }
    };
    let filter = ListFilter { before: cursor, ..ListFilter::default() };
    let page = api.runs.reader.page(account, &filter, PAGE).map_err(Refusal::from)?;
    let resources: Vec<Value> = page.runs.iter().map(resource).collect();
    let mut answer = json!({"resources": resources});
    if let Some(next) = page.next {
        answer["nextCursor"] = next.to_string().into();
    }
    Ok(answer)
}

fn resource(run: &RunSummary) -> Value {
    json!({
        "uri": uri(run.id),
        "name": format!("{} search for {}", run.search_type.as_str(), run.query),
        "description": format!("{}, {} results, started {}", run.status.as_str(), run.total_results, run.created_at),
        "mimeType": "application/json",
    })
}

/// Lists the form of the addresses.
pub(super) fn templates() -> Value {
    json!({"resourceTemplates": [{
        "uriTemplate": format!("{RUNS}{{run_id}}"),
        "name": "search",
        "title": "A search",
        "description": "A search of the account with its coverage, results and leads, as `get_run` gives it.",
        "mimeType": "application/json",
    }]})
}

/// Reads a run.
pub(super) fn read(api: &Api, account: AccountId, params: &Params) -> Result<Value, RpcError> {
    let uri = text(params, "uri")?;
    let unknown = || {
        let shown: String = uri.chars().take(256).collect();
        RpcError::new(INVALID_PARAMS, "resource not found").data(json!({"uri": shown}))
    };
    let id: RunId = uri.strip_prefix(RUNS).and_then(|id| id.parse().ok()).ok_or_else(unknown)?;
    let found = api.runs.reader.find(id, account).map_err(Refusal::from)?.ok_or_else(unknown)?;
    let record = api.runs.reader.record(&found).map_err(Refusal::from)?;
    let answer = answers::document(&RunAnswer::of(api, record, RESULTS)?);
    Ok(json!({"contents": [{"uri": uri, "mimeType": "application/json", "text": answer.to_string()}]}))
}
