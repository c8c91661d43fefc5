//! What people see: pages, as a server sends them and in a real browser.

mod accounts;
mod app;
mod browser;
mod chromium;
mod docs;
mod operator;
pub(crate) mod person;
mod searches;
