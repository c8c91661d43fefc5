//! Deliveries to webhooks, stored in the transaction of the change that they report.

use serde_json::json;

use super::prelude::*;
use crate::model::coverage::Coverage;

/// Selects the enabled webhooks of a run's account, and locks them against their deletion.
const OF_RUN: &str = "SELECT w.id, w.events FROM webhooks w JOIN runs r ON r.account = w.account \
     WHERE r.id = ?1 AND w.disabled IS NULL ORDER BY w.id /*pg FOR KEY SHARE OF w */";
/// Selects the enabled webhooks of an account, and locks them against their deletion.
const OF_ACCOUNT: &str = "SELECT id, events FROM webhooks WHERE account = ?1 AND disabled IS NULL \
     ORDER BY id /*pg FOR KEY SHARE */";
const ENDED: &str =
    "SELECT status, completed_at, total_results, coverage, credits_charged, error FROM runs WHERE id = ?1";
/// Selects the enabled webhooks that a watch may report to, and locks them against their deletion.
const OF_WATCH: &str = "SELECT k.id, k.events, w.webhook IS NOT NULL, w.notify_on, {now} \
     FROM webhooks k JOIN watches w ON w.account = k.account \
     WHERE w.id = ?1 AND k.disabled IS NULL AND (w.webhook IS NULL OR w.webhook = k.id) ORDER BY k.id \
     /*pg FOR KEY SHARE OF k */";
/// Adds a delivery that is due now.
const INSERT: &str = "INSERT INTO webhook_deliveries (id, webhook, event, body, created_at, status, due_at) \
     VALUES (?1, ?2, ?3, ?4, {now}, 'pending', now())";
/// Locks a webhook of an account against its deletion.
const LOCK: &str = "SELECT 1 FROM webhooks WHERE id = ?1 AND account = ?2 /*pg FOR KEY SHARE */";

/// Reports the end of a run to the webhooks of its account. This is called in the transaction that ends the run, after
/// its refund.
pub(super) fn report_end(tx: &mut Tx<'_>, run: RunId) -> Result<()> {
    let webhooks: Vec<(WebhookId, Vec<EventType>)> = tx.all(OF_RUN, values![run])?;
    if webhooks.is_empty() {
        return Ok(());
    }
    type Ended = (Status, Timestamp, u64, String, u64, Option<RunError>);
    let found = tx.first::<Ended>(ENDED, values![run])?;
    let Some((status, at, total_results, coverage, credits_charged, error)) = found else { return Ok(()) };
    let Some(kind) = EventType::of_run(status) else { return Ok(()) };
    // A run may be ended because its documents cannot be read.
    let coverage: Coverage = decode(&coverage).unwrap_or_default();
    let mut data = json!({
        "run_id": run,
        "total_results": total_results,
        "modules_checked": coverage.checked,
        "modules_conclusive": coverage.conclusive,
        "credits_charged": credits_charged,
    });
    if let Some(error) = error {
        data["error"] = error.code.into();
    }
    let event = Event::new(kind, at, data);
    let mut wanting = webhooks.iter().filter(|(_, events)| events.contains(&kind));
    wanting.try_for_each(|(webhook, _)| add(tx, *webhook, &event).map(drop))
}

/// Reports changes that a watch has found to its webhook, or to all webhooks that have subscribed. This is called in the
/// transaction that stores the changes.
pub(super) fn report_watch(
    tx: &mut Tx<'_>,
    watch: WatchId,
    run: RunId,
    changes: &[FoundChange],
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let count = |kind| changes.iter().filter(|change| change.kind == kind).count();
    type Wanting = (WebhookId, Vec<EventType>, bool, Vec<ChangeKind>, Timestamp);
    for (webhook, events, is_named, kinds, now) in tx.all::<Wanting>(OF_WATCH, values![watch])? {
        let is_wanted = is_named || events.contains(&EventType::WatchChanged);
        if !is_wanted || !changes.iter().any(|change| kinds.contains(&change.kind)) {
            continue;
        }
        let [added, removed, changed] = ChangeKind::ALL.map(count);
        let data = json!({ "watch_id": watch, "run_id": run, "added": added, "removed": removed, "changed": changed });
        add(tx, webhook, &Event::new(EventType::WatchChanged, now, data))?;
    }
    Ok(())
}

/// Reports the end of a batch to the webhooks of its account. This is called in the transaction that ends the batch.
pub(super) fn report_end_of_batch(tx: &mut Tx<'_>, batch: &Batch) -> Result<()> {
    let Some(ended_at) = batch.ended_at else { return Ok(()) };
    let data = json!({
        "batch_id": batch.id,
        "status": batch.status(),
        "total": batch.counts.total(),
        "counts": batch.counts,
    });
    let event = Event::new(EventType::BatchCompleted, ended_at, data);
    for (webhook, events) in tx.all::<(_, Vec<EventType>)>(OF_ACCOUNT, values![batch.account])? {
        if events.contains(&EventType::BatchCompleted) {
            add(tx, webhook, &event)?;
        }
    }
    Ok(())
}

/// Adds a delivery to a webhook of an account. Returns `None` if there is no such webhook.
pub(super) fn add_delivery(
    tx: &mut Tx<'_>,
    account: AccountId,
    webhook: WebhookId,
    event: &Event,
) -> Result<Option<DeliveryId>> {
    if !tx.has(LOCK, values![webhook, account])? {
        return Ok(None);
    }
    add(tx, webhook, event).map(Some)
}

fn add(tx: &mut Tx<'_>, webhook: WebhookId, event: &Event) -> Result<DeliveryId> {
    let id = DeliveryId::new();
    tx.execute(INSERT, values![id, webhook, event.name, event.body()])?;
    Ok(id)
}
