//! Webhooks: requests to an address of the customer when something happens to an account's searches and watches.
//!
//! Messages follow [Standard Webhooks](https://www.standardwebhooks.com). A delivery is stored in the transaction of
//! the change that it reports, so that neither exists without the other. The dispatcher of each instance takes
//! deliveries that are due and sends them, at least once.
//!
//! | file | holds |
//! |---|---|
//! | [`secret`] | signing secrets, and the key that encrypts them in the store |
//! | [`registry`] | the use cases: create, rotate, test, replay |
//! | `attempt` | one attempt: signs a message and sends it |
//! | [`dispatcher`] | the threads that send deliveries |
//!
//! To add an event: add a variant to [`EventType`](crate::model::event::EventType) with its name and its body, and store its deliveries in the
//! transaction of the change (`store/queries/outbox.rs`).

mod attempt;
pub mod dispatcher;
pub mod registry;
pub mod secret;
