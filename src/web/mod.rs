//! The web app: pages for people under `/app`, rendered on the server.
//!
//! | file | holds |
//! |---|---|
//! | [`routes`] | the table of all routes: method, path, access, handler |
//! | `handler` | the middleware of all pages: session, protection from forged requests, rate limits, headers |
//! | [`service`] | [`Web`]: configuration, parts, cookies and redirects, which all pages share |
//! | [`visit`] | a request with its session and its form |
//! | [`frame`] | the parts around every page; rendering |
//! | [`notice`] | notices that the next page shows once |
//! | [`error`] | errors as pages |
//! | `cookies`, `guard` | cookies; protection against forged requests |
//! | [`assets`] | styles and scripts, at addresses with a hash of their content |
//! | [`show`] | times and durations as text |
//! | `pages` | the handlers of pages |
//! | `templates/` | askama templates (`askama.toml` says where they are); `layout.html` is the frame of each page |
//!
//! Addresses in templates begin with `{{ frame.root }}`, so the app works under any path of the base URL.
//!
//! To add a page: add a row in [`routes`], a handler in `pages`, and a template that extends `layout.html`
//! and whose struct has a field `frame`. A form that changes something includes `csrf.html`.

pub mod assets;
mod cookies;
pub mod error;
pub mod frame;
mod guard;
mod handler;
pub mod notice;
#[expect(
    clippy::needless_pass_by_value,
    reason = "all handlers have the signature of the route table, and some need the visit by value"
)]
mod pages;
pub mod routes;
pub mod service;
pub mod show;
pub mod visit;

pub use handler::is_app_path;
pub use service::{Parts, Web, WebConfig};
