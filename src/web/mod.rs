//! The web app: pages for people under `/app`, rendered on the server.
//!
//! | file | holds |
//! |---|---|
//! | [`routes`] | the table of all routes: method, path, access, handler |
//! | [`service`] | [`Web`]: what pages are made of, redirects |
//! | [`server`] | sessions, protection from forged requests, rate limits, headers |
//! | [`visit`] | a request with its session and its form |
//! | [`form`] | the fields of a form |
//! | [`frame`] | the parts around every page; rendering; styles and scripts |
//! | [`error`] | errors: on the form that was sent, or as pages |
//! | `cookies` | cookies, and notices that the next page shows once |
//! | [`show`] | times and durations as text |
//! | `pages` | the handlers of pages |
//! | `templates/` | askama templates (`askama.toml` says where they are); `layout.html` is the frame of each page |
//!
//! Addresses in templates start with `{{ frame.root }}`, so the app works under any path of the base URL.
//!
//! To add a page: add a row in [`routes`], a handler in `pages`, and a template that extends `layout.html`
//! and whose struct has a field `frame`. A form that changes something includes `csrf.html`. A handler of a form decodes
//! it, does the work, and redirects. It gives an error to `Visit::refuse` with the function that shows the page
//! of the form.

mod cookies;
pub mod error;
pub mod form;
pub mod frame;
#[expect(
    clippy::needless_pass_by_value,
    reason = "all handlers have the signature of the route table, and some need the visit by value"
)]
mod pages;
pub mod routes;
pub mod server;
pub mod service;
pub mod show;
pub mod visit;

use error::{Answer, WebError, sentence};
use form::Form;
use frame::{Frame, render};
pub use server::is_app_path;
pub use service::Web;
use show::Moment;
use visit::Visit;
