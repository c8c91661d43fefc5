//! [`WebhookStore`]: storage of webhooks and their deliveries.
//!
//! Deliveries are dated only by the database's clock, because the clocks of two instances may differ. Those that
//! report the end of a run are stored by [`Journal`](crate::runs::journal::Journal), in the transaction that ends it.

use std::time::Duration;

use jiff::Timestamp;

use super::delivery::{Answer, Claimed, Consequence, Delivery, Due};
use super::event::Event;
use super::secret::SealedSecret;
use super::webhook::{DisabledReason, Webhook, WebhookChange};
use crate::account::audit::Origin;
use crate::base::ids::{AccountId, DeliveryId, WebhookId};
use crate::base::storage::StorageError;

/// The result of [`WebhookStore::add_webhook`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// The webhook was added.
    Done,
    /// The account has the most webhooks that are allowed.
    TooMany,
    /// The account does not exist or is being deleted.
    UnknownAccount,
}

/// A selection of deliveries that are due.
#[derive(Debug, Clone, Copy)]
pub struct DueFilter<'a> {
    /// Excludes these webhooks.
    pub except_webhooks: &'a [WebhookId],
    /// Whether to include webhooks whose last attempt has failed or took long.
    pub slow: bool,
    /// The maximum number of deliveries.
    pub limit: usize,
}

/// The storage of webhooks and their deliveries. Every call is one transaction. `store` is the only implementation:
/// the trait keeps SQL out of this layer.
pub trait WebhookStore: Send + Sync {
    /// Adds a webhook with its secret, and an audit entry.
    fn add_webhook(
        &self,
        webhook: &Webhook,
        secret: &SealedSecret,
        by: &Origin,
    ) -> Result<Added, StorageError>;

    /// Returns the webhooks of an account, the oldest first.
    fn webhooks(&self, account: AccountId) -> Result<Vec<Webhook>, StorageError>;

    /// Returns the secrets of at most `limit` webhooks, the newest first.
    fn sealed_secrets(&self, limit: usize) -> Result<Vec<(WebhookId, SealedSecret)>, StorageError>;

    /// Changes a webhook and adds an audit entry. Returns the webhook, or `None` if the account has no such webhook.
    /// Enabling it also ends its row of failures. Disabling a disabled webhook keeps the reason.
    fn change_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        change: &WebhookChange,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Webhook>, StorageError>;

    /// Replaces the secret of a webhook and adds an audit entry. The earlier secret stays valid for `overlap`. Returns
    /// the webhook, or `None` if the account has no such webhook.
    fn rotate_secret(
        &self,
        account: AccountId,
        id: WebhookId,
        secret: &SealedSecret,
        overlap: Duration,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Webhook>, StorageError>;

    /// Deletes a webhook with its deliveries and adds an audit entry. Returns `false` if the account has no such
    /// webhook.
    fn delete_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError>;

    /// Adds a delivery of an event that no run has caused. Returns `None` if the account has no such webhook.
    fn add_delivery(
        &self,
        account: AccountId,
        id: WebhookId,
        event: &Event,
    ) -> Result<Option<Delivery>, StorageError>;

    /// Returns at most `limit` deliveries of a webhook with ids below `before`, the newest first. Returns `None` if the
    /// account has no such webhook.
    fn deliveries(
        &self,
        account: AccountId,
        id: WebhookId,
        before: Option<DeliveryId>,
        limit: usize,
    ) -> Result<Option<Vec<Delivery>>, StorageError>;

    /// Makes a delivery due now, with all attempts of a new one. Returns `None` if the account has no such delivery.
    fn replay(
        &self,
        account: AccountId,
        webhook: WebhookId,
        id: DeliveryId,
    ) -> Result<Option<Delivery>, StorageError>;

    /// Returns deliveries that are due and that no instance sends, the longest due first, and for each webhook only the
    /// first one. Writes nothing.
    fn due_deliveries(&self, filter: &DueFilter<'_>) -> Result<Vec<Due>, StorageError>;

    /// Takes those of the deliveries that are still due. Until `holds` is over, no instance takes them again.
    fn claim_deliveries(&self, ids: &[DeliveryId], holds: Duration) -> Result<Vec<Claimed>, StorageError>;

    /// Records an attempt unless the claim was lost. Returns the reason if that has disabled the webhook.
    fn record_attempt(
        &self,
        claimed: &Claimed,
        answer: &Answer,
        consequence: Consequence,
    ) -> Result<Option<DisabledReason>, StorageError>;

    /// Removes at most `limit` deliveries that are older than `age`. Returns their number.
    fn remove_deliveries(&self, age: Duration, limit: usize) -> Result<u64, StorageError>;
}
