//! The documentation in a browser: an overview, Swagger UI, ReDoc and the manual. The binary contains all
//! files that the pages load.
//!
//! | file | holds |
//! |---|---|
//! | `frame` | the parts around every page; rendering; answers |
//! | `pages` | the landing page, Swagger UI and ReDoc |
//! | `manual` | the pages of the manual |
//! | `assets` | scripts, styles and images, at addresses with a hash of their content |
//! | `templates/` | askama templates (`askama.toml` says where they are); `layout.html` is the frame of each page |
//!
//! Addresses in the pages are relative, so they work under any prefix of a proxy. Templates of pages below `/manual`
//! begin them with `{{ frame.root }}`. To update Swagger UI or ReDoc: run `scripts/docs-assets`.
//!
//! To add a page: write a template that extends `layout.html` and whose struct has a field `frame`, render it in
//! `pages`, and add a handler here and a row in the route table.

mod assets;
mod frame;
mod manual;
mod pages;

use std::sync::Arc;

use serde::Deserialize;

use super::context::{Api, Call};
use super::error::ApiError;
use super::request;
use crate::http::{Reply, Response};
use frame::{answer, show};

/// `GET /`: an overview with links to the documentation and to the addresses for programs.
///
/// # Errors
/// Returns no error.
pub fn landing(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(show(if api.config.sandbox { &pages::SANDBOX_LANDING } else { &pages::LANDING }, call.request))
}

/// `GET /docs`: Swagger UI over `/openapi.json`.
///
/// # Errors
/// Returns no error.
pub fn swagger_ui(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(show(&pages::SWAGGER_UI, call.request))
}

/// `GET /redoc`: ReDoc over `/openapi.json`.
///
/// # Errors
/// Returns no error.
pub fn redoc(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(show(&pages::REDOC, call.request))
}

/// The query parameters of the manual's index.
#[derive(Deserialize)]
struct IndexParameters {
    q: Option<String>,
}

/// `GET /manual`: the list of pages, or the sections that contain the words of `q`.
///
/// # Errors
/// Returns 400 if `q` is sent twice.
pub fn manual_index(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let IndexParameters { q } = request::query(call.request)?;
    Ok(manual::index(call.request, &q.unwrap_or_default()))
}

/// `GET /manual/{topic}`: a page, or its source with `.md` at the end.
///
/// # Errors
/// Returns 404 for an unknown page.
pub fn manual_page(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    call.segments
        .get("topic")
        .and_then(|name| manual::page(call.request, name))
        .ok_or_else(|| ApiError::no_such("address"))
}

/// `GET /llms.txt`: the index of the manual for programs.
///
/// # Errors
/// Returns no error.
pub fn llms(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(manual::llms(call.request))
}

/// `GET /docs/licenses`: the licences of the files of other projects.
///
/// # Errors
/// Returns no error.
pub fn licenses(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(Reply::Now(answer(&assets::LICENSES, call.request)))
}

/// `GET /favicon.ico`, which browsers request for text and JSON answers, since these cannot name an icon.
///
/// # Errors
/// Returns no error.
pub fn icon(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(Reply::Now(answer(&assets::ICON.file, call.request)))
}

/// `GET /docs/assets/{file}`. The file may be cached without limit, since its name contains a hash of its
/// content.
///
/// # Errors
/// Returns 404 for an unknown file, also for a file of another version.
pub fn asset(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let asset = call.segments.get("file").and_then(|file| assets::ASSETS.find(file));
    let asset = asset.ok_or_else(|| ApiError::no_such("address"))?;
    Ok(Reply::Now(Response::of_asset(asset, call.request)))
}
