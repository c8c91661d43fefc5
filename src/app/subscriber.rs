//! Passes the notifications of other instances on to the parts that keep copies of stored data.

use std::sync::{Arc, Weak};

use super::error::AppError;
use crate::account::service::Accounts;
use crate::model::drive::{Notification, Subscriber};
use crate::runs::service::Runs;
use crate::store::Store;

/// A subscription. It ends when this is dropped.
pub(super) struct InstanceSubscriber {
    runs: Arc<Runs>,
    accounts: Arc<Accounts>,
}

impl InstanceSubscriber {
    /// Subscribes if the store serves several instances.
    pub(super) fn start(
        store: &Store,
        runs: &Arc<Runs>,
        accounts: &Arc<Accounts>,
    ) -> Result<Arc<Self>, AppError> {
        let subscriber = Arc::new(Self { runs: Arc::clone(runs), accounts: Arc::clone(accounts) });
        let weak: Weak<Self> = Arc::downgrade(&subscriber);
        store.listen(weak).map_err(|error| {
            AppError::failed(error).at("cannot receive the notifications of other instances")
        })?;
        Ok(subscriber)
    }
}

impl Subscriber for InstanceSubscriber {
    fn notify(&self, notification: Notification) {
        self.runs.notify(notification);
        match notification {
            Notification::Access | Notification::Connected | Notification::Disconnected => {
                self.accounts.evict_access();
            }
            Notification::Changed { .. }
            | Notification::Annotated(_)
            | Notification::Deleted(_)
            | Notification::Stopped(_)
            | Notification::Released => {}
        }
    }
}
