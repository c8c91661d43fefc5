//! The web app: pages in a real browser, and answers over HTTP.

mod app;
mod chromium;
pub(crate) mod person;
mod routes;
