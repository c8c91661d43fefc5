//! The JSON contract: what every `/v1` endpoint takes and gives.
//!
//! | file | holds |
//! |---|---|
//! | [`routes`] | the one table: method, path, who may, what it counts as, handler |
//! | [`service`] | [`Api`]: finds the route, authenticates, counts, calls the handler, dresses the answer |
//! | [`auth`] | whose key it is |
//! | [`failure`] | the one table of failures: which error is which status and code |
//! | [`error`] | an error on its way to its answer |
//! | [`decode`] | request bodies and parameters |
//! | [`wire`] | the shapes of answers |
//! | [`openapi`] | `/openapi.json`, made from all of these |
//! | [`searches`], [`reading`], [`export`], [`stream`], [`accounts`], [`health`], [`service_pages`] | handlers, by noun |
//! | [`docs`] | the documentation in a browser |
//!
//! To add an endpoint: a row in [`routes`], a handler of about 20 lines, its shapes in [`wire`], its words in
//! [`openapi`] (the recipe stands there), its bad input in `tests/api`.

pub mod accounts;
pub mod auth;
pub mod cache;
pub mod decode;
pub mod docs;
pub mod error;
pub mod export;
pub mod failure;
pub mod health;
pub mod openapi;
pub mod reading;
pub mod routes;
pub mod searches;
pub mod service;
pub mod service_pages;
pub mod stream;
pub mod wire;

pub use service::{Api, ApiConfig};
