//! `GET /openapi.json`.

use std::sync::Arc;

use super::document;
use crate::api::error::ApiError;
use crate::api::service::{Api, Call};
use crate::http::{Compressed, Reply, Response, etag_of};

/// The document as it is sent: made for the first who asks.
#[derive(Debug, Clone)]
pub struct Page {
    body: Arc<[u8]>,
    compressed: Compressed,
    etag: String,
}

impl Page {
    /// The document of a server at that address.
    pub fn new(base_url: &str) -> Self {
        // Its types have string keys and finite numbers alone: writing them to memory cannot fail.
        let body: Arc<[u8]> = serde_json::to_vec(&document(base_url)).unwrap_or_default().into();
        Self { etag: etag_of(&body), body, compressed: Compressed::default() }
    }
}

/// `GET /openapi.json`. It changes with a release: a copy is good for some minutes without asking.
///
/// # Errors
/// Never.
pub fn openapi(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let page = api.openapi.get_or_init(|| Page::new(&api.config.base_url)).clone();
    // With its body a 304 too: the server tells by it what a 200 would have said of its form.
    let status = if call.request.has_current(&page.etag) { 304 } else { 200 };
    let response = Response::new(status, "application/json", page.body)
        .with_compressed(page.compressed)
        .with_header("ETag", page.etag)
        .with_header("Cache-Control", "public, max-age=300");
    Ok(Reply::Now(response))
}
