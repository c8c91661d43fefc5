//! Handlers, by page.

pub(super) mod home;
pub(super) mod set_up;
pub(super) mod sign_in;
