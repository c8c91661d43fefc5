//! Chooses the content coding of an answer: identity or gzip (RFC 9110, sections 8.4 and 12.5.3).

use std::borrow::Cow;
use std::sync::Arc;

use flate2::Compression;

use super::response::Response;
use crate::base::encoding::gzip;

/// The size below which bodies are not compressed. With its head, such an answer fits into one packet.
const MIN_COMPRESSED_BYTES: usize = 1024;
/// The content coding of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// The identity coding. No client gets this answer compressed.
    Only,
    /// The identity coding. Another client may get this answer compressed.
    Identity,
    /// The gzip coding.
    Gzip,
}

impl Encoding {
    /// Chooses the coding of a response for a client that accepts gzip or does not.
    pub(super) fn choose(response: &Response, accepts_gzip: bool) -> Self {
        if response.file.is_some() {
            return if accepts_gzip { Self::Gzip } else { Self::Identity };
        }
        if response.is_plain || !response.header("Content-Type").is_some_and(is_compressible) {
            Self::Only
        } else if accepts_gzip && (response.status == 304 || response.body.len() >= MIN_COMPRESSED_BYTES) {
            Self::Gzip
        } else {
            Self::Identity
        }
    }

    /// Returns the body in this coding.
    pub(super) fn body(self, response: &Response) -> Arc<[u8]> {
        match (self, &response.file) {
            (Self::Gzip, Some(file)) => file.compressed(),
            (Self::Only | Self::Identity, Some(file)) => Arc::clone(&file.body),
            // The lowest level already shrinks JSON to a sixth. A higher level takes several times as long and saves
            // another tenth.
            (Self::Gzip, None) => gzip(&response.body, Compression::fast()),
            (Self::Only | Self::Identity, None) => Arc::clone(&response.body),
        }
    }

    /// Returns the value of a header for this coding. The entity tag of a compressed body becomes weak, because a
    /// strong tag would mean that both codings are equal byte by byte. `If-None-Match` matches weak tags, too.
    pub(super) fn header<'a>(self, name: &str, value: &'a str) -> Cow<'a, str> {
        if self == Self::Gzip && name.eq_ignore_ascii_case("etag") && !value.starts_with("W/") {
            Cow::Owned(format!("W/{value}"))
        } else {
            Cow::Borrowed(value)
        }
    }
}

/// Returns whether bodies of that type are compressed, which applies to JSON, CSV and HTML. A page that contains a token
/// must mask it, since the length of the compressed page would reveal something about it.
fn is_compressible(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    ["application/json", "application/x-ndjson", "text/csv", "text/html"].contains(&kind.as_str())
        || kind.ends_with("+json")
}

/// Returns whether the values of `Accept-Encoding` accept gzip, which need not be preferred: it is always worth it.
pub(super) fn accepts_gzip<'a>(mut values: impl Iterator<Item = &'a str>) -> bool {
    let is_gzip = |item: &str| {
        let (coding, weight) = item.split_once(';').unwrap_or((item, "q=1"));
        let weight = weight.split_once('=').and_then(|(_, weight)| weight.trim().parse::<f32>().ok());
        ["gzip", "x-gzip"].iter().any(|name| coding.trim().eq_ignore_ascii_case(name))
            && weight.is_some_and(|weight| weight > 0.0)
    };
    values.any(|value| value.split(',').any(is_gzip))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that answers to waits are compressed on stream threads, whose stacks are small.
    #[test]
    fn compression_fits_on_a_small_stack() {
        let work = || {
            let response = Response::new(200, "application/json", vec![b'x'; 300_000]);
            Encoding::Gzip.body(&response).len()
        };
        let thread = std::thread::Builder::new().stack_size(96 * 1024).spawn(work).unwrap();
        assert!(thread.join().unwrap() > 0);
    }
}
