//! What people see: pages in a real browser, and what the web app answers.

mod accounts;
mod app;
mod browser;
mod docs;
pub(crate) mod person;
mod searches;
