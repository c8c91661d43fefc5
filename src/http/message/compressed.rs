//! Bodies compressed with gzip.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use flate2::Compression;
use flate2::write::GzEncoder;

/// The compressed form of a body. It is made when the first client asks for it, and shared by all clones.
#[derive(Debug, Clone, Default)]
pub struct Compressed(Arc<OnceLock<Arc<[u8]>>>);

impl Compressed {
    /// Returns the compressed form of `body`. All calls on clones of one value must pass the same body.
    pub(crate) fn of(&self, body: &[u8]) -> Arc<[u8]> {
        // The lowest level already shrinks JSON to a sixth. A higher level takes several times as long and saves
        // another tenth.
        Arc::clone(self.0.get_or_init(|| gzip(body, Compression::fast())))
    }
}

/// Compresses a body.
pub(crate) fn gzip(body: &[u8], level: Compression) -> Arc<[u8]> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), level);
    // Writing to a Vec does not fail.
    let _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default().into()
}
