//! The JSON API: every `/v1` operation, its OpenAPI document and the documentation in a browser.
//!
//! | file | holds |
//! |---|---|
//! | [`routes`] | the table of all routes: handler, access, rate limit |
//! | [`searches`], [`reading`], [`results`], [`capabilities`], [`modules`], [`batches`], [`watches`], [`webhooks`] | handlers with what `/openapi.json` says of them, and the shapes of their answers |
//! | [`docs`] | the documentation in a browser |
//! | [`context`] | the arguments of handlers: [`Api`], [`Call`](context::Call); answers, also those of refusals |
//! | [`service`] | finds the route, authenticates, counts, calls the handler, adds the headers of every answer |
//! | `request` | reads bodies and parameters into types that derive `Deserialize` |
//! | [`decode`] | the body of a search; headers of requests |
//! | [`batch_body`] | the body of a batch, as JSON or as CSV |
//! | [`pages`] | pages of lists: parameters, cursors, the `Link` header |
//! | [`mcp`] | the Model Context Protocol |
//! | [`openapi`] | `/openapi.json`, as a whole |
//!
//! To add an endpoint: write a handler of about 20 lines with its `#[utoipa::path]` and its types, and add a
//! row in [`routes`], tests with invalid input in `tests/api`, and a line in `src/manual/api.md`. The
//! documentation of [`openapi`] says how to describe it.

pub mod batch_body;
pub mod batches;
pub mod capabilities;
pub mod context;
pub mod decode;
pub mod docs;
pub mod mcp;
pub mod modules;
pub mod openapi;
pub mod pages;
pub mod reading;
mod request;
pub mod results;
pub mod routes;
pub mod searches;
pub mod service;
pub mod watches;
pub mod webhooks;

pub use context::{Api, ApiConfig};
