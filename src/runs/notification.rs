//! Notifications between the processes on one database. They announce that something has changed, but not its
//! content, because the store has the data. A lost notification only causes a delay, because waiting readers also
//! poll.

use crate::base::ids::RunId;

/// A notification about a change in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// Data of a run was stored.
    Changed {
        /// The run.
        run: RunId,
        /// The [epoch](super::journal::Lease::epoch) of the instance that stored it.
        epoch: u64,
    },
    /// A run was stopped by its owner. A checkpoint tells its driver when.
    Stopped(RunId),
    /// The owner of a run has changed what is noted about it or its results.
    Annotated(RunId),
    /// A run was deleted by its owner, or is being deleted with its account.
    Deleted(RunId),
    /// An instance released runs, which can be taken over.
    Released,
    /// A key was revoked, or an account's plan was changed, or an account was deleted.
    Access,
    /// The subscription is established. All later notifications are delivered; earlier ones may be lost.
    Connected,
    /// The subscription is interrupted. No notifications are delivered.
    Disconnected,
}

/// A receiver of notifications.
pub trait Subscriber: Send + Sync {
    /// Handles a notification. It is called on the only thread that receives notifications, so it must not block.
    fn notify(&self, notification: Notification);
}
