//! The pages for webhooks: create, list, deliveries, replay, rotate, delete.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;

use crate::base::ids::{DeliveryId, WebhookId};
use crate::model::event::EventType;
use crate::model::page::cut;
use crate::model::webhook::{Delivery, DeliveryStatus, DisabledReason, Webhook, WebhookChange};
use crate::web::cookies::{Cookie, Notice};
use crate::web::show::lasted;
use crate::web::{Answer, Form, Frame, Visit, Web, WebError, render};
use crate::webhooks::secret::PREFIX;

/// The number of deliveries on one page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "webhooks.html", config = "src/web/askama.toml")]
struct ListPage {
    frame: Frame,
    form: Form,
    webhooks: Vec<Webhook>,
    /// The secret of the webhook that was just created. It is shown only this once.
    secret: Option<String>,
}

#[derive(Template)]
#[template(path = "webhook.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    webhook: Webhook,
    /// The new secret after a rotation. It is shown only this once.
    secret: Option<String>,
    deliveries: Vec<Delivery>,
    /// The last delivery of this page, if there are older ones.
    older: Option<DeliveryId>,
}

/// Returns why nothing is sent, as a sentence.
fn disabled(webhook: &Webhook) -> Option<&'static str> {
    webhook.disabled_reason.map(|reason| match reason {
        DisabledReason::Owner => "You have disabled it.",
        DisabledReason::Gone => "The receiver answered that it is gone (410).",
        DisabledReason::Failing => "No message could be delivered for five days.",
    })
}

/// Returns what the receiver answered, such as `HTTP 200 after 0.1 s`.
fn answer(delivery: &Delivery) -> String {
    let Some(answer) = &delivery.last_attempt else { return String::new() };
    let what = match (answer.http_status, &answer.error) {
        (Some(status), _) => format!("HTTP {status}"),
        (None, Some(error)) => match error.as_str() {
            "dns" => "unknown host name".to_owned(),
            "connect" => "no connection".to_owned(),
            "tls" => "no trusted certificate".to_owned(),
            other => other.replace('_', " "),
        },
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
pub(in crate::web) fn list(web: &Arc<Web>, visit: Visit) -> Answer {
    let webhooks = web.store.webhooks(visit.caller()?.account.id)?;
    render(&ListPage { secret: visit.made(PREFIX), webhooks, form: visit.form, frame: visit.frame })
}

/// Handles `POST /app/webhooks` with `url` and `event`: creates a webhook, and redirects to the page that shows its secret
/// once.
///
/// # Errors
/// Returns 503 if the store is unavailable. The form shows what else is wrong.
pub(in crate::web) fn create(web: &Arc<Web>, visit: Visit) -> Answer {
    let (account, origin) = visit.actor()?;
    let events = visit.form.all("event").filter_map(EventType::from_name).collect();
    match web.webhooks.create(account, visit.form.get("url"), events, &origin) {
        Ok((_, secret)) => web.redirect_with("/app/webhooks", &[(Cookie::Made, &secret.expose())]),
        Err(error) => visit.refuse(error.into(), |visit| list(web, visit)),
    }
}

/// Handles `GET /app/webhooks/{webhook_id}`: shows the webhook and its deliveries.
///
/// # Errors
/// Returns 404 for an unknown webhook, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Answer {
    let (account, id) = (visit.caller()?.account.id, visit.id("webhook_id")?);
    let webhook = web.webhooks.find(account, id)?;
    let before: Option<DeliveryId> = visit.form.get("before").parse().ok();
    let mut deliveries = web.store.deliveries(id, before, PAGE + 1)?;
    let older = cut(&mut deliveries, PAGE).map(|last| last.id);
    render(&Page { webhook, secret: visit.made(PREFIX), deliveries, older, frame: visit.frame })
}

/// Handles `POST /app/webhooks/{webhook_id}/test`: sends a test message.
///
/// # Errors
/// Returns 404 for an unknown webhook, 409 for a disabled one, 503 if the store is unavailable.
pub(in crate::web) fn test(web: &Arc<Web>, visit: Visit) -> Answer {
    let id = visit.id("webhook_id")?;
    web.webhooks.test(visit.caller()?.account.id, id)?;
    web.redirect_with_notice(&address(id), Notice::MessageQueued)
}

/// Handles `POST /app/webhooks/{webhook_id}/deliveries/{delivery_id}/replay`: sends a message again.
///
/// # Errors
/// Returns 404 for an unknown webhook or delivery, 409 for a disabled one, 503 if the store is unavailable.
pub(in crate::web) fn replay(web: &Arc<Web>, visit: Visit) -> Answer {
    let id = visit.id("webhook_id")?;
    web.webhooks.replay(visit.caller()?.account.id, id, visit.id("delivery_id")?)?;
    web.redirect_with_notice(&address(id), Notice::MessageQueued)
}

/// Handles `POST /app/webhooks/{webhook_id}/rotate`: replaces the secret, and redirects to the page that shows the new one
/// once.
///
/// # Errors
/// Returns 404 for an unknown webhook, 503 if the store is unavailable.
pub(in crate::web) fn rotate(web: &Arc<Web>, visit: Visit) -> Answer {
    let ((account, origin), id) = (visit.actor()?, visit.id("webhook_id")?);
    let (_, secret) = web.webhooks.rotate(account, id, &origin)?;
    web.redirect_with(&address(id), &[(Cookie::Made, &secret.expose())])
}

/// Handles `POST /app/webhooks/{webhook_id}/enable`: sends events again, and the deliveries that are pending.
///
/// # Errors
/// Returns 404 for an unknown webhook, 503 if the store is unavailable.
pub(in crate::web) fn enable(web: &Arc<Web>, visit: Visit) -> Answer {
    switch(web, &visit, true)
}

/// Handles `POST /app/webhooks/{webhook_id}/disable`: sends nothing more.
///
/// # Errors
/// Returns 404 for an unknown webhook, 503 if the store is unavailable.
pub(in crate::web) fn disable(web: &Arc<Web>, visit: Visit) -> Answer {
    switch(web, &visit, false)
}

fn switch(web: &Web, visit: &Visit, enabled: bool) -> Answer {
    let ((account, origin), id) = (visit.actor()?, visit.id("webhook_id")?);
    let change = WebhookChange { enabled: Some(enabled), ..WebhookChange::default() };
    web.webhooks.change(account, id, change, &origin)?;
    web.redirect(&address(id))
}

/// Handles `POST /app/webhooks/{webhook_id}/delete`: deletes the webhook with its deliveries.
///
/// # Errors
/// Returns 404 for an unknown webhook, 503 if the store is unavailable.
pub(in crate::web) fn delete(web: &Arc<Web>, visit: Visit) -> Answer {
    let (account, origin) = visit.actor()?;
    if !web.store.delete_webhook(account, visit.id("webhook_id")?, &origin)? {
        return Err(WebError::no_such_page());
    }
    web.redirect_with_notice("/app/webhooks", Notice::WebhookDeleted)
}

fn address(id: WebhookId) -> String {
    format!("/app/webhooks/{id}")
}
