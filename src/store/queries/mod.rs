//! The operations of the store, each written once for both databases.
//!
//! To add an operation, add a method to its trait (in `account` or `runs`), its implementation to the file in this
//! folder that implements the trait, and a test to `tests/store`, which runs on both databases.

mod accounts;
pub(super) mod audit;
mod batches;
mod bundles;
mod circuits;
mod credits;
mod erasure;
mod families;
mod fragments;
mod health;
mod notes;
mod outbox;
pub(super) mod queue;
mod quota;
mod records;
mod results;
mod runs;
mod sign_in;
mod start;
mod stopping;
mod summary;
mod take_over;
mod thumbnails;
mod watch_row;
mod watch_runs;
mod watches;
mod webhook_sending;
mod webhooks;
