//! Watches: create, read, change, delete, run now; their runs and changes.

use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::context::{Api, Call, json_response, no_content, ok_json};
use super::decode::{self, SearchBody, SearchRequest};
use super::pages::{PageParameters, page_of};
use super::reading::{RunPageParameters, SearchList};
use super::request;
use super::searches::{Answer, accepted_run};
use crate::base::ids::{RunId, WatchChangeId, WatchId, WebhookId};
use crate::http::Reply;
use crate::model::page::{ListFilter, cut};
use crate::model::refusal::Refusal;
use crate::model::watch::{ChangeKind, NewWatch, StoredChange, Watch, WatchState, WatchUpdate};
use crate::service::notified_kinds;

page_of! {
    /// A page of the caller's watches, newest first.
    WatchList { watches: [Watch], Uuid: "018f4a7e-5c1d-7b3a-9e2f-0123456789ae" }
}

page_of! {
    /// A page of the changes that a watch has found, newest first.
    WatchChangeList { changes: [StoredChange], Uuid: "018f4b1a-2c3d-7e4f-8a5b-6c7d8e9f0a1c" }
}

/// A watch: the search that is repeated, with its options, and how often. Members of a single search (`wait`, `stream`,
/// `follow`, `purpose`) have no effect.
#[derive(Debug, Deserialize, ToSchema)]
// Its parts are read one by one, so that a mistake has its path.
#[expect(dead_code, reason = "only its schema is used")]
pub struct WatchRequest {
    #[serde(flatten)]
    search: SearchRequest,
    #[serde(flatten)]
    options: WatchOptions,
}

/// How often a watch searches, and who gets its events.
#[derive(Debug, Deserialize, ToSchema)]
pub struct WatchOptions {
    /// Time between two runs: a number of minutes (`m`), hours (`h`) or days (`d`), from 1 hour to 30 days.
    #[schema(
        pattern = "^(([6-9][0-9]|[1-9][0-9]{2,3}|[1-3][0-9]{4}|4[0-2][0-9]{3}|43[01][0-9]{2}|43200)m|([1-9][0-9]?|[1-6][0-9]{2}|7[01][0-9]|720)h|([1-9]|[12][0-9]|30)d)$",
        examples("1d")
    )]
    #[serde(deserialize_with = "interval")]
    every: String,
    /// Kinds of changes that webhooks get; all if it is not given.
    #[serde(default, deserialize_with = "request::list::<_, _, 1, 100>")]
    #[schema(min_items = 1)]
    notify_on: Option<Vec<ChangeKind>>,
    /// Webhook that gets the events, whatever it has subscribed to. If it is not given, all webhooks get them that have
    /// subscribed to `watch.changed`.
    #[serde(default, deserialize_with = "request::id")]
    webhook_id: Option<WebhookId>,
    /// Completed search for the same type and query from which the watch goes on: the first run is then due one interval from
    /// now, and compared with it. If it is not given, the first run starts at once.
    #[serde(default, deserialize_with = "request::id")]
    since_run_id: Option<RunId>,
}

/// The changes of a watch. What is not given stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
pub struct WatchChangeBody {
    /// New time between two runs: a number of minutes (`m`), hours (`h`) or days (`d`), from 1 hour to 30 days.
    #[schema(
        pattern = "^(([6-9][0-9]|[1-9][0-9]{2,3}|[1-3][0-9]{4}|4[0-2][0-9]{3}|43[01][0-9]{2}|43200)m|([1-9][0-9]?|[1-6][0-9]{2}|7[01][0-9]|720)h|([1-9]|[12][0-9]|30)d)$",
        examples("12h")
    )]
    every: Option<String>,
    /// New kinds of changes that webhooks get.
    #[serde(default, deserialize_with = "request::list::<_, _, 1, 100>")]
    #[schema(min_items = 1)]
    notify_on: Option<Vec<ChangeKind>>,
    /// Webhook that gets the events from now on. `null` means all webhooks that have subscribed to `watch.changed`.
    #[serde(default, deserialize_with = "new_webhook")]
    webhook_id: Option<Option<WebhookId>>,
    /// `paused` starts no further runs; `active` starts them again. A run that was due meanwhile then starts at once.
    state: Option<WatchState>,
}

fn interval<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    request::text(deserializer, "1h to 30d, such as 12h")
}

fn new_webhook<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<WebhookId>>, D::Error> {
    request::id(deserializer).map(Some)
}

/// Creates a watch.
///
/// Its first run starts at once, unless it goes on from an earlier search, and further ones at fixed moments, one interval apart. Each run is charged as a search.
/// Changes between the runs are listed, and sent to webhooks as `watch.changed`. Creating a watch costs no credits.
#[utoipa::path(post, path = "/v1/watches",
    params(("Idempotency-Key" = String, Header)),
    request_body(content = WatchRequest, example = json!({"type": "username", "query": "octocat", "every": "1d"})),
    responses(
        (status = 201, description = "The watch. A repeated `Idempotency-Key` gets the earlier one.", body = Watch), (status = 409)))]
pub fn create_watch(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let caller = call.caller()?;
    let key = decode::idempotency_key(call.request)?;
    let body = request::json_value(call.request)?;
    let (search, options) = (SearchBody::read(&body)?, request::read::<WatchOptions>(&body)?);
    let watch = NewWatch {
        id: WatchId::new(),
        account: caller.account.id,
        simulated: api.sandbox,
        search: search.search,
        every: options.every.parse()?,
        notify_on: options.notify_on.unwrap_or_else(|| ChangeKind::ALL.to_vec()),
        webhook: options.webhook_id,
        since: options.since_run_id,
        idempotency: None,
    };
    let watch = api.services.create_watch(caller, &search.query, watch, key, &call.origin()?)?;
    Ok(Reply::Now(json_response(201, &watch)))
}

/// Lists the watches of the account.
///
/// Newest first. Costs no credits.
#[utoipa::path(get, path = "/v1/watches", params(PageParameters),
    responses((status = 200, body = WatchList)))]
pub fn list_watches(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let account = call.caller()?.account.id;
    let PageParameters { limit, cursor } = request::query(call.request)?;
    let mut found = api.store.watches(account, cursor.map(WatchId), limit + 1)?;
    let next = cut(&mut found, limit).map(|last| last.id);
    Ok(WatchList::reply(found, limit, next))
}

/// Reads a watch.
///
/// Costs no credits.
#[utoipa::path(get, path = "/v1/watches/{watch_id}", responses((status = 200, body = Watch)))]
pub fn get_watch(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    Ok(ok_json(&api.find_watch(call.caller()?, call.id("watch")?)?))
}

/// Changes a watch.
///
/// Pauses it, resumes it, or changes how often it runs and who gets its events. Costs no credits.
#[utoipa::path(patch, path = "/v1/watches/{watch_id}",
    request_body(content = WatchChangeBody, example = json!({"state": "paused"})),
    responses((status = 200, body = Watch)))]
pub fn change_watch(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let (account, id) = (call.caller()?.account.id, call.id("watch")?);
    let change: WatchChangeBody = request::json(call.request)?;
    let update = WatchUpdate {
        every: change.every.as_deref().map(str::parse).transpose()?,
        notify_on: change.notify_on.map(notified_kinds).transpose()?,
        webhook: change.webhook_id,
        state: change.state,
    };
    let watch = api.store.change_watch(account, id, &update, &call.origin()?)?;
    Ok(ok_json(&watch))
}

/// Deletes a watch.
///
/// Its changes are also deleted. Its runs stay. Costs no credits.
#[utoipa::path(delete, path = "/v1/watches/{watch_id}",
    responses((status = 204, description = "The watch is deleted.")))]
pub fn delete_watch(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let (account, id) = (call.caller()?.account.id, call.id("watch")?);
    no_content(api.store.delete_watch(account, id, &call.origin()?)?, "watch")
}

/// Lists the runs of a watch.
///
/// Newest first, without their results. Costs no credits.
#[utoipa::path(get, path = "/v1/watches/{watch_id}/runs", params(RunPageParameters),
    responses((status = 200, body = SearchList)))]
pub fn list_watch_runs(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let watch = api.find_watch(call.caller()?, call.id("watch")?)?;
    let RunPageParameters { limit, cursor } = request::query(call.request)?;
    let filter = ListFilter { watch: Some(watch.id), before: cursor, ..ListFilter::default() };
    let (runs, next) = api.runs.page(watch.account, &filter, limit)?;
    Ok(SearchList::reply(runs, limit, next))
}

/// Lists the changes that a watch has found.
///
/// Newest first. A run is compared with the last conclusion of each module, so a site that is blocked for a while and then
/// answers as before is no change. Costs no credits.
#[utoipa::path(get, path = "/v1/watches/{watch_id}/changes", params(PageParameters),
    responses((status = 200, body = WatchChangeList)))]
pub fn list_watch_changes(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let watch = api.find_watch(call.caller()?, call.id("watch")?)?;
    let PageParameters { limit, cursor } = request::query(call.request)?;
    let mut changes = api.store.watch_changes(watch.id, cursor.map(WatchChangeId), limit + 1)?;
    let next = cut(&mut changes, limit).map(|last| last.id);
    Ok(WatchChangeList::reply(changes, limit, next))
}

/// Starts a run of a watch now.
///
/// Also if the watch is paused. The moment of its next run stays. Costs as much as a search. While the last run has not
/// ended, it is answered, and nothing is charged. Counts as `search`.
#[utoipa::path(post, path = "/v1/watches/{watch_id}/run",
    params(("Idempotency-Key" = String, Header)),
    responses(
        (status = 200, description = "The run is accepted, or was accepted before.", body = Answer<'_>,
            headers(("Location" = String), ("X-Run-Id" = String))),
        (status = 402), (status = 409)))]
pub fn run_watch(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let caller = call.caller()?;
    let key = decode::idempotency_key(call.request)?;
    let (watch, origin) = (api.find_watch(caller, call.id("watch")?)?, call.origin()?);
    let (api, caller, is_premium) = (Arc::clone(api), caller.clone(), watch.premium);
    let run = move || Ok(accepted_run(&api.services.run_watch(&caller, &watch, key, origin)?, &api.root));
    call.later_if(is_premium, run)
}
