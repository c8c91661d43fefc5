//! Events, as webhooks get them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::base::clock::rfc3339_millis;
use crate::base::ids::{RunId, WatchId, WebhookId};
use crate::base::words::words;
use crate::model::batch::Batch;
use crate::model::coverage::Coverage;
use crate::model::run::Status;

words! {
    /// The type of an event to which a webhook can subscribe.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
    #[schema(as = WebhookEventType)]
    pub enum EventType {
        /// All modules of a search have ended.
        #[serde(rename = "run.completed")]
        RunCompleted = "run.completed",
        /// A search could not continue. Its credits were refunded.
        #[serde(rename = "run.failed")]
        RunFailed = "run.failed",
        /// A watch has found changes.
        #[serde(rename = "watch.changed")]
        WatchChanged = "watch.changed",
        /// All searches of a batch have ended, or those that had begun when it was stopped.
        #[serde(rename = "batch.completed")]
        BatchCompleted = "batch.completed",
    }
}

/// The type of a message with which the owner of a webhook tests it. No webhook subscribes to it.
const TEST: &str = "webhook.test";

impl EventType {
    /// Returns the event of a run that has ended with that status. Returns `None` for a run that has not ended.
    pub fn of_run(status: Status) -> Option<Self> {
        match status {
            Status::Running => None,
            Status::Completed => Some(Self::RunCompleted),
            Status::Failed => Some(Self::RunFailed),
        }
    }
}

/// An event, with the facts that its body carries: ids and counts, never a query or a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The name of its type, such as `run.completed`.
    pub name: &'static str,
    /// The time of the event.
    pub at: Timestamp,
    data: Value,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnded {
    /// The id of the run.
    pub run: RunId,
    /// The number of its results.
    pub total_results: u64,
    /// The number of its modules by outcome.
    pub coverage: Coverage,
    /// The credits that it cost, after a refund.
    pub credits_charged: u64,
    /// The code of its error, if it failed.
    pub error: Option<String>,
}

/// The changes that a watch has found in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchFound {
    /// The id of the watch.
    pub watch: WatchId,
    /// The id of the run.
    pub run: RunId,
    /// The number of results that were not there before.
    pub added: usize,
    /// The number of results that are no longer there.
    pub removed: usize,
    /// The number of results whose data differs.
    pub changed: usize,
}

impl Event {
    /// Creates the event of a run that has ended.
    pub fn run_ended(kind: EventType, at: Timestamp, ended: &RunEnded) -> Self {
        let RunEnded { run, total_results, coverage, credits_charged, error } = ended;
        let mut data = json!({
            "run_id": run,
            "total_results": total_results,
            "modules_checked": coverage.checked(),
            "modules_conclusive": coverage.conclusive(),
            "credits_charged": credits_charged,
        });
        if let Some(code) = error {
            data["error"] = code.as_str().into();
        }
        Self { name: kind.as_str(), at, data }
    }

    /// Creates the event of a watch that has found changes.
    pub fn watch_changed(at: Timestamp, found: &WatchFound) -> Self {
        let WatchFound { watch, run, added, removed, changed } = found;
        let data = json!({ "watch_id": watch, "run_id": run, "added": added, "removed": removed, "changed": changed });
        Self { name: EventType::WatchChanged.as_str(), at, data }
    }

    /// Creates the event of a batch that has ended.
    pub fn batch_ended(batch: &Batch, at: Timestamp) -> Self {
        let data = json!({
            "batch_id": batch.id,
            "status": batch.status(),
            "total": batch.counts.total(),
            "counts": batch.counts,
        });
        Self { name: EventType::BatchCompleted.as_str(), at, data }
    }

    /// Creates the event of a test.
    pub fn test(webhook: WebhookId, at: Timestamp) -> Self {
        Self { name: TEST, at, data: json!({ "webhook_id": webhook }) }
    }

    /// Returns the body that receivers get: a JSON object with `type`, `timestamp` and `data`.
    pub fn body(&self) -> String {
        json!({ "type": self.name, "timestamp": rfc3339_millis(self.at), "data": self.data }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_serialized_form() {
        for event in EventType::ALL {
            assert_eq!(serde_json::to_value(event).unwrap(), event.as_str());
            assert_eq!(EventType::from_name(event.as_str()), Some(event));
        }
        assert_eq!(EventType::from_name(TEST), None);
    }
}
