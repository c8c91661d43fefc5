//! Deliveries to webhooks, stored in the transaction of the change that they report.

use serde_json::json;

use super::*;
use crate::model::coverage::Coverage;

/// Selects the enabled webhooks of an account, and locks them against their deletion.
const OF_ACCOUNT: &str = "SELECT id, events FROM webhooks WHERE account = ?1 AND disabled IS NULL \
     ORDER BY id /*pg FOR KEY SHARE */";
/// Selects the enabled webhooks of the account of a run, with what they report of it, and locks them.
const OF_RUN: &str = "SELECT {row} FROM runs r JOIN webhooks k ON k.account = r.account \
     WHERE r.id = ?1 AND k.disabled IS NULL ORDER BY k.id /*pg FOR KEY SHARE OF k */";
/// Selects the enabled webhooks that a watch may report to, and locks them against their deletion.
const OF_WATCH: &str = "SELECT {row} FROM webhooks k JOIN watches w ON w.account = k.account \
     WHERE w.id = ?1 AND k.disabled IS NULL AND (w.webhook IS NULL OR w.webhook = k.id) ORDER BY k.id \
     /*pg FOR KEY SHARE OF k */";
/// Adds a delivery that is due now.
const INSERT: &str = "INSERT INTO webhook_deliveries (id, webhook, event, body, created_at, status, due_at) \
     VALUES (?1, ?2, ?3, ?4, {now}, 'pending', now()) RETURNING {row}";

row! {
    struct Ended from "r." {
        webhook: WebhookId = "k.id", events: Vec<EventType> = "k.events", status: Status, completed_at: Timestamp,
        total_results: u64, coverage: Result<Coverage>, credits_charged: u64, error: Option<RunError>
    }
}
row! {
    struct Changed from "w." {
        webhook: WebhookId = "k.id", events: Vec<EventType> = "k.events", is_named: bool = "w.webhook IS NOT NULL",
        notify_on: Vec<ChangeKind>, now: Timestamp = "{now}"
    }
}

/// Reports the end of a run to the webhooks of its account. This is called in the transaction that ends the run, after
/// its refund.
pub(super) fn report_end(tx: &mut Tx, run: RunId) -> Result<()> {
    for ended in tx.all::<Ended>(OF_RUN, values![run])? {
        let kind = EventType::of_run(ended.status).filter(|kind| ended.events.contains(kind));
        let Some(kind) = kind else { continue };
        // A run may be ended because its documents cannot be read.
        let coverage = ended.coverage.unwrap_or_default();
        let mut data = json!({
            "run_id": run,
            "total_results": ended.total_results,
            "modules_checked": coverage.checked,
            "modules_conclusive": coverage.conclusive,
            "credits_charged": ended.credits_charged,
        });
        if let Some(error) = ended.error {
            data["error"] = error.code.into();
        }
        add_delivery(tx, ended.webhook, &Event::new(kind, ended.completed_at, data))?;
    }
    Ok(())
}

/// Reports changes that a watch has found to its webhook, or to all webhooks that have subscribed. This is called in the
/// transaction that stores the changes.
pub(super) fn report_watch(tx: &mut Tx, watch: WatchId, run: RunId, changes: &[FoundChange]) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let count = |kind| changes.iter().filter(|change| change.kind == kind).count();
    let [added, removed, changed] = ChangeKind::ALL.map(count);
    let data =
        json!({ "watch_id": watch, "run_id": run, "added": added, "removed": removed, "changed": changed });
    for to in tx.all::<Changed>(OF_WATCH, values![watch])? {
        let is_wanted = to.is_named || to.events.contains(&EventType::WatchChanged);
        if is_wanted && changes.iter().any(|change| to.notify_on.contains(&change.kind)) {
            add_delivery(tx, to.webhook, &Event::new(EventType::WatchChanged, to.now, data.clone()))?;
        }
    }
    Ok(())
}

/// Reports the end of a batch to the webhooks of its account. This is called in the transaction that ends the batch.
pub(super) fn report_end_of_batch(tx: &mut Tx, batch: &Batch) -> Result<()> {
    let Some(ended_at) = batch.ended_at else { return Ok(()) };
    let data = json!({
        "batch_id": batch.id,
        "status": batch.status,
        "total": batch.total,
        "counts": batch.counts,
    });
    let event = Event::new(EventType::BatchCompleted, ended_at, data);
    for (webhook, events) in tx.all::<(_, Vec<EventType>)>(OF_ACCOUNT, values![batch.account])? {
        if events.contains(&EventType::BatchCompleted) {
            add_delivery(tx, webhook, &event)?;
        }
    }
    Ok(())
}

/// Adds a delivery to a webhook that is locked.
pub(super) fn add_delivery(tx: &mut Tx, webhook: WebhookId, event: &Event) -> Result<Delivery> {
    tx.one(INSERT, values![DeliveryId::new(), webhook, event.name, event.body()])
}
