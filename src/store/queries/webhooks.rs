//! Webhooks, and the deliveries that their owners see. The deliveries that are sent are in `webhook_sending`.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::accounts::lock;
use super::audit::note;
use super::outbox::add_delivery;
use super::webhook_sending;
use crate::base::ids::{AccountId, DeliveryId, WebhookId};
use crate::base::storage::StorageError;
use crate::model::audit::{Action, AuditEvent, Origin};
use crate::model::event::Event;
use crate::model::webhook::{
    Attempt, Claimed, Delivery, DisabledReason, MOST_WEBHOOKS, SealedSecret, Webhook, WebhookAdded,
    WebhookChange,
};
use crate::store::Store;
use crate::store::backend::{Operation, Statements};
use crate::store::document::encode;
use crate::store::value::{Cells, FromCell, FromRow, Row, Value, row, values};

row! {
    webhook_columns: Webhook from "" {
        id, account, url, events, enabled = "disabled IS NULL", disabled_reason = "disabled", failing_since,
        previous_secret_expires_at = "CASE WHEN earlier_until > now() THEN earlier_until END", created_at
    }
}
row! {
    delivery_columns: Delivery from "" {
        id, event, status, created_at, attempts, next_attempt_at = "due_at",
        last_attempt = "last_attempt_at, http_status, error, latency_ms, head"
    }
}

const COUNT: &str = "SELECT count(*) FROM webhooks WHERE account = ?1";
const INSERT: &str =
    "INSERT INTO webhooks (id, account, url, events, secret, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const LIST: &str =
    concat!("SELECT ", webhook_columns!(), " FROM webhooks WHERE account = ?1 ORDER BY created_at, id");
const SECRETS: &str = "SELECT id, secret FROM webhooks ORDER BY created_at DESC LIMIT ?1";
/// Changes a webhook. `?5` tells whether it is enabled, or is NULL.
const CHANGE: &str = concat!(
    "UPDATE webhooks SET url = coalesce(?3, url), events = coalesce(?4, events), \
     failing_since = CASE WHEN CAST(?5 AS boolean) THEN NULL ELSE failing_since END, \
     disabled = CASE WHEN CAST(?5 AS boolean) THEN NULL \
     WHEN NOT CAST(?5 AS boolean) THEN coalesce(disabled, 'owner') ELSE disabled END \
     WHERE id = ?1 AND account = ?2 RETURNING ",
    webhook_columns!()
);
const ROTATE: &str = concat!(
    "UPDATE webhooks SET earlier_secret = secret, \
     earlier_until = date_trunc('milliseconds', now()) + ms(?4), secret = ?3 \
     WHERE id = ?1 AND account = ?2 RETURNING ",
    webhook_columns!()
);
const DELETE: &str = "DELETE FROM webhooks WHERE id = ?1 AND account = ?2";

const KNOWN: &str = "SELECT 1 FROM webhooks WHERE id = ?1 AND account = ?2";
const DELIVERY: &str = concat!("SELECT ", delivery_columns!(), " FROM webhook_deliveries WHERE id = ?1");
const DELIVERIES: &str = concat!(
    "SELECT ",
    delivery_columns!(),
    " FROM webhook_deliveries WHERE webhook = ?1 AND id < ?2 \
     ORDER BY id DESC LIMIT ?3"
);
const REPLAY: &str = concat!(
    "UPDATE webhook_deliveries SET status = 'pending', due_at = now(), attempts = 0 \
     WHERE id = ?1 AND webhook = (SELECT id FROM webhooks WHERE id = ?2 AND account = ?3) RETURNING ",
    delivery_columns!()
);

impl Store {
    /// Adds a webhook with its secret, and an audit entry.
    pub fn add_webhook(
        &self,
        webhook: &Webhook,
        secret: &SealedSecret,
        by: &Origin,
    ) -> Result<WebhookAdded, StorageError> {
        let operation = Operation::new("add_webhook");
        self.write(operation, |statements| {
            // So that two are not added at once.
            if !lock(statements, webhook.account)? {
                return Ok(WebhookAdded::UnknownAccount);
            }
            if statements.first::<usize>(COUNT, values![webhook.account])? >= Some(MOST_WEBHOOKS) {
                return Ok(WebhookAdded::TooMany);
            }
            let Webhook { id, account, url, events, created_at, .. } = webhook;
            let events = encode(events)?;
            statements.execute(INSERT, values![*id, *account, url, events, &secret.0, *created_at])?;
            let event = AuditEvent::of_object(Action::WebhookCreated, *account, id)
                .with("events", webhook.events.len());
            note(statements, &event, *created_at, by)?;
            Ok(WebhookAdded::Done)
        })
    }

    /// Returns the webhooks of an account, the oldest first.
    pub fn webhooks(&self, account: AccountId) -> Result<Vec<Webhook>, StorageError> {
        self.all(Operation::new("webhooks"), LIST, values![account])
    }

    /// Returns the secrets of at most `most` webhooks, the newest first.
    pub fn sealed_secrets(&self, most: usize) -> Result<Vec<(WebhookId, SealedSecret)>, StorageError> {
        self.all(Operation::new("sealed_secrets"), SECRETS, values![most])
    }

    /// Changes a webhook and adds an audit entry. Returns the webhook, or `None` if the account has no such webhook.
    /// Enabling it also ends its row of failures. Disabling a disabled webhook keeps the reason.
    pub fn change_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        change: &WebhookChange,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Webhook>, StorageError> {
        let url = change.url.as_deref();
        let events = change.events.as_ref().map(encode).transpose()?;
        let event = AuditEvent::of_object(Action::WebhookChanged, account, id).with("parts", change.parts());
        self.write(Operation::new("change_webhook"), |statements| {
            let changed = statements.first(CHANGE, values![id, account, url, events, change.enabled])?;
            noted(statements, changed, &event, at, by)
        })
    }

    /// Replaces the secret of a webhook and adds an audit entry. The earlier secret stays valid for `overlap`. Returns
    /// the webhook, or `None` if the account has no such webhook.
    pub fn rotate_secret(
        &self,
        account: AccountId,
        id: WebhookId,
        secret: &SealedSecret,
        overlap: Duration,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Webhook>, StorageError> {
        let event = AuditEvent::of_object(Action::WebhookRotated, account, id);
        self.write(Operation::new("rotate_secret"), |statements| {
            let changed = statements.first(ROTATE, values![id, account, &secret.0, overlap])?;
            noted(statements, changed, &event, at, by)
        })
    }

    /// Deletes a webhook with its deliveries and adds an audit entry. Returns `false` if the account has no such
    /// webhook.
    pub fn delete_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(Operation::new("delete_webhook"), |statements| {
            let is_deleted = statements.execute(DELETE, values![id, account])? == 1;
            if is_deleted {
                let event = AuditEvent::of_object(Action::WebhookDeleted, account, id);
                note(statements, &event, at, by)?;
            }
            Ok(is_deleted)
        })
    }

    /// Adds a delivery of an event that no run has caused. Returns `None` if the account has no such webhook.
    pub fn add_delivery(
        &self,
        account: AccountId,
        id: WebhookId,
        event: &Event,
    ) -> Result<Option<Delivery>, StorageError> {
        self.write(Operation::new("add_delivery"), |statements| {
            let Some(delivery) = add_delivery(statements, account, id, event)? else { return Ok(None) };
            statements.first(DELIVERY, values![delivery])
        })
    }

    /// Returns at most `count` deliveries of a webhook with ids below `before`, the newest first. Returns `None` if the
    /// account has no such webhook.
    pub fn deliveries(
        &self,
        account: AccountId,
        id: WebhookId,
        before: Option<DeliveryId>,
        count: usize,
    ) -> Result<Option<Vec<Delivery>>, StorageError> {
        self.read(Operation::new("deliveries"), |statements| {
            if !statements.has(KNOWN, values![id, account])? {
                return Ok(None);
            }
            let before = before.unwrap_or(DeliveryId(Uuid::max()));
            statements.all(DELIVERIES, values![id, before, count]).map(Some)
        })
    }

    /// Makes a delivery due now, with all attempts of a new one. Returns `None` if the account has no such delivery.
    pub fn replay(
        &self,
        account: AccountId,
        webhook: WebhookId,
        id: DeliveryId,
    ) -> Result<Option<Delivery>, StorageError> {
        let rows = self.change(Operation::new("replay"), REPLAY, values![id, webhook, account])?;
        rows.first().map(Row::read).transpose()
    }

    /// Returns at most `most` deliveries that are due and that no instance sends, with their webhooks: the first one of
    /// each webhook that is not excepted.
    pub fn due_deliveries(
        &self,
        except: &[WebhookId],
        most: usize,
    ) -> Result<Vec<(DeliveryId, WebhookId)>, StorageError> {
        let operation = Operation::new("due_deliveries").in_background();
        self.read(operation, |statements| webhook_sending::due(statements, except, most))
    }

    /// Takes those of the deliveries that are still due. Until `holds` is over, no instance takes them again.
    pub fn claim_deliveries(
        &self,
        ids: &[DeliveryId],
        holds: Duration,
    ) -> Result<Vec<Claimed>, StorageError> {
        let operation = Operation::new("claim_deliveries").in_background().light();
        self.write(operation, |statements| webhook_sending::claim(statements, ids, holds))
    }

    /// Records an attempt unless the claim was lost. If it has failed, the next one is made after `pause`. Returns the
    /// reason if that has disabled the webhook.
    pub fn record_attempt(
        &self,
        claimed: &Claimed,
        answer: &Attempt,
        pause: Option<Duration>,
    ) -> Result<Option<DisabledReason>, StorageError> {
        let operation = Operation::new("record_attempt").in_background().light();
        self.write(operation, |statements| webhook_sending::record(statements, claimed, answer, pause))
    }

    /// Removes at most `count` deliveries that are older than `age`. Returns their number.
    pub fn remove_deliveries(&self, age: Duration, count: usize) -> Result<u64, StorageError> {
        let operation = Operation::new("remove_deliveries").in_background().light();
        self.write(operation, |statements| webhook_sending::remove(statements, age, count))
    }
}

/// Adds the audit entry of a webhook, if there is one, and returns it.
fn noted(
    statements: &mut dyn Statements,
    changed: Option<Webhook>,
    event: &AuditEvent,
    at: Timestamp,
    by: &Origin,
) -> Result<Option<Webhook>, StorageError> {
    if changed.is_some() {
        note(statements, event, at, by)?;
    }
    Ok(changed)
}

impl FromCell for SealedSecret {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        FromCell::from_cell(cell).map(Self)
    }
}

impl FromRow for Option<Attempt> {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self, StorageError> {
        let (at, http_status, error) = cells.read::<(Option<Timestamp>, _, _)>()?;
        let (latency_ms, response_head) = cells.read::<(Option<u64>, _)>()?;
        let latency_ms = latency_ms.unwrap_or_default();
        Ok(at.map(|at| Attempt { at, http_status, error, latency_ms, response_head }))
    }
}
