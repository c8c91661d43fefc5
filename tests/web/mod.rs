//! The web app: pages in a real browser, and answers over HTTP.

mod accounts;
mod app;
mod batches;
mod browser;
mod choices;
mod chromium;
mod diff;
mod docs;
mod firefox;
mod leads;
mod notes;
mod operator;
pub(crate) mod person;
mod searches;
mod watches;
mod webhooks;
