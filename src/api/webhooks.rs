//! Webhooks: create, read, change, delete, rotate the secret, test.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::context::{Api, Call, json_response, ok_json};
use super::error::ApiError;
use super::request;
use crate::http::{Reply, Response};
use crate::model::event::EventType;
use crate::model::webhook::{Delivery, Webhook, WebhookChange};
use crate::webhooks::registry::WebhookError;
use crate::webhooks::secret::SigningSecret;

/// A webhook with its secret, which is shown only once.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookWithSecret {
    /// The webhook.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// Secret with which messages are signed. It is shown only in this answer.
    #[schema(
        pattern = "^whsec_[A-Za-z0-9+/]{43}=$",
        examples("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
    )]
    pub secret: String,
}

impl WebhookWithSecret {
    fn new((webhook, secret): (Webhook, SigningSecret)) -> Self {
        Self { webhook, secret: secret.expose() }
    }
}

/// The webhooks of the account.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookList {
    /// Number of webhooks.
    #[schema(maximum = 10, examples(1))]
    pub count: usize,
    /// The webhooks, oldest first.
    #[schema(max_items = 10)]
    pub webhooks: Vec<Webhook>,
}

/// A new webhook.
#[derive(Debug, Deserialize, ToSchema)]
pub struct WebhookBody {
    /// Address of the receiver: `https`, without a user name, a password and a fragment.
    #[schema(max_length = 2048, examples("https://hooks.example.com/sightline"))]
    url: String,
    /// Events that are sent.
    #[serde(default, deserialize_with = "request::list::<_, _, 1, 100>")]
    #[schema(value_type = Vec<EventType>, required, min_items = 1)]
    events: Option<Vec<EventType>>,
}

/// Returns the events sorted, each once.
fn in_order(mut events: Vec<EventType>) -> Result<Vec<EventType>, ApiError> {
    events.sort_unstable();
    events.dedup();
    if events.is_empty() { Err(WebhookError::InvalidEvents.into()) } else { Ok(events) }
}

/// Creates a webhook.
///
/// Its receiver gets a signed message for each event, as [Standard Webhooks](https://www.standardwebhooks.com) says. The
/// answer shows the secret of the signatures, only this once. Costs no credits.
#[utoipa::path(
    post,
    path = "/v1/webhooks",
    operation_id = "createWebhook",
    tag = "Webhooks",
    request_body(content = WebhookBody, description = "The webhook."),
    responses(
        (status = 201, description = "The webhook with its secret.", body = WebhookWithSecret),
        (status = 409, description = "conflict"),
        (status = 415, description = "unsupported_media_type"),
        (status = 503, description = "webhooks_unavailable"),
    )
)]
pub fn create(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let account = call.caller()?.account.id;
    let WebhookBody { url, events } = request::json(call.request)?;
    let (url, events) = (api.webhooks.url(&url)?, in_order(events.unwrap_or_default())?);
    let created = api.webhooks.create(account, url, events, &call.origin()?)?;
    Ok(Reply::Now(json_response(201, &WebhookWithSecret::new(created))))
}

/// Lists the webhooks of the account.
///
/// Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/webhooks",
    operation_id = "listWebhooks",
    tag = "Webhooks",
    responses((status = 200, description = "The webhooks.", body = WebhookList))
)]
pub fn list(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let webhooks = api.store.webhooks(call.caller()?.account.id)?;
    Ok(ok_json(&WebhookList { count: webhooks.len(), webhooks }))
}

/// Reads a webhook.
///
/// Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/webhooks/{webhook_id}",
    operation_id = "getWebhook",
    tag = "Webhooks",
    responses((status = 200, description = "The webhook.", body = Webhook))
)]
pub fn webhook(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let webhook = api.webhooks.find(call.caller()?.account.id, call.id("webhook")?)?;
    Ok(ok_json(&webhook))
}

/// Changes a webhook.
///
/// Costs no credits.
#[utoipa::path(
    patch,
    path = "/v1/webhooks/{webhook_id}",
    operation_id = "changeWebhook",
    tag = "Webhooks",
    request_body(content = WebhookChange, description = "What changes."),
    responses(
        (status = 200, description = "The changed webhook.", body = Webhook),
        (status = 415, description = "unsupported_media_type"),
    )
)]
pub fn change(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (account, id) = (call.caller()?.account.id, call.id("webhook")?);
    let mut change: WebhookChange = request::json(call.request)?;
    change.url = change.url.map(|url| api.webhooks.url(&url)).transpose()?;
    change.events = change.events.map(in_order).transpose()?;
    let changed = api.store.change_webhook(account, id, &change, api.clock.now(), &call.origin()?)?;
    Ok(ok_json(&changed.ok_or_else(|| ApiError::no_such("webhook"))?))
}

/// Deletes a webhook.
///
/// Its deliveries are deleted, too. Costs no credits.
#[utoipa::path(
    delete,
    path = "/v1/webhooks/{webhook_id}",
    operation_id = "deleteWebhook",
    tag = "Webhooks",
    responses((status = 204, description = "The webhook is deleted."))
)]
pub fn delete(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (account, id) = (call.caller()?.account.id, call.id("webhook")?);
    let is_deleted = api.store.delete_webhook(account, id, api.clock.now(), &call.origin()?)?;
    if is_deleted { Ok(Reply::Now(Response::empty(204))) } else { Err(ApiError::no_such("webhook")) }
}

/// Replaces the secret of a webhook.
///
/// For 24 hours, messages are signed with both secrets. The answer shows the new one, only this once. Costs no credits.
#[utoipa::path(
    post,
    path = "/v1/webhooks/{webhook_id}/rotate",
    operation_id = "rotateWebhookSecret",
    tag = "Webhooks",
    responses(
        (status = 200, description = "The webhook with its new secret.", body = WebhookWithSecret),
        (status = 503, description = "webhooks_unavailable"),
    )
)]
pub fn rotate(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (account, id) = (call.caller()?.account.id, call.id("webhook")?);
    Ok(ok_json(&WebhookWithSecret::new(api.webhooks.rotate(account, id, &call.origin()?)?)))
}

/// Sends a test message.
///
/// The message has the type `webhook.test` and is sent soon, like any other: its delivery shows what the receiver
/// answered. Costs no credits.
#[utoipa::path(
    post,
    path = "/v1/webhooks/{webhook_id}/test",
    operation_id = "testWebhook",
    tag = "Webhooks",
    responses(
        (status = 202, description = "The delivery of the message.", body = Delivery),
        (status = 409, description = "conflict"),
    )
)]
pub fn test(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let delivery = api.webhooks.test(call.caller()?.account.id, call.id("webhook")?)?;
    Ok(Reply::Now(json_response(202, &delivery)))
}
