//! A response with a body of known length.

use std::borrow::Cow;
use std::sync::Arc;

use super::files::{Asset, StaticFile};
use super::request::Request;

/// A response: status, headers and a complete body.
///
/// The server adds `Content-Length`, `Date` and `Connection`. It compresses JSON, CSV and static files for clients that
/// accept it, and then adds `Content-Encoding` and `Vary: Accept-Encoding` and makes an `ETag` weak.
#[derive(Debug, Clone)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The headers in order, as name and value. A value must consist of visible ASCII, spaces and tabs. The server
    /// leaves out other values and logs an error.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body, which is not sent with a 304.
    pub body: Arc<[u8]>,
    /// Whether the answer is never compressed.
    pub(super) is_plain: bool,
    /// The file that is sent instead of `body`.
    pub(super) file: Option<Arc<StaticFile>>,
}

impl Response {
    /// Creates a response without a body.
    pub fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Arc::from([]), is_plain: false, file: None }
    }

    /// Creates a response with a body of that media type.
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Arc<[u8]>>) -> Self {
        Self::empty(status).with_header("Content-Type", content_type).with_body(body)
    }

    /// Creates the response to a request for a static file: 200 with the file, or 304 if the client has it (RFC 9110,
    /// section 13.1.2).
    pub fn of_file(file: &Arc<StaticFile>, request: &Request) -> Self {
        let mut response = Self::empty(if request.has_current(&file.etag) { 304 } else { 200 })
            .with_header("Content-Type", file.content_type)
            .with_header("ETag", file.etag.clone());
        response.file = Some(Arc::clone(file));
        response
    }

    /// Creates the response to a request for an asset. It may be cached without limit.
    pub fn of_asset(asset: &Asset, request: &Request) -> Self {
        Self::of_file(&asset.file, request)
            .with_header("Cache-Control", "public, max-age=31536000, immutable")
    }

    /// Creates the head of a stream of server-sent events. Its headers keep proxies from caching, changing or buffering
    /// the stream.
    pub fn event_stream() -> Self {
        Self::empty(200)
            .with_header("Content-Type", "text/event-stream")
            .with_header("Cache-Control", "no-cache, no-transform")
            .with_header("X-Accel-Buffering", "no")
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Keeps the answer from being compressed, because it has private data beside text of the request: from lengths,
    /// somebody who chooses that text could guess the data (BREACH).
    #[must_use]
    pub fn uncompressed(mut self) -> Self {
        self.is_plain = true;
        self
    }

    /// Replaces the body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Arc<[u8]>>) -> Self {
        self.body = body.into();
        self.file = None;
        self
    }

    /// Returns the first value of a header. The case of the name is ignored.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_ref())
    }
}
