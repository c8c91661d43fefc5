//! Watches: create, read, change, delete, run now; their runs and changes.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::context::{Api, Call, json_response, ok_json};
use super::decode::{self, SearchBody};
use super::error::ApiError;
use super::pages::{PageParameters, cut};
use super::reading::{RunPageParameters, SearchList};
use super::searches::{Answer, Order, accepted_run, require_premium};
use super::watch_body::{WatchBody, WatchChangeBody};
use crate::base::ids::{WatchChangeId, WatchId};
use crate::http::{Reply, Response};
use crate::model::page::ListFilter;
use crate::model::start::Idempotency;
use crate::model::watch::{NewWatch, StoredChange, WatchRecord};
use crate::runs::service::{Found, idempotency_valid_since};
use crate::watches::registry;

/// A page of the caller's watches, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct WatchList {
    /// The watches of this page.
    #[schema(max_items = 100)]
    pub watches: Vec<WatchRecord>,
    /// Number of watches on this page.
    #[schema(maximum = 100, examples(1))]
    pub count: usize,
    /// Requested maximum of watches per page.
    #[schema(minimum = 1, maximum = 100, examples(20))]
    pub limit: usize,
    /// Whether there are older watches.
    #[schema(examples(false))]
    pub has_more: bool,
    /// Value of `cursor` for the next page; null on the last one.
    #[schema(value_type = Option<uuid::Uuid>, required, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ae"))]
    pub next_cursor: Option<WatchId>,
}

/// A page of the changes that a watch has found, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct WatchChangeList {
    /// The changes of this page.
    #[schema(max_items = 100)]
    pub changes: Vec<StoredChange>,
    /// Number of changes on this page.
    #[schema(maximum = 100, examples(1))]
    pub count: usize,
    /// Requested maximum of changes per page.
    #[schema(minimum = 1, maximum = 100, examples(20))]
    pub limit: usize,
    /// Whether there are older changes.
    #[schema(examples(false))]
    pub has_more: bool,
    /// Value of `cursor` for the next page; null on the last one.
    #[schema(value_type = Option<uuid::Uuid>, required, examples("018f4b1a-2c3d-7e4f-8a5b-6c7d8e9f0a1c"))]
    pub next_cursor: Option<WatchChangeId>,
}

/// Creates a watch.
///
/// Its first run starts at once, and further ones at fixed moments, one interval apart. Each run is charged as a search.
/// Changes between the runs are listed, and sent to webhooks as `watch.changed`. Creating a watch costs no credits.
#[utoipa::path(
    post,
    path = "/v1/watches",
    operation_id = "createWatch",
    tag = "Watches",
    params(
        ("Idempotency-Key" = Option<String>, Header, nullable = false, pattern = "^[!-~]([ -~]*[!-~])?$",
            min_length = 1, max_length = 255, example = "5a0e7c1e-order-17",
            description = "Makes it safe to repeat a request whose answer was lost: 1 to 255 printable ASCII \
                characters, kept for 24 hours. The same key with the same body gives the same watch (422 for another \
                one)."),
    ),
    request_body(content = WatchBody, description = "The watch."),
    responses(
        (status = 201, description = "The watch. A repeated `Idempotency-Key` gets the earlier one.", body = WatchRecord),
        (status = 403, description = "suppressed"),
        (status = 409, description = "conflict"),
        (status = 415, description = "unsupported_media_type"),
        (status = 422, description = "idempotency_mismatch"),
    )
)]
pub fn create(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let caller = call.caller()?;
    let key = decode::idempotency_key(call.request)?;
    let WatchBody { search, mut watch } = WatchBody::read(api, call)?;
    if api.runs.is_suppressed(&search.query) {
        return Err(ApiError::suppressed());
    }
    api.runs.modules_for(&search.query, search.is_premium(), &search.choice)?;
    require_premium(api, caller, search.is_premium())?;
    let (body_hash, valid_since) = (fingerprint(&search, &watch), idempotency_valid_since(api.clock.now()));
    watch.idempotency = key.map(|key| Idempotency { key, body_hash, valid_since });
    let watch = registry::create(&api.store, &watch, api.clock.now(), &call.origin()?)?;
    Ok(Reply::Now(json_response(201, &WatchRecord::from(watch))))
}

/// Returns the SHA-256 of what a request asks for. It differs from that of the search alone.
fn fingerprint(search: &SearchBody, watch: &NewWatch) -> [u8; 32] {
    let NewWatch { every, notify_on, webhook, .. } = watch;
    let rest = json!({"every": every.secs(), "notify_on": notify_on, "webhook_id": webhook});
    Sha256::new().chain_update(search.fingerprint()).chain_update(rest.to_string()).finalize().into()
}

/// Lists the watches of the account.
///
/// Newest first. Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/watches",
    operation_id = "listWatches",
    tag = "Watches",
    params(PageParameters),
    responses((status = 200, description = "A page of watches.", body = WatchList, headers(("Link" = String))))
)]
pub fn list(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let account = call.caller()?.account.id;
    let page = PageParameters::read(call.request)?;
    let (limit, cursor) = (page.limit, page.cursor()?);
    let mut found = api.store.watches(account, cursor, limit + 1)?;
    let next_cursor = cut(&mut found, limit).map(|last| last.id);
    let watches: Vec<WatchRecord> = found.into_iter().map(WatchRecord::from).collect();
    let has_more = next_cursor.is_some();
    let page = WatchList { count: watches.len(), watches, limit, has_more, next_cursor };
    Ok(api.page(call, &page, next_cursor.as_ref()))
}

/// Reads a watch.
///
/// Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/watches/{watch_id}",
    operation_id = "getWatch",
    tag = "Watches",
    responses((status = 200, description = "The watch.", body = WatchRecord))
)]
pub fn watch(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let watch = api.find_watch(call)?;
    Ok(ok_json(&WatchRecord::from(watch)))
}

/// Changes a watch.
///
/// Pauses it, resumes it, or changes how often it runs and who gets its events. Costs no credits.
#[utoipa::path(
    patch,
    path = "/v1/watches/{watch_id}",
    operation_id = "changeWatch",
    tag = "Watches",
    request_body(content = WatchChangeBody, description = "What changes."),
    responses(
        (status = 200, description = "The changed watch.", body = WatchRecord),
        (status = 415, description = "unsupported_media_type"),
    )
)]
pub fn change(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (account, id) = (call.caller()?.account.id, call.id("watch")?);
    let update = WatchChangeBody::read(call.request)?;
    let watch = api.store.change_watch(account, id, &update, api.clock.now(), &call.origin()?)??;
    Ok(ok_json(&WatchRecord::from(watch)))
}

/// Deletes a watch.
///
/// Its changes are deleted, too. Its runs stay. Costs no credits.
#[utoipa::path(
    delete,
    path = "/v1/watches/{watch_id}",
    operation_id = "deleteWatch",
    tag = "Watches",
    responses((status = 204, description = "The watch is deleted."))
)]
pub fn delete(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (account, id) = (call.caller()?.account.id, call.id("watch")?);
    let is_deleted = api.store.delete_watch(account, id, api.clock.now(), &call.origin()?)?;
    if is_deleted { Ok(Reply::Now(Response::empty(204))) } else { Err(ApiError::no_such("watch")) }
}

/// Lists the runs of a watch.
///
/// Newest first, without their results. Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/watches/{watch_id}/runs",
    operation_id = "listWatchRuns",
    tag = "Watches",
    params(RunPageParameters),
    responses((status = 200, description = "A page of runs.", body = SearchList<'_>, headers(("Link" = String))))
)]
pub fn runs(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let watch = api.find_watch(call)?;
    let RunPageParameters { limit, cursor } = RunPageParameters::read(call.request)?;
    let before = cursor.map(crate::model::page::Cursor::place);
    let filter = ListFilter { watch: Some(watch.id), before, ..ListFilter::default() };
    let page = api.runs.reader.page(watch.account, &filter, limit)?;
    Ok(api.page(call, &SearchList::new(&page, limit), page.next.as_ref()))
}

/// Lists the changes that a watch has found.
///
/// Newest first. A run is compared with the last conclusion of each module, so a site that is blocked for a while and then
/// answers as before is no change. Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/watches/{watch_id}/changes",
    operation_id = "listWatchChanges",
    tag = "Watches",
    params(PageParameters),
    responses((status = 200, description = "A page of changes.", body = WatchChangeList, headers(("Link" = String))))
)]
pub fn changes(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (account, id) = (call.caller()?.account.id, call.id("watch")?);
    let page = PageParameters::read(call.request)?;
    let (limit, cursor) = (page.limit, page.cursor()?);
    let found = api.store.watch_changes(account, id, cursor, limit + 1)?;
    let mut changes = found.ok_or_else(|| ApiError::no_such("watch"))?;
    let next_cursor = cut(&mut changes, limit).map(|last| last.id);
    let has_more = next_cursor.is_some();
    let page = WatchChangeList { count: changes.len(), changes, limit, has_more, next_cursor };
    Ok(api.page(call, &page, next_cursor.as_ref()))
}

/// Starts a run of a watch now.
///
/// Also if the watch is paused. The moment of its next run stays. Costs as much as a search. While the last run has not
/// ended, it is answered, and nothing is charged. Counts as `search`.
#[utoipa::path(
    post,
    path = "/v1/watches/{watch_id}/run",
    operation_id = "runWatch",
    tag = "Watches",
    responses(
        (status = 200, description = "The run is accepted, or was accepted before.", body = Answer<'_>,
            headers(("Location" = String), ("X-Run-Id" = String))),
        (status = 402, description = "insufficient_credits"),
        (status = 403, description = "suppressed"),
        (status = 409, description = "conflict"),
        (status = 503, description = "premium_unavailable"),
    )
)]
pub fn run(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let caller = call.caller()?;
    let watch = api.find_watch(call)?;
    require_premium(api, caller, watch.search.premium)?;
    let charge = api.accounts.charge(caller, watch.search.cost());
    let started = registry::run_now(&api.runs, &watch, charge, call.origin()?)?;
    let found: Found = Order::started(api, caller, &charge, started)?;
    Ok(accepted_run(&found, &api.root))
}
