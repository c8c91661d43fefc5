//! Webhooks: requests to an address of the customer when something happens to an account's searches and watches.
//!
//! Messages follow [Standard Webhooks](https://www.standardwebhooks.com). A delivery is stored in the transaction of
//! the change that it reports, so that neither exists without the other. The dispatcher of each instance takes
//! deliveries that are due and sends them, at least once. This layer has no sockets and no SQL.
//!
//! | file | holds |
//! |---|---|
//! | [`event`] | the events, and the bodies that receivers get |
//! | [`webhook`] | a webhook: its address, its events and its state |
//! | [`delivery`] | a delivery, the outcome of an attempt, and the times of further attempts |
//! | [`secret`] | signing secrets, and the key that encrypts them in the store |
//! | [`storage`] | the storage trait of this layer |
//! | [`registry`] | the use cases: create, change, rotate, test, replay |
//! | `attempt` | one attempt: signs a message and sends it |
//! | `lanes` | which deliveries may be sent at once, so that a slow receiver delays no other |
//! | [`dispatcher`] | the threads that send deliveries |
//!
//! To add an event: add a variant to [`event::EventType`] with its name and its body, and store its deliveries in the
//! transaction of the change (`store/queries/outbox.rs`).

mod attempt;
pub mod delivery;
pub mod dispatcher;
pub mod event;
mod lanes;
pub mod registry;
pub mod secret;
pub mod storage;
pub mod webhook;
