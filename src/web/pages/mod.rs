//! The handlers of pages.

pub(super) mod account;
pub(super) mod asset;
pub(super) mod batches;
pub(super) mod data;
mod difference_row;
pub(super) mod history;
pub(super) mod keys;
mod once;
pub(super) mod operator;
pub(super) mod operator_accounts;
mod option;
mod refusal;
pub(super) mod run;
mod run_row;
pub(super) mod search;
mod search_form;
pub(super) mod security;
pub(super) mod set_up;
pub(super) mod sign_in;
mod site_choice;
pub(super) mod watches;
pub(super) mod webhooks;
