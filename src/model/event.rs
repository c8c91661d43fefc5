//! Events, as webhooks get them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::base::clock::rfc3339_millis;
use crate::base::ids::WebhookId;
use crate::base::words::words;
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

impl Event {
    /// Creates an event of that type.
    pub fn new(kind: EventType, at: Timestamp, data: Value) -> Self {
        Self { name: kind.as_str(), at, data }
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
