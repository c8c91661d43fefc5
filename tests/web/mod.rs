//! The web app: pages in a real browser, and answers over HTTP.

mod accounts;
mod app;
mod batches;
mod choices;
mod chromium;
mod diff;
mod leads;
mod notes;
mod operator;
pub(crate) mod person;
mod searches;
mod watches;
mod webhooks;
