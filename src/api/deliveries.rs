//! The deliveries to a webhook: the list, and replays.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::context::{Api, Call, json_response};
use super::error::ApiError;
use super::pages::{PageParameters, cut};
use super::request;
use crate::base::ids::DeliveryId;
use crate::http::Reply;
use crate::model::webhook::Delivery;

/// A page of the deliveries to a webhook, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryList {
    /// The deliveries of this page.
    #[schema(max_items = 100)]
    pub deliveries: Vec<Delivery>,
    /// Number of deliveries on this page.
    #[schema(maximum = 100, examples(20))]
    pub count: usize,
    /// Requested maximum of deliveries per page.
    #[schema(minimum = 1, maximum = 100, examples(20))]
    pub limit: usize,
    /// Whether there are older deliveries.
    #[schema(examples(true))]
    pub has_more: bool,
    /// Value of `cursor` for the next page; null on the last one.
    #[schema(value_type = Option<uuid::Uuid>, required, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ad"))]
    pub next_cursor: Option<DeliveryId>,
}

/// Lists the deliveries to a webhook.
///
/// Newest first. Deliveries are kept for 30 days. Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/webhooks/{webhook_id}/deliveries",
    operation_id = "listWebhookDeliveries",
    tag = "Webhooks",
    params(PageParameters),
    responses((status = 200, description = "A page of deliveries.", body = DeliveryList, headers(("Link" = String))))
)]
pub fn list(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (account, id) = (call.caller()?.account.id, call.id("webhook")?);
    let PageParameters { limit, cursor } = request::query(call.request)?;
    let found = api.store.deliveries(account, id, cursor.map(DeliveryId), limit + 1)?;
    let mut deliveries = found.ok_or_else(|| ApiError::no_such("webhook"))?;
    let next_cursor = cut(&mut deliveries, limit).map(|last| last.id);
    let has_more = next_cursor.is_some();
    let page = DeliveryList { count: deliveries.len(), deliveries, limit, has_more, next_cursor };
    Ok(api.page(call, &page, next_cursor.as_ref()))
}

/// Sends a message again.
///
/// Now, and with all attempts of a new one. Its `webhook-id` stays the same. Costs no credits.
#[utoipa::path(
    post,
    path = "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay",
    operation_id = "replayWebhookDelivery",
    tag = "Webhooks",
    responses(
        (status = 202, description = "The delivery, which is pending.", body = Delivery),
        (status = 409, description = "conflict"),
    )
)]
pub fn replay(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let account = call.caller()?.account.id;
    let delivery = api.webhooks.replay(account, call.id("webhook")?, call.id("delivery")?)?;
    Ok(Reply::Now(json_response(202, &delivery)))
}
