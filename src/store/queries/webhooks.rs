//! Webhooks and their deliveries: as their owners see them, and as they are sent.

use super::accounts::{lock, too_many};
use super::outbox::add_delivery;
use super::*;

row! {
    Webhook from "" {
        id, account, url, events, enabled = "disabled IS NULL", disabled_reason = "disabled", failing_since,
        previous_secret_expires_at = "CASE WHEN earlier_until > now() THEN earlier_until END", created_at
    }
}
row! {
    Delivery from "" {
        id, event, status, created_at, attempts, next_attempt_at = "due_at",
        last_attempt = "last_attempt_at, http_status, error, latency_ms, head"
    }
}
row! {
    Claimed from "" {
        id, epoch, webhook, url = "(SELECT w.url FROM webhooks w WHERE w.id = webhook_deliveries.webhook)", body,
        attempts, secret = "(SELECT w.secret FROM webhooks w WHERE w.id = webhook_deliveries.webhook)",
        earlier_secret = "(SELECT w.earlier_secret FROM webhooks w WHERE w.id = webhook_deliveries.webhook \
            AND w.earlier_until > now())",
        now = "{now}"
    }
}

const COUNT: &str = "SELECT count(*) FROM webhooks WHERE account = ?1";
const INSERT: &str =
    "INSERT INTO webhooks (id, account, url, events, secret, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const LIST: &str = "SELECT {row} FROM webhooks WHERE account = ?1 ORDER BY created_at, id";
const SECRETS: &str = "SELECT id, secret FROM webhooks ORDER BY created_at DESC LIMIT ?1";
/// Changes a webhook. `?5` says whether it is enabled, or is NULL.
const CHANGE: &str = "UPDATE webhooks SET url = coalesce(?3, url), events = coalesce(?4, events), \
     failing_since = CASE WHEN CAST(?5 AS boolean) THEN NULL ELSE failing_since END, disabled = CASE \
     WHEN CAST(?5 AS boolean) THEN NULL WHEN NOT CAST(?5 AS boolean) THEN coalesce(disabled, 'owner') \
     ELSE disabled END WHERE id = ?1 AND account = ?2 RETURNING {row}";
const ROTATE: &str = "UPDATE webhooks SET earlier_secret = secret, earlier_until = \
     {now} + ms(?4), secret = ?3 WHERE id = ?1 AND account = ?2 \
     RETURNING {row}";
const DELETE: &str = "DELETE FROM webhooks WHERE id = ?1 AND account = ?2 RETURNING 1";
/// Locks a webhook of an account against its deletion.
const LOCK_SHARED: &str = "SELECT 1 FROM webhooks WHERE id = ?1 AND account = ?2 /*pg FOR KEY SHARE */";
const DELIVERIES: &str = "SELECT {row} FROM webhook_deliveries WHERE webhook = ?1 AND id < ?2 \
     ORDER BY id DESC LIMIT ?3";
const REPLAY: &str = "UPDATE webhook_deliveries SET status = 'pending', due_at = now(), attempts = 0 \
     WHERE id = ?1 AND webhook = (SELECT id FROM webhooks WHERE id = ?2 AND account = ?3) \
     RETURNING {row}";

/// Selects the first due delivery of each enabled webhook. It steps in `webhook_deliveries_due` from one webhook to the next
/// that something waits for, and reads few rows of each, however many wait. Nothing is read if nothing is due to an enabled
/// one.
const DUE: &str = "WITH RECURSIVE waiting (webhook) AS (SELECT (SELECT d.webhook FROM webhook_deliveries d \
     WHERE d.due_at IS NOT NULL ORDER BY d.webhook LIMIT 1) WHERE EXISTS (SELECT 1 \
     FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook WHERE d.due_at <= now() \
     AND w.disabled IS NULL) UNION ALL SELECT (SELECT d.webhook \
     FROM webhook_deliveries d WHERE d.due_at IS NOT NULL AND d.webhook > w.webhook ORDER BY d.webhook \
     LIMIT 1) FROM waiting w WHERE w.webhook IS NOT NULL) SELECT d.id, d.webhook FROM (SELECT (SELECT d.id \
     FROM webhook_deliveries d WHERE d.webhook = w.id AND {is_due} ORDER BY d.due_at, d.id \
     LIMIT 1) AS delivery FROM waiting JOIN webhooks w ON w.id = waiting.webhook WHERE w.disabled IS NULL \
     AND w.id NOT IN {ids ?1}) AS first JOIN webhook_deliveries d ON d.id = first.delivery \
     ORDER BY d.due_at, d.id LIMIT ?2";
const CLAIM: &str = "UPDATE webhook_deliveries SET epoch = epoch + 1, held_until = now() + ms(?2) \
     WHERE id IN (SELECT d.id FROM webhook_deliveries d WHERE d.id IN {ids ?1} AND {is_due} /*pg \
     ORDER BY d.id FOR NO KEY UPDATE SKIP LOCKED */) RETURNING {row}";
/// Locks a webhook, before its delivery: the order in which a webhook is deleted.
const LOCK: &str = "SELECT account FROM webhooks WHERE id = ?1 /*pg FOR NO KEY UPDATE */";
/// Records an attempt. `?3` is the new status, `?4` the pause before the next attempt.
const RECORD: &str = "UPDATE webhook_deliveries SET status = ?3, \
     due_at = CASE WHEN ?3 = 'pending' THEN now() + ms(?4) END, held_until = NULL, attempts = attempts + 1, \
     last_attempt_at = {now}, http_status = ?5, error = ?6, latency_ms = ?7, head = ?8 \
     WHERE id = ?1 AND epoch = ?2";
/// Records a success.
const SUCCEEDED: &str =
    "UPDATE webhooks SET failing_since = NULL WHERE id = ?1 AND failing_since IS NOT NULL";
/// Records a failure. `?2` says whether the receiver is gone, `?3` is the time after which a failing webhook is
/// disabled. A webhook that is disabled already keeps its reason.
const FAILED: &str = "UPDATE webhooks SET \
     failing_since = coalesce(failing_since, {now}), \
     disabled = CASE WHEN ?2 THEN 'gone' WHEN failing_since + ms(?3) <= now() THEN 'failing' END \
     WHERE id = ?1 AND disabled IS NULL RETURNING disabled";

const REMOVE: &str = "DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries \
     WHERE created_at < now() - ms(?1) ORDER BY created_at LIMIT ?2 /*pg FOR UPDATE SKIP LOCKED */)";

impl Store {
    /// Adds a webhook with its secret, and an audit entry.
    pub fn add_webhook(&self, webhook: &Webhook, secret: &SealedSecret, by: &Origin) -> Result<(), Refusal> {
        self.write("add_webhook", |tx| {
            // So that two are not added at once.
            if !lock(tx, webhook.account)? {
                return Ok(Err(Refusal::unknown_key()));
            }
            if tx.one::<usize>(COUNT, values![webhook.account])? >= MOST_WEBHOOKS {
                return Ok(Err(too_many(&format!("{MOST_WEBHOOKS} webhooks: delete"))));
            }
            let Webhook { id, account, url, events, created_at, .. } = webhook;
            let events = encode(events)?;
            tx.execute(INSERT, values![*id, *account, url, events, &secret.0, *created_at])?;
            let event = AuditEvent::of_object(Action::WebhookCreated, *account, id)
                .with("events", webhook.events.len());
            tx.note(&event, by)?;
            Ok(Ok(()))
        })?
    }

    /// Returns the webhooks of an account, the oldest first.
    pub fn webhooks(&self, account: AccountId) -> Result<Vec<Webhook>> {
        self.all("webhooks", LIST, values![account])
    }

    /// Returns the secrets of at most `most` webhooks, the newest first.
    pub fn sealed_secrets(&self, most: usize) -> Result<Vec<(WebhookId, SealedSecret)>> {
        self.all("sealed_secrets", SECRETS, values![most])
    }

    /// Changes a webhook and adds an audit entry. Returns the webhook, or `None` if the account has no such webhook.
    /// Enabling it also ends its row of failures. Disabling a disabled webhook keeps the reason.
    pub fn change_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        change: &WebhookChange,
        by: &Origin,
    ) -> Result<Option<Webhook>> {
        let url = change.url.as_deref();
        let events = change.events.as_ref().map(encode).transpose()?;
        let event = AuditEvent::of_object(Action::WebhookChanged, account, id).with_parts([
            ("url", change.url.is_some()),
            ("events", change.events.is_some()),
            ("enabled", change.enabled.is_some()),
        ]);
        let values = values![id, account, url, events, change.enabled];
        self.noted("change_webhook", CHANGE, values, &event, by)
    }

    /// Replaces the secret of a webhook and adds an audit entry. The earlier secret stays valid for `overlap`. Returns
    /// the webhook, or `None` if the account has no such webhook.
    pub fn rotate_secret(
        &self,
        account: AccountId,
        id: WebhookId,
        secret: &SealedSecret,
        overlap: Duration,
        by: &Origin,
    ) -> Result<Option<Webhook>> {
        let event = AuditEvent::of_object(Action::WebhookRotated, account, id);
        self.noted("rotate_secret", ROTATE, values![id, account, &secret.0, overlap], &event, by)
    }

    /// Deletes a webhook with its deliveries and adds an audit entry. Returns `false` if the account has no such
    /// webhook.
    pub fn delete_webhook(&self, account: AccountId, id: WebhookId, by: &Origin) -> Result<bool> {
        let event = AuditEvent::of_object(Action::WebhookDeleted, account, id);
        Ok(self.noted::<i64>("delete_webhook", DELETE, values![id, account], &event, by)?.is_some())
    }

    /// Adds a delivery of an event that no run has caused. Returns `None` if the account has no such webhook.
    pub fn add_delivery(&self, account: AccountId, id: WebhookId, event: &Event) -> Result<Option<Delivery>> {
        self.write("add_delivery", |tx| {
            if !tx.has(LOCK_SHARED, values![id, account])? {
                return Ok(None);
            }
            add_delivery(tx, id, event).map(Some)
        })
    }

    /// Returns at most `count` deliveries of a webhook with ids below `before`, the newest first.
    pub fn deliveries(
        &self,
        webhook: WebhookId,
        before: Option<DeliveryId>,
        count: usize,
    ) -> Result<Vec<Delivery>> {
        let before = before.unwrap_or(DeliveryId(Uuid::max()));
        self.all("deliveries", DELIVERIES, values![webhook, before, count])
    }

    /// Makes a delivery due now, with all attempts of a new one. Returns `None` if the account has no such delivery.
    pub fn replay(&self, account: AccountId, webhook: WebhookId, id: DeliveryId) -> Result<Option<Delivery>> {
        self.write("replay", |tx| tx.first(REPLAY, values![id, webhook, account]))
    }

    /// Returns at most `most` deliveries that are due and that no instance sends, with their webhooks: the first one of
    /// each webhook that is not excepted.
    pub fn due_deliveries(&self, except: &[WebhookId], most: usize) -> Result<Vec<(DeliveryId, WebhookId)>> {
        self.read(background("due_deliveries"), |tx| {
            tx.all(DUE, values![encode_ids(except.iter().map(|id| id.0))?, most])
        })
    }

    /// Takes those of the deliveries that are still due. Until `holds` is over, no instance takes them again.
    pub fn claim_deliveries(&self, ids: &[DeliveryId], holds: Duration) -> Result<Vec<Claimed>> {
        let ids = encode_ids(ids.iter().map(|id| id.0))?;
        self.write(background("claim_deliveries").light(), |tx| tx.all(CLAIM, values![ids, holds]))
    }

    /// Records an attempt unless the claim was lost. If it has failed, the next one is made after `pause`. Returns the
    /// reason if that has disabled the webhook.
    pub fn record_attempt(
        &self,
        claimed: &Claimed,
        answer: &Attempt,
        pause: Option<Duration>,
    ) -> Result<Option<DisabledReason>> {
        let status = match pause {
            _ if answer.is_delivered() => DeliveryStatus::Delivered,
            Some(_) => DeliveryStatus::Pending,
            None => DeliveryStatus::Failed,
        };
        let Attempt { http_status, error, latency_ms, response_head, .. } = answer;
        let recorded = values![claimed.id, claimed.epoch, status, pause.unwrap_or_default(), *http_status];
        let recorded = [recorded, values![error.as_ref(), *latency_ms, response_head.as_ref()]].concat();
        self.write(background("record_attempt").light(), |tx| {
            let account = tx.first::<AccountId>(LOCK, values![claimed.webhook])?;
            let Some(account) = account else { return Ok(None) };
            if tx.execute(RECORD, recorded)? == 0 {
                return Ok(None);
            }
            if answer.is_delivered() {
                tx.execute(SUCCEEDED, values![claimed.webhook])?;
                return Ok(None);
            }
            let values = values![claimed.webhook, answer.is_refused_for_good(), DISABLED_AFTER];
            let Some(Some(reason)) = tx.first(FAILED, values)? else { return Ok(None) };
            let event = AuditEvent::of_object(Action::WebhookDisabled, account, claimed.webhook);
            tx.note(&event.with("reason", DisabledReason::as_str(reason)), &Origin::SYSTEM)?;
            Ok(Some(reason))
        })
    }

    /// Removes at most `count` deliveries that are older than `age`. Returns their number.
    pub fn remove_deliveries(&self, age: Duration, count: usize) -> Result<u64> {
        self.write(background("remove_deliveries").light(), |tx| tx.execute(REMOVE, values![age, count]))
    }
}

impl FromRow for Option<Attempt> {
    fn from_row(row: &mut Row) -> Result<Self> {
        let (at, http_status, error) = row.read::<(Option<Timestamp>, _, _)>()?;
        let (latency_ms, response_head) = row.read::<(Option<u64>, _)>()?;
        let latency_ms = latency_ms.unwrap_or_default();
        Ok(at.map(|at| Attempt { at, http_status, error, latency_ms, response_head }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_disabled_webhook_left_behind_has_nothing_read() {
        const WAITING: &str = "PRAGMA defer_foreign_keys = ON; WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL \
             SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO webhooks (id, account, url, events, secret, disabled, \
             created_at) SELECT CAST(printf('%016d', i) AS BLOB), zeroblob(16), '', '[]', zeroblob(60), \
             CASE i WHEN 500 THEN 'owner' END, 0 FROM n; INSERT INTO webhook_deliveries (id, webhook, event, body, \
             created_at, status, due_at) SELECT id, id, '', '', 0, 'pending', \
             CASE WHEN disabled IS NULL THEN 9000000000000 ELSE 0 END FROM webhooks";
        let store = crate::store::in_memory().unwrap();
        let read = |tx: &mut Tx| {
            tx.batch(WAITING, "")?;
            let Tx::Sqlite(on) = tx else { unreachable!() };
            let mut due = on.prepare(crate::store::queries::fragments::complete::<()>(DUE))?;
            assert!(!due.exists(("[]", 10))?);
            Ok(due.get_status(rusqlite::StatementStatus::VmStep))
        };
        let steps = store.write_if("test", |_| false, read).unwrap();
        assert!(steps < 1000, "{steps} steps for 1000 webhooks");
    }
}
