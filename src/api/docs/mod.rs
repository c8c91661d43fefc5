//! The documentation in a browser: a page to begin at, Swagger UI, ReDoc. All that they load is in the binary.
//!
//! | file | holds |
//! |---|---|
//! | `pages` | the pages, and what each may load |
//! | `assets` | scripts, styles and pictures, each at an address of its own content |
//!
//! Addresses in the pages are relative: they hold under whatever prefix a proxy serves us. A newer Swagger UI or
//! ReDoc comes with `scripts/docs-assets`; another page is a template in `pages/`, a row in `pages` and one in
//! the route table.

mod assets;
mod pages;

use std::sync::Arc;

use super::error::ApiError;
use super::service::{Api, Call};
use crate::http::{Reply, Response};
use pages::Page;

/// `GET /`: where the documentation is, and the doors for machines.
///
/// # Errors
/// Never.
pub fn landing(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(show(if api.config.sandbox { &pages::SANDBOX_LANDING } else { &pages::LANDING }, call))
}

/// `GET /docs`: Swagger UI over `/openapi.json`.
///
/// # Errors
/// Never.
pub fn swagger_ui(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(show(&pages::SWAGGER_UI, call))
}

/// `GET /redoc`: ReDoc over `/openapi.json`.
///
/// # Errors
/// Never.
pub fn redoc(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(show(&pages::REDOC, call))
}

/// `GET /docs/licenses`: the terms of what others wrote in these pages.
///
/// # Errors
/// Never.
pub fn licenses(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(Reply::Now(assets::LICENSES.answer(call.request).with_header("Cache-Control", "no-cache")))
}

/// `GET /favicon.ico`: what browsers ask for beside a text or a JSON answer, which cannot name an icon.
///
/// # Errors
/// Never.
pub fn icon(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(Reply::Now(assets::ICON.answer(call.request).with_header("Cache-Control", "no-cache")))
}

/// `GET /docs/assets/{file}`: the file of this name for ever, since the name holds its fingerprint.
///
/// # Errors
/// 404, also for a file of another version.
pub fn asset(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let file = call.segment.and_then(assets::find).ok_or_else(ApiError::no_such_path)?;
    let response = file.answer(call.request);
    Ok(Reply::Now(response.with_header("Cache-Control", "public, max-age=31536000, immutable")))
}

/// A page. Under its address with a slash at the end, which is forgiven like everywhere, the relative addresses
/// in it would lead astray: such a request is sent to the right one.
fn show(page: &Page, call: &Call<'_>) -> Reply {
    let name = call.request.path.trim_matches('/');
    Reply::Now(if call.request.path.len() > 1 && call.request.path.ends_with('/') {
        Response::empty(308).with_header("Location", format!("../{name}"))
    } else {
        page.answer(call.request)
    })
}
