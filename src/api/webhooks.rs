//! Webhooks: create, read, change, delete, rotate the secret, test; their deliveries.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::context::{Api, Call, json_response, no_content, ok_json};
use super::pages::{PageParameters, page_of};
use super::request;
use crate::base::ids::DeliveryId;
use crate::http::Reply;
use crate::model::event::EventType;
use crate::model::page::cut;
use crate::model::refusal::Refusal;
use crate::model::webhook::{Delivery, Webhook, WebhookChange};

/// A webhook with its secret, which is shown only once.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookWithSecret {
    /// The webhook.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// Secret with which messages are signed. It is shown only in this answer.
    #[schema(pattern = "^whsec_[A-Za-z0-9+/]{43}=$")]
    pub secret: String,
}

/// The webhooks of the account.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookList {
    /// Number of webhooks.
    pub count: usize,
    /// The webhooks, oldest first.
    pub webhooks: Vec<Webhook>,
}

/// A new webhook.
#[derive(Debug, Deserialize, ToSchema)]
pub struct WebhookBody {
    /// Address of the receiver: `https`, without a user name, a password and a fragment.
    #[schema(max_length = 2048, examples("https://hooks.example.com/sightline"))]
    #[serde(deserialize_with = "address")]
    url: String,
    /// Events that are sent.
    #[serde(default, deserialize_with = "request::list::<_, _, 1, 100>")]
    #[schema(value_type = Vec<EventType>, required, min_items = 1)]
    events: Option<Vec<EventType>>,
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    request::text(deserializer, "an https:// address")
}

/// Creates a webhook.
///
/// Its receiver gets a signed message for each event, as [Standard Webhooks](https://www.standardwebhooks.com) says. The
/// answer shows the secret of the signatures, only this once. Costs no credits.
#[utoipa::path(post, path = "/v1/webhooks",
    request_body(content = WebhookBody, example = json!(
        {"url": "https://hooks.example.com/sightline", "events": ["run.completed"]})),
    responses((status = 201, body = WebhookWithSecret), (status = 409)))]
pub fn create_webhook(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let account = call.caller()?.account.id;
    let WebhookBody { url, events } = request::json(call.request)?;
    let (webhook, secret) =
        api.webhooks.create(account, &url, events.unwrap_or_default(), &call.origin()?)?;
    Ok(Reply::Now(json_response(201, &WebhookWithSecret { webhook, secret: secret.expose() })))
}

/// Lists the webhooks of the account.
///
/// Costs no credits.
#[utoipa::path(get, path = "/v1/webhooks", responses((status = 200, body = WebhookList)))]
pub fn list_webhooks(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let webhooks = api.store.webhooks(call.caller()?.account.id)?;
    Ok(ok_json(&WebhookList { count: webhooks.len(), webhooks }))
}

/// Reads a webhook.
///
/// Costs no credits.
#[utoipa::path(get, path = "/v1/webhooks/{webhook_id}", responses((status = 200, body = Webhook)))]
pub fn get_webhook(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let webhook = api.webhooks.find(call.caller()?.account.id, call.id("webhook")?)?;
    Ok(ok_json(&webhook))
}

/// Changes a webhook.
///
/// Costs no credits.
#[utoipa::path(patch, path = "/v1/webhooks/{webhook_id}",
    request_body(content = WebhookChange, example = json!({"enabled": false})),
    responses((status = 200, body = Webhook)))]
pub fn change_webhook(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let (account, id) = (call.caller()?.account.id, call.id("webhook")?);
    let change: WebhookChange = request::json(call.request)?;
    Ok(ok_json(&api.webhooks.change(account, id, change, &call.origin()?)?))
}

/// Deletes a webhook.
///
/// Its deliveries are also deleted. Costs no credits.
#[utoipa::path(delete, path = "/v1/webhooks/{webhook_id}",
    responses((status = 204, description = "The webhook is deleted.")))]
pub fn delete_webhook(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let (account, id) = (call.caller()?.account.id, call.id("webhook")?);
    no_content(api.store.delete_webhook(account, id, &call.origin()?)?, "webhook")
}

/// Replaces the secret of a webhook.
///
/// For 24 hours, messages are signed with both secrets. The answer shows the new one, only this once. Costs no credits.
#[utoipa::path(post, path = "/v1/webhooks/{webhook_id}/rotate",
    responses((status = 200, description = "The webhook with its new secret.", body = WebhookWithSecret)))]
pub fn rotate_webhook_secret(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let (account, id) = (call.caller()?.account.id, call.id("webhook")?);
    let (webhook, secret) = api.webhooks.rotate(account, id, &call.origin()?)?;
    Ok(ok_json(&WebhookWithSecret { webhook, secret: secret.expose() }))
}

/// Sends a test message.
///
/// The message has the type `webhook.test` and is sent soon, like any other: its delivery shows what the receiver
/// answered. Costs no credits.
#[utoipa::path(post, path = "/v1/webhooks/{webhook_id}/test",
    responses((status = 202, description = "The delivery of the message.", body = Delivery), (status = 409)))]
pub fn test_webhook(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let delivery = api.webhooks.test(call.caller()?.account.id, call.id("webhook")?)?;
    Ok(Reply::Now(json_response(202, &delivery)))
}

page_of! {
    /// A page of the deliveries to a webhook, newest first.
    DeliveryList { deliveries: [Delivery], Uuid: "018f4a7e-5c1d-7b3a-9e2f-0123456789ad" }
}

/// Lists the deliveries to a webhook.
///
/// Newest first. Deliveries are kept for 30 days. Costs no credits.
#[utoipa::path(get, path = "/v1/webhooks/{webhook_id}/deliveries", params(PageParameters),
    responses((status = 200, body = DeliveryList)))]
pub fn list_webhook_deliveries(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let webhook = api.webhooks.find(call.caller()?.account.id, call.id("webhook")?)?;
    let PageParameters { limit, cursor } = request::query(call.request)?;
    let mut deliveries = api.store.deliveries(webhook.id, cursor.map(DeliveryId), limit + 1)?;
    let next = cut(&mut deliveries, limit).map(|last| last.id);
    Ok(DeliveryList::reply(deliveries, limit, next))
}

/// Sends a message again.
///
/// Now, and with all attempts of a new one. Its `webhook-id` stays the same. Costs no credits.
#[utoipa::path(post, path = "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay",
    responses((status = 202, description = "The delivery, which is pending.", body = Delivery), (status = 409)))]
pub fn replay_webhook_delivery(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let account = call.caller()?.account.id;
    let delivery = api.webhooks.replay(account, call.id("webhook")?, call.id("delivery")?)?;
    Ok(Reply::Now(json_response(202, &delivery)))
}
