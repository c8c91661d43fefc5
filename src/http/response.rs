//! One answer whose body is known.

use std::borrow::Cow;
use std::sync::Arc;

use super::encoding::Compressed;
use super::static_file::StaticFile;

/// Status, headers and a whole body. `Content-Length`, `Date` and `Connection` are the server's, and so is
/// compression (JSON, CSV and files, for clients that take it) with what belongs to it: `Content-Encoding`, `Vary:
/// Accept-Encoding`, and `W/` before an `ETag`.
#[derive(Debug, Clone)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Name and value, in order; values must be visible ASCII and spaces (others are dropped with a log line).
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body; shared where it is cached. A 304 has that of the 200 it stands for: it is not sent, but
    /// the headers depend on it.
    pub body: Arc<[u8]>,
    /// The body's compressed form, where it was made already; to be shared where the body is.
    pub compressed: Compressed,
    /// The file that is the body, instead of `body`.
    pub(super) file: Option<Arc<StaticFile>>,
}

impl Response {
    /// An answer without a body.
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Arc::from([]),
            compressed: Compressed::default(),
            file: None,
        }
    }

    /// An answer with a body of that type.
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Arc<[u8]>>) -> Self {
        Self::empty(status).with_header("Content-Type", content_type).with_body(body)
    }

    /// The head of a stream of Server-Sent Events, which nobody on its way may keep, change or hold back.
    pub fn event_stream() -> Self {
        Self::empty(200)
            .with_header("Content-Type", "text/event-stream")
            .with_header("Cache-Control", "no-cache, no-transform")
            .with_header("X-Accel-Buffering", "no")
    }

    /// The same with one more header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same with another body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Arc<[u8]>>) -> Self {
        self.body = body.into();
        self.compressed = Compressed::default();
        self.file = None;
        self
    }

    /// The same with the compressed form of its body, kept from an earlier answer.
    #[must_use]
    pub fn with_compressed(mut self, compressed: Compressed) -> Self {
        self.compressed = compressed;
        self
    }

    /// The first value of a header, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_ref())
    }
}
