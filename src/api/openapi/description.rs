//! The serialized OpenAPI document.

use std::sync::Arc;

use serde::Serialize;

use crate::http::{Compressed, Request, Response, etag_of};

/// The document as JSON, with its validator for HTTP caches.
#[derive(Debug, Clone)]
pub struct Description {
    body: Arc<[u8]>,
    compressed: Compressed,
    etag: String,
}

impl Description {
    /// Serializes the document.
    pub fn new(document: &impl Serialize) -> Self {
        // Cannot fail: the types have only string keys and finite numbers, and the target is memory.
        let body: Arc<[u8]> = serde_json::to_vec(document).unwrap_or_default().into();
        Self { etag: etag_of(&body), compressed: Compressed::best(&body), body }
    }

    /// Answers a request for the document, with 304 if the client has it.
    pub fn answer(&self, request: &Request) -> Response {
        // A 304 gets the body too: the server derives the headers of the 200 response from it and leaves the
        // body out.
        let status = if request.has_current(&self.etag) { 304 } else { 200 };
        Response::new(status, "application/json", Arc::clone(&self.body))
            .with_compressed(self.compressed.clone())
            .with_header("ETag", self.etag.clone())
            .with_header("Cache-Control", "public, max-age=300")
    }
}
