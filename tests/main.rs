//! The integration tests in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::allow_attributes,
    clippy::too_many_lines,
    reason = "a test may panic, its helpers are no tests to clippy, and a table of cases may be long"
)]

mod api;
mod catalog;
mod checks;
mod cli;
mod clients;
mod http;
mod instances;
mod kills;
mod layers;
mod manual;
mod mcp;
mod net;
mod operating;
mod outages;
mod pictures;
mod premium;
mod recorded;
mod retention;
mod runs;
mod sandbox;
mod speed;
mod store;
mod support;
mod web;
mod webhooks;
