//! The use cases of the owners of webhooks.

use std::sync::Arc;
use std::time::Duration;

use super::secret::{SealingKey, SigningSecret};
use crate::base::clock::Clock;
use crate::base::ids::{AccountId, DeliveryId, WebhookId};
use crate::model::audit::Origin;
use crate::model::event::{Event, EventType};
use crate::model::refusal::{Code, Refusal, in_order};
use crate::model::webhook::{Delivery, Webhook, WebhookChange, receiver_url};
use crate::store::Store;

/// The time for which the earlier secret stays valid after a rotation.
pub const SECRET_OVERLAP: Duration = Duration::from_secs(24 * 3600);

/// The webhooks of all accounts. There is one value for each process.
pub struct Webhooks {
    store: Arc<Store>,
    key: Option<Arc<SealingKey>>,
    clock: Arc<dyn Clock>,
    allows_http: bool,
}

impl Webhooks {
    /// Creates the use cases. Without a key, no webhook can be created. `allows_http` allows receivers without TLS,
    /// for labs.
    pub fn new(
        store: Arc<Store>,
        key: Option<Arc<SealingKey>>,
        clock: Arc<dyn Clock>,
        allows_http: bool,
    ) -> Self {
        Self { store, key, clock, allows_http }
    }

    /// Creates a webhook. Only the caller of this function gets the secret itself.
    ///
    /// # Errors
    /// Returns the refusal of an address or of events that are not allowed, of a server without a key, and of one webhook too
    /// many.
    pub fn create(
        &self,
        account: AccountId,
        url: &str,
        events: Vec<EventType>,
        by: &Origin,
    ) -> Result<(Webhook, SigningSecret), Refusal> {
        let webhook = Webhook {
            id: WebhookId::new(),
            account,
            url: receiver_url(url, self.allows_http)?,
            events: in_order("events", events, &EventType::ALL.map(EventType::as_str))?,
            enabled: true,
            disabled_reason: None,
            failing_since: None,
            previous_secret_expires_at: None,
            created_at: self.clock.now(),
        };
        let secret = SigningSecret::generate();
        let sealed = self.key()?.seal(webhook.id, &secret);
        self.store.add_webhook(&webhook, &sealed, by)?;
        Ok((webhook, secret))
    }

    /// Returns the key, or the refusal of a server without one.
    fn key(&self) -> Result<&SealingKey, Refusal> {
        self.key.as_deref().ok_or_else(|| {
            let message =
                "webhooks are not set up on this server: its operator has to name a key file (--secret-key-file)";
            Refusal::new(Code::WebhooksUnavailable, message).retry_after(3600)
        })
    }

    /// Returns a webhook of an account.
    ///
    /// # Errors
    /// Returns the refusal of an unknown webhook.
    pub fn find(&self, account: AccountId, id: WebhookId) -> Result<Webhook, Refusal> {
        let found = self.store.webhooks(account)?.into_iter().find(|webhook| webhook.id == id);
        found.ok_or_else(unknown)
    }

    /// Changes a webhook.
    ///
    /// # Errors
    /// Returns the refusal of an unknown webhook, and of an address or events that are not allowed.
    pub fn change(
        &self,
        account: AccountId,
        id: WebhookId,
        mut change: WebhookChange,
        by: &Origin,
    ) -> Result<Webhook, Refusal> {
        change.url = change.url.map(|url| receiver_url(&url, self.allows_http)).transpose()?;
        let events = |events| in_order("events", events, &EventType::ALL.map(EventType::as_str));
        change.events = change.events.map(events).transpose()?;
        self.store.change_webhook(account, id, &change, by)?.ok_or_else(unknown)
    }

    /// Replaces the secret of a webhook. Messages are signed with both secrets for [`SECRET_OVERLAP`]. Only the caller
    /// of this function gets the new secret.
    ///
    /// # Errors
    /// Returns the refusal of an unknown webhook, and of a server without a key.
    pub fn rotate(
        &self,
        account: AccountId,
        id: WebhookId,
        by: &Origin,
    ) -> Result<(Webhook, SigningSecret), Refusal> {
        let secret = SigningSecret::generate();
        let sealed = self.key()?.seal(id, &secret);
        let webhook = self.store.rotate_secret(account, id, &sealed, SECRET_OVERLAP, by)?;
        Ok((webhook.ok_or_else(unknown)?, secret))
    }

    /// Sends a message of the type `webhook.test`, whatever events the webhook has. Returns its delivery, which is
    /// pending.
    ///
    /// # Errors
    /// Returns the refusal of an unknown or disabled webhook.
    pub fn test(&self, account: AccountId, id: WebhookId) -> Result<Delivery, Refusal> {
        self.require_enabled(account, id)?;
        let event = Event::test(id, self.clock.now());
        self.store.add_delivery(account, id, &event)?.ok_or_else(unknown)
    }

    /// Sends the message of a delivery again, now and with all attempts of a new one. Its id stays the same.
    ///
    /// # Errors
    /// Returns the refusal of an unknown or disabled webhook, and of an unknown delivery.
    pub fn replay(
        &self,
        account: AccountId,
        webhook: WebhookId,
        id: DeliveryId,
    ) -> Result<Delivery, Refusal> {
        self.require_enabled(account, webhook)?;
        self.store.replay(account, webhook, id)?.ok_or_else(|| Refusal::no_such("delivery"))
    }

    fn require_enabled(&self, account: AccountId, id: WebhookId) -> Result<(), Refusal> {
        match self.find(account, id)?.enabled {
            true => Ok(()),
            false => Err(Refusal::new(Code::Conflict, "the webhook is disabled: enable it first")),
        }
    }
}

fn unknown() -> Refusal {
    Refusal::no_such("webhook")
}
