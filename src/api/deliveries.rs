//! The deliveries to a webhook: the list, and replays.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::context::{Api, Call, json_response};
use super::error::ApiError;
use super::pages::{PageParameters, cut};
use crate::base::clock::millis;
use crate::base::ids::DeliveryId;
use crate::http::Reply;
use crate::model::webhook::{self, DeliveryStatus};

/// A delivery to a webhook.
#[derive(Debug, Serialize, ToSchema)]
pub struct Delivery {
    /// Identifies the delivery. The receiver gets it as `webhook-id`, the same at each attempt.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ad"))]
    pub id: DeliveryId,
    /// Type of the message: an event, or `webhook.test`.
    #[serde(rename = "type")]
    #[schema(pattern = "^[a-z_]+(\\.[a-z_]+)*$", examples("run.completed"))]
    pub event: String,
    /// State of the delivery.
    pub status: DeliveryStatus,
    /// Number of attempts, counted anew after a replay.
    #[schema(examples(1))]
    pub attempts: u32,
    /// Time at which the event was reported: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis")]
    #[schema(examples("2026-05-06T07:08:09.010Z"))]
    pub created_at: Timestamp,
    /// Time of the next attempt: RFC 3339, UTC, milliseconds; null if there will be none.
    #[serde(with = "millis::option")]
    #[schema(required, examples("2026-05-06T07:08:14.010Z"))]
    pub next_attempt_at: Option<Timestamp>,
    /// The last attempt; null before the first one has ended.
    #[schema(required)]
    pub last_attempt: Option<Attempt>,
}

/// An attempt to deliver a message.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeliveryAttempt)]
pub struct Attempt {
    /// Time at which the attempt ended: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis")]
    #[schema(examples("2026-05-06T07:08:09.310Z"))]
    pub at: Timestamp,
    /// HTTP status of the answer; null if there was none.
    #[schema(required, minimum = 100, maximum = 999, examples(200))]
    pub http_status: Option<u16>,
    /// Machine-readable reason why there was no answer, such as `dns`, `tls` or `timeout_first_byte`; null if there was
    /// one.
    #[schema(required, pattern = "^[a-z_]+$", examples("dns"))]
    pub error: Option<String>,
    /// Milliseconds from the begin of the attempt to the head of the answer.
    #[schema(examples(112))]
    pub latency_ms: u64,
    /// Beginning of the head of the answer, a header in each line, at most 2 KiB; null if there was no answer.
    #[schema(required, examples("HTTP 200\ncontent-length: 0"))]
    pub response_head: Option<String>,
}

impl From<&webhook::Delivery> for Delivery {
    fn from(delivery: &webhook::Delivery) -> Self {
        Self {
            id: delivery.id,
            event: delivery.event.clone(),
            status: delivery.status,
            attempts: delivery.attempts,
            created_at: delivery.created_at,
            next_attempt_at: delivery.next_attempt_at,
            last_attempt: delivery.last.as_ref().map(|last| Attempt {
                at: last.at,
                http_status: last.answer.http_status,
                error: last.answer.error.clone(),
                latency_ms: u64::try_from(last.answer.latency.as_millis()).unwrap_or(u64::MAX),
                response_head: last.answer.head.clone(),
            }),
        }
    }
}

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
    let page = PageParameters::read(call.request)?;
    let (limit, cursor) = (page.limit, page.cursor()?);
    let mut found = api.webhooks.deliveries(account, id, cursor, limit + 1)?;
    let next_cursor = cut(&mut found, limit).map(|last| last.id);
    let deliveries: Vec<Delivery> = found.iter().map(Delivery::from).collect();
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
    Ok(Reply::Now(json_response(202, &Delivery::from(&delivery))))
}
