//! What people see: pages in a real browser.

mod accounts;
mod app;
mod browser;
mod docs;
pub(crate) mod person;
