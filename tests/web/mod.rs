//! The web app: pages in a real browser, and answers over HTTP.

mod accounts;
mod app;
mod batches;
mod choices;
mod chromium;
mod operator;
pub(crate) mod person;
mod routes;
mod runs;
mod searches;
mod watches;
mod webhooks;
