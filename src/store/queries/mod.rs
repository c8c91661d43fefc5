//! The operations of the store, each written once for both databases.

mod accounts;
mod audit;
mod batches;
mod credits;
mod erasure;
mod families;
mod feed;
pub(super) mod fragments;
mod health;
mod notes;
mod outbox;
mod prelude;
mod quota;
mod results;
mod runs;
mod sign_in;
mod start;
mod take_over;
mod watches;
mod webhooks;
