//! Which deliveries may be sent at once, so that a slow receiver delays no other.

use std::collections::HashMap;

use crate::base::ids::WebhookId;
use crate::model::webhook::Due;

/// The most deliveries that an instance sends at once.
pub(super) const MOST: usize = 256;
/// The most of them to one webhook.
const MOST_OF_WEBHOOK: usize = 2;
/// The most of them to webhooks whose last attempt has failed or took long. The others are free for receivers that
/// answer at once.
const MOST_SLOW: usize = MOST / 2;

/// The deliveries that are being sent.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    of_webhook: HashMap<WebhookId, usize>,
    slow: usize,
    all: usize,
}

impl Lanes {
    /// Adds a delivery if the limits allow it. Returns whether it was added.
    pub(super) fn enter(&mut self, due: &Due) -> bool {
        let own = self.of_webhook.get(&due.webhook).copied().unwrap_or(0);
        let has_place = self.free() > 0 && own < MOST_OF_WEBHOOK && !(due.is_slow && self.is_full_of_slow());
        if has_place {
            self.of_webhook.insert(due.webhook, own + 1);
            self.slow += usize::from(due.is_slow);
            self.all += 1;
        }
        has_place
    }

    /// Removes a delivery that was added.
    pub(super) fn leave(&mut self, due: &Due) {
        if let Some(own) = self.of_webhook.get_mut(&due.webhook) {
            *own -= 1;
            if *own == 0 {
                self.of_webhook.remove(&due.webhook);
            }
        }
        self.slow -= usize::from(due.is_slow);
        self.all -= 1;
    }

    /// Returns how many more deliveries can be sent.
    pub(super) fn free(&self) -> usize {
        MOST - self.all
    }

    /// Returns the number of deliveries that are being sent.
    pub(super) fn busy(&self) -> usize {
        self.all
    }

    /// Returns whether no delivery to a webhook can be added whose last attempt has failed or took long.
    pub(super) fn is_full_of_slow(&self) -> bool {
        self.slow >= MOST_SLOW
    }

    /// Returns the webhooks to which no more can be sent.
    pub(super) fn full_webhooks(&self) -> Vec<WebhookId> {
        self.of_webhook.iter().filter(|(_, own)| **own >= MOST_OF_WEBHOOK).map(|(id, _)| *id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::DeliveryId;

    fn due(webhook: WebhookId, is_slow: bool) -> Due {
        Due { id: DeliveryId::new(), webhook, is_slow }
    }

    #[test]
    fn a_webhook_and_slow_receivers_take_a_part_only() {
        let mut lanes = Lanes::default();
        let webhook = WebhookId::new();
        let first = due(webhook, false);
        assert!(lanes.enter(&first) && lanes.enter(&due(webhook, false)));
        assert!(!lanes.enter(&due(webhook, false)));
        assert_eq!(lanes.full_webhooks(), [webhook]);
        lanes.leave(&first);
        assert!(lanes.full_webhooks().is_empty());
        let entered = (0..MOST).filter(|_| lanes.enter(&due(WebhookId::new(), true))).count();
        assert_eq!((entered, lanes.is_full_of_slow()), (MOST_SLOW, true));
        let others = (0..MOST).filter(|_| lanes.enter(&due(WebhookId::new(), false))).count();
        assert_eq!((others, lanes.free(), lanes.busy()), (MOST - MOST_SLOW - 1, 0, MOST));
    }
}
