//! The use cases of the owners of webhooks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::secret::{SealingKey, SigningSecret};
use crate::base::clock::Clock;
use crate::base::ids::{AccountId, DeliveryId, WebhookId};
use crate::model::audit::Origin;
use crate::model::event::{Event, EventType};
use crate::model::webhook::{Delivery, Webhook, WebhookError, receiver_url};
use crate::store::Store;

/// The time for which the earlier secret stays valid after a rotation.
pub const SECRET_OVERLAP: Duration = Duration::from_secs(24 * 3600);

/// Returns the names of the events to which a webhook can subscribe.
pub fn event_names() -> [&'static str; EventType::ALL.len()] {
    EventType::ALL.map(EventType::as_str)
}

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

    /// Parses the address of a receiver.
    ///
    /// # Errors
    /// Returns [`WebhookError::InvalidUrl`].
    pub fn url(&self, text: &str) -> Result<String, WebhookError> {
        Ok(receiver_url(text, self.allows_http)?)
    }

    /// Returns the events with these names, sorted, each once.
    ///
    /// # Errors
    /// Returns [`WebhookError::InvalidEvents`] for no name, or for one that is not allowed.
    pub fn events<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<EventType>, WebhookError> {
        let events: Option<BTreeSet<EventType>> = names.into_iter().map(EventType::from_name).collect();
        let events = events.filter(|events| !events.is_empty()).ok_or(WebhookError::InvalidEvents)?;
        Ok(events.into_iter().collect())
    }

    /// Creates a webhook. Only the caller of this function gets the secret itself.
    ///
    /// # Errors
    /// Returns [`WebhookError::NoKey`], [`WebhookError::TooMany`], [`WebhookError::UnknownAccount`], or an error of the
    /// store.
    pub fn create(
        &self,
        account: AccountId,
        url: String,
        events: Vec<EventType>,
        by: &Origin,
    ) -> Result<(Webhook, SigningSecret), WebhookError> {
        let key = self.key.as_ref().ok_or(WebhookError::NoKey)?;
        let webhook = Webhook {
            id: WebhookId::new(),
            account,
            url,
            events,
            enabled: true,
            disabled_reason: None,
            failing_since: None,
            previous_secret_expires_at: None,
            created_at: self.clock.now(),
        };
        let secret = SigningSecret::generate();
        let sealed = key.seal(webhook.id, &secret);
        self.store.add_webhook(&webhook, &sealed, by)?;
        Ok((webhook, secret))
    }

    /// Returns a webhook of an account.
    ///
    /// # Errors
    /// Returns [`WebhookError::UnknownWebhook`], or an error of the store.
    pub fn find(&self, account: AccountId, id: WebhookId) -> Result<Webhook, WebhookError> {
        let found = self.store.webhooks(account)?.into_iter().find(|webhook| webhook.id == id);
        found.ok_or(WebhookError::UnknownWebhook)
    }

    /// Replaces the secret of a webhook. Messages are signed with both secrets for [`SECRET_OVERLAP`]. Only the caller
    /// of this function gets the new secret.
    ///
    /// # Errors
    /// Returns [`WebhookError::NoKey`], [`WebhookError::UnknownWebhook`], or an error of the store.
    pub fn rotate(
        &self,
        account: AccountId,
        id: WebhookId,
        by: &Origin,
    ) -> Result<(Webhook, SigningSecret), WebhookError> {
        let key = self.key.as_ref().ok_or(WebhookError::NoKey)?;
        let secret = SigningSecret::generate();
        let sealed = key.seal(id, &secret);
        let webhook = self.store.rotate_secret(account, id, &sealed, SECRET_OVERLAP, by)?;
        Ok((webhook.ok_or(WebhookError::UnknownWebhook)?, secret))
    }

    /// Sends a message of the type `webhook.test`, whatever events the webhook has. Returns its delivery, which is
    /// pending.
    ///
    /// # Errors
    /// Returns [`WebhookError::UnknownWebhook`], [`WebhookError::Disabled`], or an error of the store.
    pub fn test(&self, account: AccountId, id: WebhookId) -> Result<Delivery, WebhookError> {
        self.find_enabled(account, id)?;
        let event = Event::test(id, self.clock.now());
        self.store.add_delivery(account, id, &event)?.ok_or(WebhookError::UnknownWebhook)
    }

    /// Sends the message of a delivery again, now and with all attempts of a new one. Its id stays the same.
    ///
    /// # Errors
    /// Returns [`WebhookError::UnknownWebhook`], [`WebhookError::UnknownDelivery`], [`WebhookError::Disabled`], or an
    /// error of the store.
    pub fn replay(
        &self,
        account: AccountId,
        webhook: WebhookId,
        id: DeliveryId,
    ) -> Result<Delivery, WebhookError> {
        self.find_enabled(account, webhook)?;
        self.store.replay(account, webhook, id)?.ok_or(WebhookError::UnknownDelivery)
    }

    fn find_enabled(&self, account: AccountId, id: WebhookId) -> Result<Webhook, WebhookError> {
        let webhook = self.find(account, id)?;
        if webhook.enabled { Ok(webhook) } else { Err(WebhookError::Disabled) }
    }
}
