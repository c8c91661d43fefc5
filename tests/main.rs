//! The one integration-test binary: black-box first.
#![allow(
    clippy::unwrap_used,
    clippy::allow_attributes,
    reason = "a test may panic; its helpers are no tests to clippy"
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
mod net;
mod operating;
mod outages;
mod premium;
mod retention;
mod runs;
mod sandbox;
mod store;
mod support;
mod web;

/// The program's: what the server room does about endless announced bodies rests on it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
