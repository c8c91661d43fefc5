//! A delivery, the outcome of an attempt, and the times of further attempts.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::secret::SealedSecret;
use crate::base::ids::{DeliveryId, WebhookId};
use crate::base::words::words;

/// The pauses after failed attempts. After the attempt that follows the last pause, the delivery has failed.
const PAUSES: [Duration; 9] = [
    Duration::from_secs(5),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 3600),
    Duration::from_secs(5 * 3600),
    Duration::from_secs(10 * 3600),
    Duration::from_secs(14 * 3600),
    Duration::from_secs(20 * 3600),
    Duration::from_secs(24 * 3600),
];
/// The largest share of a pause by which it is longer, so that deliveries that failed together are not repeated
/// together.
const JITTER: f64 = 0.2;

/// The time after which a webhook whose attempts have all failed is disabled.
pub const DISABLED_AFTER: Duration = Duration::from_secs(5 * 24 * 3600);
/// The duration of an attempt from which the receiver is slow. Slow receivers share a part of the workers, so that they
/// delay no others.
pub const SLOW: Duration = Duration::from_secs(1);
/// The time for which deliveries are kept.
pub const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
/// The most bytes of the head of an answer that are kept.
pub const MOST_HEAD_BYTES: usize = 2048;

words! {
    /// The state of a delivery.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = DeliveryStatus)]
    pub enum DeliveryStatus {
        /// It is being sent, or waits for its next attempt.
        Pending = "pending",
        /// The receiver has answered with a status from 200 to 299.
        Delivered = "delivered",
        /// All attempts have failed. It can be replayed.
        Failed = "failed",
    }
}

/// A delivery as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The id of the delivery, which is also the `webhook-id` of its message.
    pub id: DeliveryId,
    /// The name of the event's type, such as `run.completed`.
    pub event: String,
    /// The state.
    pub status: DeliveryStatus,
    /// The time of the event's report.
    pub created_at: Timestamp,
    /// The number of attempts so far, counted anew after a replay.
    pub attempts: u32,
    /// The time of the next attempt, if there will be one.
    pub next_attempt_at: Option<Timestamp>,
    /// The last attempt, if there was one.
    pub last: Option<LastAttempt>,
}

/// The last attempt of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastAttempt {
    /// The time at which it ended.
    pub at: Timestamp,
    /// The answer, or why there was none.
    pub answer: Answer,
}

/// The answer of a receiver, or the reason why there was none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status, if the receiver has answered.
    pub http_status: Option<u16>,
    /// A machine-readable word for the reason why there was no answer.
    pub error: Option<String>,
    /// The time from the begin of the attempt to its end.
    pub latency: Duration,
    /// The beginning of the answer's head: a header in each line. At most [`MOST_HEAD_BYTES`] bytes.
    pub head: Option<String>,
}

/// A delivery that an instance may send now, and nobody else.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The id of the delivery.
    pub id: DeliveryId,
    /// The number of the claim. A record of the attempt is refused if the delivery was claimed again.
    pub epoch: u64,
    /// The webhook.
    pub webhook: WebhookId,
    /// The address of the receiver.
    pub url: String,
    /// The body of the message.
    pub body: String,
    /// The number of earlier attempts.
    pub attempts: u32,
    /// The secrets with which the message is signed: the current one, then the earlier one if it is still valid.
    pub secrets: Vec<SealedSecret>,
    /// The time of the claim by the database's clock.
    pub now: Timestamp,
}

/// A delivery that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The id of the delivery.
    pub id: DeliveryId,
    /// The webhook.
    pub webhook: WebhookId,
    /// Whether the last attempt of the webhook has failed or took longer than [`SLOW`].
    pub is_slow: bool,
}

/// The consequence of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// The message was delivered.
    Delivered,
    /// The attempt failed. The next one is made after this pause.
    Retry(Duration),
    /// The attempt failed, and it was the last one.
    Failed,
    /// The receiver wants no more messages (410). The webhook is disabled.
    Gone,
}

impl Consequence {
    /// Returns the consequence of an answer to the attempt after `attempts` earlier ones. `random` is a number from 0
    /// to 1.
    pub fn of(answer: &Answer, attempts: u32, random: f64) -> Self {
        match answer.http_status {
            Some(200..=299) => Self::Delivered,
            Some(410) => Self::Gone,
            _ => match PAUSES.get(attempts as usize) {
                Some(pause) => Self::Retry(pause.mul_f64(1.0 + JITTER * random.clamp(0.0, 1.0))),
                None => Self::Failed,
            },
        }
    }

    /// Returns the state of the delivery after the attempt.
    pub fn status(self) -> DeliveryStatus {
        match self {
            Self::Delivered => DeliveryStatus::Delivered,
            Self::Retry(_) => DeliveryStatus::Pending,
            Self::Failed | Self::Gone => DeliveryStatus::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(http_status: Option<u16>) -> Answer {
        Answer { http_status, error: None, latency: Duration::ZERO, head: None }
    }

    #[test]
    fn only_2xx_is_a_delivery_and_410_ends_all() {
        for (status, want) in
            [(200, Consequence::Delivered), (299, Consequence::Delivered), (410, Consequence::Gone)]
        {
            assert_eq!(Consequence::of(&answer(Some(status)), 0, 0.0), want);
        }
        for status in [None, Some(199), Some(301), Some(400), Some(404), Some(500)] {
            assert_eq!(Consequence::of(&answer(status), 0, 0.0), Consequence::Retry(PAUSES[0]), "{status:?}");
        }
    }

    #[test]
    fn ten_attempts_are_made_over_three_days() {
        let pause = |attempts, random| match Consequence::of(&answer(Some(500)), attempts, random) {
            Consequence::Retry(pause) => Some(pause.as_secs()),
            _ => None,
        };
        let pauses: Vec<u64> = (0..).map_while(|attempts| pause(attempts, 0.0)).collect();
        assert_eq!(pauses, [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]);
        assert_eq!(pause(1, 1.0), Some(360));
        assert_eq!(Consequence::of(&answer(None), 9, 0.0), Consequence::Failed);
    }
}
