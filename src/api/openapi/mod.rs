//! `/openapi.json`: the contract for programs, OpenAPI 3.1.
//!
//! It is made from what serves: paths, methods, security and counting from [`routes`](super::routes), errors from
//! [`failure`](super::failure), shapes from the types that are serialized ([`wire`](super::wire), results,
//! coverage and frames in `runs`). What is left to write by hand stands in here, by noun, and the tests hold it
//! against what the server answers, both ways.
//!
//! | file | holds |
//! |---|---|
//! | [`doc`] | [`Doc`]: what a route says of itself |
//! | [`service`], [`account`], [`searches`] | the routes' words, by noun |
//! | [`parameters`], [`headers`] | request parameters, response headers |
//! | [`request`] | the body of a search |
//! | [`events`] | what a stream carries |
//! | [`failures`] | the error responses |
//! | `tidy` | what the derived schemas need yet |
//! | [`assembly`] | all of it, put together |
//! | [`page`] | `GET /openapi.json` |
//!
//! # To document a new endpoint
//! 1. Its row in [`routes`](super::routes) ends with a function of this room that gives its [`Doc`]: the row
//!    does not compile without one. Copy the nearest one in [`searches`] or [`service`]:
//!
//!    ```text
//!    pub fn export() -> Doc {
//!        Doc::new("exportSearch", Tag::Searches, "Export a run as a file")
//!            .text("Costs no credits.")
//!            .parameter(parameters::format())
//!            .answer(Answer::new(200, "The report.").body::<ReportBody>("application/json").file("text/csv"))
//!    }
//!    ```
//! 2. Its answer is a type of `wire` that derives `Serialize` and `ToSchema`; docs of fields are descriptions
//!    for the API's users: meaning, unit, bounds, what null means; `#[schema(examples(…))]` gives an example.
//!    An `Option` that is always sent is `#[schema(required)]`; one that is left out has
//!    `skip_serializing_if` and `#[schema(nullable = false)]`.
//! 3. Errors that its access (401, 403, 429), its `{run_id}` (404) and the server (400, 408, 413, …) do not bring
//!    along: `.fails(Failure::…)`. A new kind of error is a row in [`failure`](super::failure).
//! 4. `SIGHTLINE_TEST_UPDATE=1 cargo test --test main openapi` writes `tests/api/openapi.json` anew; the
//!    difference belongs into the review.

pub mod account;
pub mod assembly;
pub mod doc;
pub mod events;
pub mod failures;
pub mod headers;
pub mod page;
pub mod parameters;
pub mod request;
pub mod searches;
pub mod service;
mod tidy;

pub use assembly::document;
pub use doc::Doc;
