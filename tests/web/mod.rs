//! What people see: pages in a real browser, and what the web app answers.

mod accounts;
mod app;
mod browser;
mod chromium;
mod docs;
mod operator;
pub(crate) mod person;
mod searches;
