//! The pages for webhooks: create, list, deliveries, replay, rotate, delete.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;

use crate::base::ids::{DeliveryId, WebhookId};
use crate::http::{Reply, Response};
use crate::model::webhook::{Delivery, DeliveryStatus, DisabledReason, Webhook, WebhookChange, WebhookError};
use crate::web::error::WebError;
use crate::web::frame::{Confirm, Frame, render, render_as};
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::show::{Moment, lasted};
use crate::web::visit::Visit;
use crate::webhooks::registry::{Webhooks, event_names};
use crate::webhooks::secret::PREFIX;

/// The number of deliveries on one page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "webhooks.html", config = "src/web/askama.toml")]
struct ListPage {
    frame: Frame,
    webhooks: Vec<Webhook>,
    /// The secret of the webhook that was just created. It is shown only this once.
    secret: Option<String>,
    events: Vec<&'static str>,
    url: String,
    wrong: Option<String>,
}

#[derive(Template)]
#[template(path = "webhook.html", config = "src/web/askama.toml")]
struct WebhookPage {
    frame: Frame,
    webhook: Webhook,
    /// The new secret after a rotation. It is shown only this once.
    secret: Option<String>,
    deliveries: Vec<Delivery>,
    /// The last delivery of this page, if there are older ones.
    older: Option<String>,
}

/// Returns why nothing is sent, as a sentence.
fn disabled(webhook: &Webhook) -> Option<&'static str> {
    webhook.disabled_reason.map(|reason| match reason {
        DisabledReason::Owner => "You have disabled it.",
        DisabledReason::Gone => "The receiver answered that it is gone (410).",
        DisabledReason::Failing => "No message could be delivered for five days.",
    })
}

fn events(webhook: &Webhook) -> String {
    webhook.events.iter().map(|event| event.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns what the receiver answered, such as `HTTP 200 after 0.1 s`.
fn answer(delivery: &Delivery) -> String {
    let Some(answer) = &delivery.last_attempt else { return String::new() };
    let what = match (answer.http_status, &answer.error) {
        (Some(status), _) => format!("HTTP {status}"),
        (None, Some(error)) => error.replace('_', " "),
        (None, None) => "no answer".to_owned(),
    };
    format!("{what} after {}", lasted(Duration::from_millis(answer.latency_ms)))
}

fn response_head(delivery: &Delivery) -> Option<&str> {
    delivery.last_attempt.as_ref()?.response_head.as_deref()
}

/// Handles `GET /app/webhooks`: shows the webhooks.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let secret = web.made_secret(&visit, PREFIX);
    let is_shown = secret.is_some();
    let response = show_all(web, visit, 200, secret, None)?;
    Ok(Reply::Now(if is_shown { web.without_secret(response) } else { response }))
}

/// Handles `POST /app/webhooks` with `url` and `event`: creates a webhook, and redirects to the page that shows its secret
/// once.
///
/// # Errors
/// Returns 503 if the store is unavailable. The form shows what else is wrong.
pub(in crate::web) fn create(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (account, webhooks, form) = (visit.caller()?.account.id, &web.parts.webhooks, visit.form());
    let created = webhooks.url(form.get("url")).and_then(|url| {
        let events = Webhooks::events(form.all("event"))?;
        Ok((url, events))
    });
    let origin = visit.origin()?;
    match created.and_then(|(url, events)| webhooks.create(account, url, events, &origin)) {
        Ok((_, secret)) => Ok(Reply::Now(web.redirect_with_secret("/app/webhooks", &secret.expose()))),
        Err(error @ (WebhookError::Storage(_) | WebhookError::UnknownAccount)) => Err(error.into()),
        Err(error) => show_all(web, visit, 422, None, Some(error.to_string())).map(Reply::Now),
    }
}

fn show_all(
    web: &Web,
    visit: Visit,
    status: u16,
    secret: Option<String>,
    wrong: Option<String>,
) -> Result<Response, WebError> {
    let webhooks = web.parts.store.webhooks(visit.caller()?.account.id)?;
    let page = ListPage {
        webhooks,
        secret,
        events: event_names().to_vec(),
        url: wrong.as_ref().map_or_else(String::new, |_| visit.form().get("url").to_owned()),
        wrong,
        frame: visit.frame,
    };
    Ok(render_as(status, &page))
}

/// Handles `GET /app/webhooks/{webhook_id}`: shows the webhook and its deliveries.
///
/// # Errors
/// Returns 404 for an unknown webhook, 503 if the store is unavailable.
pub(in crate::web) fn webhook(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let secret = web.made_secret(&visit, PREFIX);
    let is_shown = secret.is_some();
    let response = show_one(web, visit, secret)?;
    Ok(Reply::Now(if is_shown { web.without_secret(response) } else { response }))
}

fn show_one(web: &Web, visit: Visit, secret: Option<String>) -> Result<Response, WebError> {
    let (account, id) = (visit.caller()?.account.id, visit.id("webhook_id")?);
    let webhook = web.parts.webhooks.find(account, id)?;
    let before: Option<DeliveryId> = visit.query().get("before").parse().ok();
    let deliveries = web.parts.store.deliveries(account, id, before, PAGE + 1)?;
    let mut deliveries = deliveries.ok_or_else(WebError::no_such_page)?;
    let has_older = deliveries.len() > PAGE;
    deliveries.truncate(PAGE);
    let older = deliveries.last().filter(|_| has_older).map(|last| last.id.to_string());
    let page = WebhookPage { webhook, secret, deliveries, older, frame: visit.frame };
    Ok(render_as(200, &page))
}

/// Handles `POST /app/webhooks/{webhook_id}/test`: sends a test message.
///
/// # Errors
/// Returns 404 for an unknown webhook, 409 for a disabled one, 503 if the store is unavailable.
pub(in crate::web) fn test(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let id = visit.id("webhook_id")?;
    web.parts.webhooks.test(visit.caller()?.account.id, id)?;
    Ok(Reply::Now(web.redirect_with_notice(&address(id), Notice::MessageQueued)))
}

/// Handles `POST /app/webhooks/{webhook_id}/deliveries/{delivery_id}/replay`: sends a message again.
///
/// # Errors
/// Returns 404 for an unknown webhook or delivery, 409 for a disabled one, 503 if the store is unavailable.
pub(in crate::web) fn replay(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let id = visit.id("webhook_id")?;
    let delivery = visit.id("delivery_id")?;
    web.parts.webhooks.replay(visit.caller()?.account.id, id, delivery)?;
    Ok(Reply::Now(web.redirect_with_notice(&address(id), Notice::MessageQueued)))
}

/// Handles `POST /app/webhooks/{webhook_id}/rotate`: replaces the secret, and redirects to the page that shows the new one
/// once.
///
/// # Errors
/// Returns 404 for an unknown webhook, 503 if the store is unavailable.
pub(in crate::web) fn rotate(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (account, id) = (visit.caller()?.account.id, visit.id("webhook_id")?);
    let (_, secret) = web.parts.webhooks.rotate(account, id, &visit.origin()?)?;
    Ok(Reply::Now(web.redirect_with_secret(&address(id), &secret.expose())))
}

/// Handles `POST /app/webhooks/{webhook_id}/enable`: sends events again, and the deliveries that are pending.
///
/// # Errors
/// Returns 404 for an unknown webhook, 503 if the store is unavailable.
pub(in crate::web) fn enable(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    switch(web, &visit, true)
}

/// Handles `POST /app/webhooks/{webhook_id}/disable`: sends nothing more.
///
/// # Errors
/// Returns 404 for an unknown webhook, 503 if the store is unavailable.
pub(in crate::web) fn disable(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    switch(web, &visit, false)
}

fn switch(web: &Web, visit: &Visit, enabled: bool) -> Result<Reply, WebError> {
    let id = visit.id("webhook_id")?;
    let change = WebhookChange { enabled: Some(enabled), ..WebhookChange::default() };
    let (account, now) = (visit.caller()?.account.id, web.parts.clock.now());
    let changed = web.parts.store.change_webhook(account, id, &change, now, &visit.origin()?)?;
    changed.ok_or_else(WebError::no_such_page)?;
    Ok(Reply::Now(web.redirect(&address(id))))
}

/// Handles `GET /app/webhooks/{webhook_id}/delete`: asks for confirmation.
///
/// # Errors
/// Returns 404 for an unknown webhook, 503 if the store is unavailable.
pub(in crate::web) fn confirm_delete(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let webhook = web.parts.webhooks.find(visit.caller()?.account.id, visit.id("webhook_id")?)?;
    let text = "Nothing more is sent to this address, and its deliveries are deleted. It cannot be undone.";
    Ok(Reply::Now(render(&Confirm {
        frame: visit.frame,
        question: "Delete this webhook?",
        back: address(webhook.id),
        subject: webhook.url,
        text: text.to_owned(),
        also: None,
        button: "Delete it",
    })))
}

/// Handles `POST /app/webhooks/{webhook_id}/delete`: deletes the webhook.
///
/// # Errors
/// Returns the same errors as [`confirm_delete`].
pub(in crate::web) fn delete(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (account, now) = (visit.caller()?.account.id, web.parts.clock.now());
    if !web.parts.store.delete_webhook(account, visit.id("webhook_id")?, now, &visit.origin()?)? {
        return Err(WebError::no_such_page());
    }
    Ok(Reply::Now(web.redirect_with_notice("/app/webhooks", Notice::WebhookDeleted)))
}

fn address(id: WebhookId) -> String {
    format!("/app/webhooks/{id}")
}
