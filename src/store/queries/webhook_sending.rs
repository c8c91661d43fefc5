//! The deliveries to webhooks that are sent: which are due, claims, and the records of attempts.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

use super::audit::note;
use super::fragments::{encode_ids, ids};
use crate::base::ids::{AccountId, DeliveryId, WebhookId};
use crate::base::storage::StorageError;
use crate::model::audit::{Action, AuditEvent, Origin};
use crate::model::webhook::{Attempt, Claimed, DISABLED_AFTER, DeliveryStatus, DisabledReason, SealedSecret};
use crate::store::backend::Statements;
use crate::store::value::values;

/// The condition that a delivery is due and that no instance sends it.
macro_rules! is_due {
    () => {
        "d.due_at <= now() AND (d.held_until IS NULL OR d.held_until <= now())"
    };
}

/// Selects the first due delivery of each enabled webhook. It steps in `webhook_deliveries_due` from one webhook to the next
/// that something waits for, and reads few rows of each, however many wait. Nothing is read if nothing is due.
const DUE: &str = concat!(
    "WITH RECURSIVE waiting (webhook) AS (SELECT \
     (SELECT d.webhook FROM webhook_deliveries d WHERE d.due_at IS NOT NULL ORDER BY d.webhook LIMIT 1) \
     WHERE EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.due_at <= now()) UNION ALL SELECT \
     (SELECT d.webhook FROM webhook_deliveries d WHERE d.due_at IS NOT NULL AND d.webhook > w.webhook \
     ORDER BY d.webhook LIMIT 1) FROM waiting w WHERE w.webhook IS NOT NULL) \
     SELECT d.id, d.webhook FROM (SELECT \
     (SELECT d.id FROM webhook_deliveries d WHERE d.webhook = w.id AND ",
    is_due!(),
    " ORDER BY d.due_at, d.id LIMIT 1) AS delivery FROM waiting JOIN webhooks w ON w.id = waiting.webhook \
     WHERE w.disabled IS NULL AND w.id NOT IN ",
    ids!("?1"),
    ") AS first JOIN webhook_deliveries d ON d.id = first.delivery ORDER BY d.due_at, d.id LIMIT ?2"
);
const CLAIM: &str = concat!(
    "UPDATE webhook_deliveries SET epoch = epoch + 1, held_until = now() + ms(?2) WHERE id IN \
     (SELECT d.id FROM webhook_deliveries d WHERE d.id IN ",
    ids!("?1"),
    " AND ",
    is_due!(),
    " /*pg ORDER BY d.id FOR NO KEY UPDATE SKIP LOCKED */) \
     RETURNING id, webhook, epoch, attempts, body, date_trunc('milliseconds', now())"
);
const RECEIVERS: &str = concat!(
    "SELECT id, url, secret, CASE WHEN earlier_until > now() THEN earlier_secret END FROM webhooks WHERE id IN ",
    ids!("?1")
);

/// Locks a webhook, before its delivery: the order in which a webhook is deleted.
const LOCK: &str = "SELECT account FROM webhooks WHERE id = ?1 /*pg FOR NO KEY UPDATE */";
/// Records an attempt. `?3` is the new status, `?4` the pause before the next attempt.
const RECORD: &str = "UPDATE webhook_deliveries SET status = ?3, \
     due_at = CASE WHEN ?3 = 'pending' THEN now() + ms(?4) END, held_until = NULL, attempts = attempts + 1, \
     last_attempt_at = date_trunc('milliseconds', now()), http_status = ?5, error = ?6, latency_ms = ?7, head = ?8 \
     WHERE id = ?1 AND epoch = ?2";
/// Records a success.
const SUCCEEDED: &str =
    "UPDATE webhooks SET failing_since = NULL WHERE id = ?1 AND failing_since IS NOT NULL";
/// Records a failure. `?2` tells whether the receiver is gone, `?3` is the time after which a failing webhook is
/// disabled. A webhook that is disabled already keeps its reason.
const FAILED: &str = "UPDATE webhooks SET \
     failing_since = coalesce(failing_since, date_trunc('milliseconds', now())), \
     disabled = CASE WHEN ?2 THEN 'gone' WHEN failing_since + ms(?3) <= now() THEN 'failing' END \
     WHERE id = ?1 AND disabled IS NULL RETURNING disabled";

const REMOVE: &str = "DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries \
     WHERE created_at < now() - ms(?1) ORDER BY created_at LIMIT ?2 /*pg FOR UPDATE SKIP LOCKED */)";

/// Returns deliveries that are due and that no instance sends, with their webhooks: one of each, and none of `except`.
pub(super) fn due(
    statements: &mut dyn Statements,
    except: &[WebhookId],
    most: usize,
) -> Result<Vec<(DeliveryId, WebhookId)>, StorageError> {
    statements.all(DUE, values![encode_ids(except.iter().map(|id| id.0))?, most])
}

/// Takes those of the deliveries that are still due.
pub(super) fn claim(
    statements: &mut dyn Statements,
    ids: &[DeliveryId],
    holds: Duration,
) -> Result<Vec<Claimed>, StorageError> {
    let ids = encode_ids(ids.iter().map(|id| id.0))?;
    let taken: Vec<(DeliveryId, WebhookId, u64, u32, String, Timestamp)> =
        statements.all(CLAIM, values![ids, holds])?;
    if taken.is_empty() {
        return Ok(Vec::new());
    }
    type Receiver = (WebhookId, String, SealedSecret, Option<SealedSecret>);
    let ids = encode_ids(taken.iter().map(|(_, webhook, ..)| webhook.0))?;
    let receivers: Vec<Receiver> = statements.all(RECEIVERS, values![ids])?;
    let receivers: HashMap<_, _> =
        receivers.into_iter().map(|(id, url, new, old)| (id, (url, new, old))).collect();
    let claimed = taken.into_iter().filter_map(|(id, webhook, epoch, attempts, body, now)| {
        let (url, secret, earlier) = receivers.get(&webhook)?.clone();
        let secrets = [Some(secret), earlier].into_iter().flatten().collect();
        Some(Claimed { id, webhook, epoch, attempts, body, now, url, secrets })
    });
    Ok(claimed.collect())
}

/// Records an attempt, as [`Store::record_attempt`](crate::store::Store::record_attempt) does.
pub(super) fn record(
    statements: &mut dyn Statements,
    claimed: &Claimed,
    answer: &Attempt,
    pause: Option<Duration>,
) -> Result<Option<DisabledReason>, StorageError> {
    let account = statements.first::<AccountId>(LOCK, values![claimed.webhook])?;
    let Some(account) = account else { return Ok(None) };
    let status = match pause {
        _ if answer.is_delivered() => DeliveryStatus::Delivered,
        Some(_) => DeliveryStatus::Pending,
        None => DeliveryStatus::Failed,
    };
    let recorded = statements.execute(
        RECORD,
        values![
            claimed.id,
            claimed.epoch,
            status.as_str(),
            pause.unwrap_or_default(),
            answer.http_status,
            answer.error.as_deref(),
            answer.latency_ms,
            answer.response_head.as_deref(),
        ],
    )?;
    if recorded == 0 {
        return Ok(None);
    }
    if answer.is_delivered() {
        statements.execute(SUCCEEDED, values![claimed.webhook])?;
        return Ok(None);
    }
    let values = values![claimed.webhook, answer.is_refused_for_good(), DISABLED_AFTER];
    let reason = statements.first(FAILED, values)?;
    let Some(Some(reason)) = reason else { return Ok(None) };
    let event = AuditEvent::of_object(Action::WebhookDisabled, account, claimed.webhook);
    note(statements, &event.with("reason", DisabledReason::as_str(reason)), claimed.now, &Origin::SYSTEM)?;
    Ok(Some(reason))
}

/// Removes at most `count` deliveries that are older than `age`. Returns their number.
pub(super) fn remove(
    statements: &mut dyn Statements,
    age: Duration,
    count: usize,
) -> Result<u64, StorageError> {
    statements.execute(REMOVE, values![age, count])
}
