//! Handlers, by page.

pub(super) mod account;
pub(super) mod chart;
pub(super) mod data;
pub(super) mod home;
pub(super) mod keys;
pub(super) mod security;
pub(super) mod set_up;
pub(super) mod sign_in;
