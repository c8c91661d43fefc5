//! Files that are part of the program: the same for everybody.

use std::fmt;
use std::io::{Read, Write};
use std::sync::{Arc, OnceLock};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::request::Request;
use super::response::Response;

/// A file and its two forms: as it is, and compressed. One is given, the other is made for the first client that
/// takes it, and kept.
///
/// Not for a body that holds a secret beside what a caller chose: its compressed length would tell about it.
pub struct StaticFile {
    content_type: &'static str,
    plain: OnceLock<Arc<[u8]>>,
    gzip: OnceLock<Arc<[u8]>>,
    etag: String,
}

impl StaticFile {
    /// A file that is given as it is.
    pub fn plain(content_type: &'static str, body: impl Into<Arc<[u8]>>) -> Self {
        let body = body.into();
        Self { etag: etag_of(&body), content_type, plain: OnceLock::from(body), gzip: OnceLock::new() }
    }

    /// A file that is given compressed, in sound gzip.
    pub fn gzipped(content_type: &'static str, gzip: impl Into<Arc<[u8]>>) -> Self {
        let gzip = gzip.into();
        Self { etag: etag_of(&gzip), content_type, plain: OnceLock::new(), gzip: OnceLock::from(gzip) }
    }

    /// What tells this file from any other of its name: 16 hexadecimal digits.
    pub fn fingerprint(&self) -> &str {
        self.etag.get(1..17).unwrap_or_default()
    }

    /// 200 with the file, or 304 where the request says that its sender has it (RFC 9110, 13.1.2).
    pub fn answer(self: &Arc<Self>, request: &Request) -> Response {
        let mut response = Response::empty(if request.has_current(&self.etag) { 304 } else { 200 })
            .with_header("Content-Type", self.content_type)
            .with_header("ETag", self.etag.to_string());
        response.file = Some(Arc::clone(self));
        response
    }

    pub(super) fn as_it_is(&self) -> Arc<[u8]> {
        Arc::clone(self.plain.get_or_init(|| {
            let mut body = Vec::new();
            if let Err(error) = GzDecoder::new(self.stored()).read_to_end(&mut body) {
                log::error!("a file of the program's own can't be decompressed: {error}");
            }
            body.into()
        }))
    }

    pub(super) fn compressed(&self) -> Arc<[u8]> {
        Arc::clone(self.gzip.get_or_init(|| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            // Writing to a Vec doesn't fail.
            let _ = encoder.write_all(self.stored());
            encoder.finish().unwrap_or_default().into()
        }))
    }

    /// The form that was given.
    fn stored(&self) -> &[u8] {
        self.plain.get().or_else(|| self.gzip.get()).map_or(&[], |stored| stored)
    }
}

impl fmt::Debug for StaticFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticFile")
            .field("content_type", &self.content_type)
            .field("etag", &self.etag)
            .finish_non_exhaustive()
    }
}

/// A strong entity tag of a body, with its quotes.
pub fn etag_of(body: &[u8]) -> String {
    let digits: String = Sha256::digest(body).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(tag: &str) -> Request {
        Request {
            method: "GET".into(),
            path: "/".into(),
            query: String::new(),
            headers: vec![("if-none-match".into(), tag.into())],
            body: vec![],
            client: None,
        }
    }

    #[test]
    fn either_form_gives_the_other() {
        let text = "one of many words ".repeat(200).into_bytes();
        let plain = StaticFile::plain("text/plain", text.clone());
        let gzip = plain.compressed();
        assert!(gzip.len() < text.len() / 10);
        let gzipped = StaticFile::gzipped("text/plain", gzip);
        assert_eq!(&*gzipped.as_it_is(), text);
        assert_eq!(&*plain.as_it_is(), text);
    }

    #[test]
    fn who_has_it_is_not_sent_it_again() {
        let file = Arc::new(StaticFile::plain("text/plain", *b"abc"));
        let tag = file.etag.clone();
        assert_eq!((tag.len(), file.fingerprint()), (34, &tag[1..17]));
        assert_eq!(file.answer(&asking(&tag)).status, 304);
        assert_eq!(file.answer(&asking(&format!("W/{tag}"))).status, 304);
        let other = Arc::new(StaticFile::plain("text/plain", *b"abd"));
        let answer = other.answer(&asking(&tag));
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/plain")));
        assert_ne!(answer.header("etag"), Some(&*tag));
    }
}
