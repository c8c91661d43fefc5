//! The JSON contract: what every `/v1` endpoint takes and gives.
//!
//! | file | holds |
//! |---|---|
//! | [`routes`] | the one table: method, path, who may, what it counts as, handler |
//! | [`service`] | [`Api`]: finds the route, authenticates, counts, calls the handler, dresses the answer |
//! | [`auth`] | whose key it is |
//! | [`error`] | which error is which status and code |
//! | [`decode`] | request bodies and parameters |
//! | [`wire`] | the shapes of answers |
//! | [`searches`], [`reading`], [`stream`], [`accounts`], [`health`], [`service_pages`] | handlers, by noun |
//!
//! To add an endpoint: a row in [`routes`], a handler of about 20 lines, its shapes in [`wire`], its bad
//! input in `tests/api`.

pub mod accounts;
pub mod auth;
pub mod cache;
pub mod decode;
pub mod error;
pub mod health;
pub mod reading;
pub mod routes;
pub mod searches;
pub mod service;
pub mod service_pages;
pub mod stream;
pub mod wire;

pub use service::{Api, ApiConfig};
