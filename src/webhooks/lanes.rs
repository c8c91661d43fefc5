//! Which deliveries may be sent at once, so that a slow receiver delays no other.

use std::collections::HashMap;

use super::delivery::Due;
use crate::base::ids::{AccountId, WebhookId};

/// The most deliveries that an instance sends at once.
pub(super) const MOST: usize = 16;
/// The most of them to one webhook.
const MOST_OF_WEBHOOK: usize = 2;
/// The most of them to the webhooks of one account.
const MOST_OF_ACCOUNT: usize = 4;
/// The most of them to webhooks whose last attempt has failed. The others are free for receivers that answer.
const MOST_FAILING: usize = MOST / 2;

/// The deliveries that are being sent.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    of_webhook: HashMap<WebhookId, usize>,
    of_account: HashMap<AccountId, usize>,
    failing: usize,
    all: usize,
}

impl Lanes {
    /// Adds a delivery if the limits allow it. Returns whether it was added.
    pub(super) fn enter(&mut self, due: &Due) -> bool {
        let of = |count: Option<&usize>| count.copied().unwrap_or(0);
        let has_place = self.free() > 0
            && of(self.of_webhook.get(&due.webhook)) < MOST_OF_WEBHOOK
            && of(self.of_account.get(&due.account)) < MOST_OF_ACCOUNT
            && !(due.is_failing && self.is_full_of_failing());
        if has_place {
            *self.of_webhook.entry(due.webhook).or_default() += 1;
            *self.of_account.entry(due.account).or_default() += 1;
            self.failing += usize::from(due.is_failing);
            self.all += 1;
        }
        has_place
    }

    /// Removes a delivery that was added.
    pub(super) fn leave(&mut self, due: &Due) {
        release(&mut self.of_webhook, &due.webhook);
        release(&mut self.of_account, &due.account);
        self.failing -= usize::from(due.is_failing);
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

    /// Returns whether no delivery to a webhook can be added whose last attempt has failed.
    pub(super) fn is_full_of_failing(&self) -> bool {
        self.failing >= MOST_FAILING
    }

    /// Returns the webhooks to which no more can be sent.
    pub(super) fn full_webhooks(&self) -> Vec<WebhookId> {
        full(&self.of_webhook, MOST_OF_WEBHOOK)
    }

    /// Returns the accounts to whose webhooks no more can be sent.
    pub(super) fn full_accounts(&self) -> Vec<AccountId> {
        full(&self.of_account, MOST_OF_ACCOUNT)
    }
}

fn release<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

fn full<K: Copy>(counts: &HashMap<K, usize>, most: usize) -> Vec<K> {
    counts.iter().filter(|(_, count)| **count >= most).map(|(key, _)| *key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::DeliveryId;

    fn due(webhook: WebhookId, account: AccountId, is_failing: bool) -> Due {
        Due { id: DeliveryId::new(), webhook, account, is_failing }
    }

    #[test]
    fn a_webhook_an_account_and_failing_receivers_take_a_part_only() {
        let mut lanes = Lanes::default();
        let (account, webhook) = (AccountId::new(), WebhookId::new());
        let first = due(webhook, account, false);
        assert!(lanes.enter(&first) && lanes.enter(&due(webhook, account, false)));
        assert!(!lanes.enter(&due(webhook, account, false)));
        assert_eq!(lanes.full_webhooks(), [webhook]);
        assert!((0..2).all(|_| lanes.enter(&due(WebhookId::new(), account, false))));
        assert!(!lanes.enter(&due(WebhookId::new(), account, false)));
        assert_eq!(lanes.full_accounts(), [account]);
        lanes.leave(&first);
        assert!(lanes.full_webhooks().is_empty() && lanes.full_accounts().is_empty());
        let failing = || due(WebhookId::new(), AccountId::new(), true);
        let entered = (0..MOST).filter(|_| lanes.enter(&failing())).count();
        assert_eq!((entered, lanes.is_full_of_failing()), (MOST_FAILING, true));
        let others =
            (0..MOST).filter(|_| lanes.enter(&due(WebhookId::new(), AccountId::new(), false))).count();
        assert_eq!((others, lanes.free(), lanes.busy()), (MOST - MOST_FAILING - 3, 0, MOST));
    }
}
