//! A webhook: its address, its events and its state.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;
use url::Url;
use utoipa::ToSchema;

use super::event::EventType;
use crate::base::ids::{AccountId, WebhookId};
use crate::base::words::words;

/// The most webhooks of an account.
pub const MOST_WEBHOOKS: usize = 10;
/// The longest address of a receiver, in bytes.
pub const MOST_URL_BYTES: usize = 2048;

/// A webhook, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The id of the webhook.
    pub id: WebhookId,
    /// The account whose events are sent.
    pub account: AccountId,
    /// The address of the receiver.
    pub url: String,
    /// The events that are sent, sorted, each once. There is at least one.
    pub events: Vec<EventType>,
    /// The reason why nothing is sent, or `None` if the webhook is enabled.
    pub disabled: Option<DisabledReason>,
    /// The time of the first of the attempts that have failed since the last success, or `None` after a success.
    pub failing_since: Option<Timestamp>,
    /// The time until which messages have the signature of the earlier secret, too.
    pub earlier_secret_until: Option<Timestamp>,
    /// The time at which the webhook was created.
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

/// The changes of a webhook by its owner. `None` leaves a part as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebhookChange {
    /// The new address.
    pub url: Option<WebhookUrl>,
    /// The new events, sorted, each once.
    pub events: Option<Vec<EventType>>,
    /// Whether the webhook is enabled from now on.
    pub enabled: Option<bool>,
}

impl WebhookChange {
    /// Returns the names of the parts that change, separated by commas.
    pub fn parts(&self) -> String {
        let parts = [
            ("url", self.url.is_some()),
            ("events", self.events.is_some()),
            ("enabled", self.enabled.is_some()),
        ];
        let names: Vec<&str> = parts.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect();
        names.join(",")
    }
}

/// The address of a receiver: absolute, without a user name, a password or a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookUrl(String);

/// An address that is not allowed. Its text says what is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidUrl {
    allows_http: bool,
}

impl WebhookUrl {
    /// Parses an address. `allows_http` also allows addresses without TLS, for labs. Whether the host is one that
    /// requests may reach is decided at each attempt, because a name can lead to another address later.
    ///
    /// # Errors
    /// Fails if the address is not allowed.
    pub fn parse(text: &str, allows_http: bool) -> Result<Self, InvalidUrl> {
        let url = Url::parse(text.trim()).ok().filter(|url| {
            (url.scheme() == "https" || (allows_http && url.scheme() == "http"))
                && url.has_host()
                && url.username().is_empty()
                && url.password().is_none()
                && url.fragment().is_none()
                && url.as_str().len() <= MOST_URL_BYTES
        });
        url.map(|url| Self(url.into())).ok_or(InvalidUrl { allows_http })
    }

    /// Returns the text of the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InvalidUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemes = if self.allows_http { "an https:// or http:// address" } else { "an https:// address" };
        write!(
            f,
            "{schemes} of at most {MOST_URL_BYTES} bytes is allowed, without a user name, a password and a fragment"
        )
    }
}

impl std::error::Error for InvalidUrl {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_must_be_encrypted_and_without_credentials() {
        for (text, is_allowed, in_a_lab) in [
            ("https://hooks.example.com/in?x=1", true, true),
            (" https://[2606:4700::1]:8443/ ", true, true),
            ("http://hooks.example.com/", false, true),
            ("https://user@hooks.example.com/", false, false),
            ("https://:pass@hooks.example.com/", false, false),
            ("https://hooks.example.com/#part", false, false),
            ("ftp://hooks.example.com/", false, false),
            ("file:///etc/passwd", false, false),
            ("hooks.example.com", false, false),
            ("https://", false, false),
            ("", false, false),
            (&format!("https://hooks.example.com/{}", "x".repeat(MOST_URL_BYTES)), false, false),
        ] {
            assert_eq!(WebhookUrl::parse(text, false).is_ok(), is_allowed, "{text}");
            assert_eq!(WebhookUrl::parse(text, true).is_ok(), in_a_lab, "{text}");
        }
    }
}
