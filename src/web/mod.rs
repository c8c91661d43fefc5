//! The web app: pages for people, made here and sent whole, under `/app`.
//!
//! | file | holds |
//! |---|---|
//! | [`routes`] | the one table: method, path, who may, handler |
//! | [`service`] | [`Web`]: finds the route, who it is, guards changes, calls the handler, dresses the answer |
//! | [`visit`] | one request on its way: who, which form |
//! | [`frame`] | what every page has around it; a template becomes an answer |
//! | [`notice`] | what the next page says once |
//! | [`error`] | failures, as pages |
//! | `cookies`, `guard` | cookies; where a change may come from |
//! | [`assets`] | styles and scripts, each at an address of its own content |
//! | [`show`] | moments and the like, for people |
//! | `pages` | handlers, by page |
//! | `templates/` | askama templates (`askama.toml` says where they are); `layout.html` stands around each page |
//!
//! Addresses in templates begin with `{{ frame.root }}`: the app works under whatever path the base URL has.
//!
//! To add a page: a row in [`routes`], a handler in `pages`, a template that extends `layout.html` and whose struct has
//! a field `frame`. A form that changes something has `{% include "csrf.html" %}` in it.

pub mod assets;
mod cookies;
pub mod error;
pub mod frame;
mod guard;
pub mod notice;
#[expect(
    clippy::needless_pass_by_value,
    reason = "all handlers have the route table's form: some take the visit away"
)]
mod pages;
pub mod routes;
pub mod service;
pub mod show;
pub mod visit;

pub use service::{Parts, Web, WebConfig, WebHandler};
