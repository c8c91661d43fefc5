//! Files that are part of the program and equal for all clients, and compressed bodies.

use std::sync::{Arc, OnceLock};

use flate2::Compression;

use crate::base::encoding::{gunzip, gzip, hex, sha256};

/// A file, which is compressed once for all clients that accept it.
///
/// This type must not be used for a body that contains a secret together with text that a client chose: the length of
/// its compressed form would reveal something about the secret.
#[derive(Debug)]
pub struct StaticFile {
    pub(super) content_type: &'static str,
    pub(super) body: Arc<[u8]>,
    gzip: OnceLock<Arc<[u8]>>,
    /// The strong entity tag, with its quotes.
    pub(super) etag: String,
}

impl StaticFile {
    /// Creates a file from its uncompressed content.
    pub fn plain(content_type: &'static str, body: impl Into<Arc<[u8]>>) -> Self {
        let body = body.into();
        Self { etag: etag_of(&body), content_type, body, gzip: OnceLock::new() }
    }

    /// Returns the compressed form.
    pub(super) fn compressed(&self) -> Arc<[u8]> {
        Arc::clone(self.gzip.get_or_init(|| gzip(&self.body, Compression::best())))
    }
}

/// A static file whose address contains its fingerprint, so that it may be cached without limit.
#[derive(Debug, Clone)]
pub struct Asset {
    /// The name by which pages refer to the file.
    pub name: &'static str,
    /// The last segment of its address.
    pub address: String,
    /// The file.
    pub file: Arc<StaticFile>,
}

impl Asset {
    /// Creates an asset from its content, which may be compressed with gzip. Its media type follows from the ending of its
    /// name.
    pub fn new(name: &'static str, content: &[u8]) -> Self {
        let mut file = StaticFile::plain(media_type(name), content);
        if let [0x1f, 0x8b, ..] = content {
            let body = gunzip(content).unwrap_or_else(|error| {
                log::error!("cannot decompress a file of the program: {error}");
                Vec::new()
            });
            file =
                StaticFile { gzip: OnceLock::from(file.body), ..StaticFile::plain(file.content_type, body) };
        }
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        // 16 digits differ for files with different content.
        let fingerprint = file.etag.get(1..17).unwrap_or_default();
        let address = format!("{stem}-{fingerprint}.{extension}");
        Self { name, address, file: Arc::new(file) }
    }
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    }
}

/// The scripts, styles and images that a group of pages loads.
#[derive(Debug)]
pub struct Assets(pub Vec<Asset>);

impl Assets {
    /// Returns the last segment of the address of the asset with this name, or nothing for an unknown name.
    pub fn address(&self, name: &str) -> &str {
        self.0.iter().find(|asset| asset.name == name).map_or("", |asset| &asset.address)
    }

    /// Returns the asset whose address ends with this segment, or `None` for any other, which includes an asset of
    /// another version.
    pub fn find(&self, segment: &str) -> Option<&Asset> {
        self.0.iter().find(|asset| asset.address == segment)
    }
}

/// Returns a strong entity tag for a body, with its quotes.
pub fn etag_of(body: &[u8]) -> String {
    format!("\"{}\"", hex(&sha256(body)[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_made_from_the_other() {
        let text = "one of many words ".repeat(200).into_bytes();
        let plain = StaticFile::plain("text/plain", text.clone());
        let gzip = plain.compressed();
        assert!(gzip.len() < text.len() / 10);
        assert_eq!(&*Asset::new("a.css", &gzip).file.body, text);
    }
}
