//! Webhooks, and the deliveries to them.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::ToSchema;

use crate::base::clock::millis;
use crate::base::ids::{AccountId, DeliveryId, WebhookId};
use crate::base::words::words;
use crate::model::event::EventType;
use crate::model::refusal::Refusal;

/// The most webhooks of an account.
pub const MOST_WEBHOOKS: usize = 10;

/// The longest address of a receiver, in bytes.
pub const MOST_URL_BYTES: usize = 2048;

/// A webhook.
// It has no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Webhook {
    /// Identifies the webhook.
    pub id: WebhookId,
    /// The account whose events are sent.
    #[serde(skip)]
    pub account: AccountId,
    /// Address of the receiver.
    #[schema(max_length = 2048, examples("https://hooks.example.com/sightline"))]
    pub url: String,
    /// Events that are sent.
    // Sorted, each once.
    #[schema(min_items = 1)]
    pub events: Vec<EventType>,
    /// Whether events are sent.
    pub enabled: bool,
    /// Reason why the webhook is disabled; null if it is enabled.
    pub disabled_reason: Option<DisabledReason>,
    /// Time of the first failed attempt since the last success: RFC 3339, UTC, milliseconds; null after a success. Five
    /// days later the webhook is disabled.
    #[serde(serialize_with = "millis")]
    pub failing_since: Option<Timestamp>,
    /// Time until which messages are signed with the earlier secret, too: RFC 3339, UTC, milliseconds; null if there is
    /// none.
    #[serde(serialize_with = "millis")]
    pub previous_secret_expires_at: Option<Timestamp>,
    /// Time at which the webhook was created: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub created_at: Timestamp,
}

words! {
    /// The reason why a webhook is disabled.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = WebhookDisabledReason)]
    pub enum DisabledReason {
        /// The owner has disabled it.
        Owner = "owner",
        /// The receiver has answered with the status 410.
        Gone = "gone",
        /// Every attempt of five days has failed.
        Failing = "failing",
    }
}

/// The changes of a webhook. What is not given stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = WebhookChangeBody)]
pub struct WebhookChange {
    /// New address of the receiver.
    #[schema(max_length = 2048, examples("https://hooks.example.com/sightline"))]
    pub url: Option<String>,
    /// New events.
    // Sorted, each once.
    #[schema(min_items = 1)]
    pub events: Option<Vec<EventType>>,
    /// Whether events are sent. Enabling a webhook that was disabled also sends its deliveries that are pending.
    pub enabled: Option<bool>,
}

/// Parses the address of a receiver: absolute, without a user name, a password or a fragment. `allows_http` also allows
/// addresses without TLS, for labs. Whether the host is one that requests may reach is decided at each attempt, because a
/// name can lead to another address later.
///
/// # Errors
/// Returns the refusal of an address that is not allowed.
pub fn receiver_url(text: &str, allows_http: bool) -> Result<String, Refusal> {
    let url = Url::parse(text.trim()).ok().filter(|url| {
        (url.scheme() == "https" || (allows_http && url.scheme() == "http"))
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
            && url.as_str().len() <= MOST_URL_BYTES
    });
    url.map(String::from).ok_or_else(|| {
        let schemes = if allows_http { "https:// or http://" } else { "https://" };
        let allowed = format!(
            "an {schemes} address of at most {MOST_URL_BYTES} bytes, without a user name, a password and a fragment"
        );
        Refusal::invalid_request("url", format!("url must be {allowed}"), allowed)
    })
}

/// The pauses after failed attempts in seconds: from 5 seconds to a day. After the attempt that follows the last pause,
/// the delivery has failed.
const PAUSES: [u64; 9] = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];

/// The largest share of a pause by which it is longer, so that deliveries that failed together are not repeated
/// together.
const JITTER: f64 = 0.2;

/// The time after which a webhook whose attempts have all failed is disabled.
pub const DISABLED_AFTER: Duration = Duration::from_secs(5 * 24 * 3600);

/// The time for which deliveries are kept.
pub const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// The most bytes of the head of an answer that are kept.
pub const MOST_HEAD_BYTES: usize = 2048;

words! {
    /// The state of a delivery.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum DeliveryStatus {
        /// It is being sent, or waits for its next attempt.
        Pending = "pending",
        /// The receiver has answered with a status from 200 to 299.
        Delivered = "delivered",
        /// All attempts have failed. It can be replayed.
        Failed = "failed",
    }
}

/// A delivery to a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Delivery {
    /// Identifies the delivery. The receiver gets it as `webhook-id`, the same at each attempt.
    pub id: DeliveryId,
    /// Type of the message: an event, or `webhook.test`.
    #[serde(rename = "type")]
    #[schema(pattern = "^[a-z_]+(\\.[a-z_]+)*$", examples("run.completed"))]
    pub event: String,
    /// State of the delivery.
    pub status: DeliveryStatus,
    /// Number of attempts, counted anew after a replay.
    pub attempts: u32,
    /// Time at which the event was reported: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub created_at: Timestamp,
    /// Time of the next attempt: RFC 3339, UTC, milliseconds; null if there will be none.
    #[serde(serialize_with = "millis")]
    pub next_attempt_at: Option<Timestamp>,
    /// The last attempt; null before the first one has ended.
    pub last_attempt: Option<Attempt>,
}

/// An attempt to deliver a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = DeliveryAttempt)]
pub struct Attempt {
    /// Time at which the attempt ended: RFC 3339, UTC, milliseconds.
    // The store dates it when it records the attempt.
    #[serde(serialize_with = "millis")]
    pub at: Timestamp,
    /// HTTP status of the answer; null if there was none.
    #[schema(minimum = 100, maximum = 999)]
    pub http_status: Option<u16>,
    /// Machine-readable reason why there was no answer, such as `dns`, `tls` or `timeout_first_byte`; null if there was
    /// one.
    #[schema(pattern = "^[a-z_]+$", examples("dns"))]
    pub error: Option<String>,
    /// Milliseconds from the begin of the attempt to the head of the answer.
    pub latency_ms: u64,
    /// Beginning of the head of the answer, a header in each line, at most 2 KiB; null if there was no answer.
    #[schema(examples("HTTP 200\ncontent-length: 0"))]
    pub response_head: Option<String>,
}

impl Attempt {
    /// Returns whether the receiver has the message.
    pub fn is_delivered(&self) -> bool {
        matches!(self.http_status, Some(200..=299))
    }

    /// Returns whether the receiver wants no more messages (410). The webhook is disabled then.
    pub fn is_refused_for_good(&self) -> bool {
        self.http_status == Some(410)
    }

    /// Returns the time until the next attempt after this one and `earlier` others. Returns `None` if there is none.
    /// `random` is a number from 0 to 1.
    pub fn next_pause(&self, earlier: u32, random: f64) -> Option<Duration> {
        let pause =
            PAUSES.get(earlier as usize).filter(|_| !self.is_delivered() && !self.is_refused_for_good());
        pause.map(|secs| Duration::from_secs(*secs).mul_f64(1.0 + JITTER * random.clamp(0.0, 1.0)))
    }
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
    /// The secret with which the message is signed.
    pub secret: SealedSecret,
    /// The earlier secret, with which it is signed as well, if that is still valid.
    pub earlier_secret: Option<SealedSecret>,
    /// The time of the claim by the database's clock.
    pub now: Timestamp,
}

/// The size of a signing secret and of the key that encrypts secrets, in bytes.
pub const SECRET_BYTES: usize = 32;

/// The size of the nonce that an encrypted secret begins with, in bytes.
pub const NONCE_BYTES: usize = 12;

const TAG_BYTES: usize = 16;

/// The size of an encrypted secret: a nonce, the secret and a tag.
pub const SEALED_BYTES: usize = NONCE_BYTES + SECRET_BYTES + TAG_BYTES;

/// A signing secret as the store keeps it: encrypted for one webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSecret(pub [u8; SEALED_BYTES]);

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(http_status: Option<u16>) -> Attempt {
        Attempt { at: Timestamp::UNIX_EPOCH, http_status, error: None, latency_ms: 0, response_head: None }
    }

    #[test]
    fn only_2xx_is_a_delivery_and_410_ends_all() {
        for status in [200, 299, 410] {
            assert_eq!(answer(Some(status)).next_pause(0, 0.0), None, "{status}");
        }
        for status in [None, Some(199), Some(301), Some(400), Some(404), Some(500)] {
            assert_eq!(answer(status).next_pause(0, 0.0), Some(Duration::from_secs(5)), "{status:?}");
        }
    }

    #[test]
    fn ten_attempts_are_made_over_three_days() {
        let pause = |earlier, random| Some(answer(Some(500)).next_pause(earlier, random)?.as_secs());
        let pauses: Vec<u64> = (0..).map_while(|attempts| pause(attempts, 0.0)).collect();
        assert_eq!(pauses, [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]);
        assert_eq!(pause(1, 1.0), Some(360));
    }
}
