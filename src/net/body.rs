//! Bodies: decompressed here, cut at the request's limit whatever they claim to be.

use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use flate2::read::MultiGzDecoder;
use ureq::http::HeaderMap;
use ureq::http::header::CONTENT_ENCODING;

use super::failure::probe_error;
use crate::modules::probe::{Phase, ProbeError};

/// What `Accept-Encoding` says. Brotli is understood but not asked for: its decoder may want a window of
/// 16 MiB, gzip's has 32 KiB, and there are hundreds of workers.
pub(super) const ACCEPT_ENCODING: &str = "gzip";

/// Compressed bytes are never many more than what they stand for; a stream of nothing but empty blocks is
/// cut off here.
const SLACK: u64 = 64 * 1024;

/// Reads `body` up to `limit` decoded bytes; the rest is left unread. Says whether there was more.
pub(super) fn read(
    headers: &HeaderMap,
    body: ureq::Body,
    limit: usize,
) -> Result<(Vec<u8>, bool), ProbeError> {
    let wire_limit = 2 * limit as u64 + SLACK;
    let mut raw = body.into_with_config().limit(wire_limit).reader();
    // An empty body is empty in every encoding.
    let mut first = [0];
    if read_one(&mut raw, &mut first)? == 0 {
        return Ok((Vec::new(), false));
    }
    let raw = (&first[..]).chain(raw);
    match encoding(headers) {
        Encoding::Identity => cut(raw, limit),
        Encoding::Gzip => cut(MultiGzDecoder::new(raw), limit),
        // The mark of a "large window" stream, which is no part of the standard (RFC 7932, 9.1): it would
        // have the decoder reserve up to 1 GiB.
        Encoding::Brotli if first[0] & 0x7f == 0x11 => {
            Err(ProbeError::Body("brotli with a window larger than the standard's".into()))
        }
        Encoding::Brotli => cut(Decompressor::new(raw, 4096), limit),
    }
}

enum Encoding {
    Identity,
    Gzip,
    Brotli,
}

/// An unknown name counts as none, as in browsers: sites write all sorts of things there.
fn encoding(headers: &HeaderMap) -> Encoding {
    let name = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default().trim();
    if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
        Encoding::Gzip
    } else if name.eq_ignore_ascii_case("br") {
        Encoding::Brotli
    } else {
        Encoding::Identity
    }
}

fn read_one(reader: &mut impl Read, byte: &mut [u8; 1]) -> Result<usize, ProbeError> {
    loop {
        match reader.read(byte) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map_err(body_error),
        }
    }
}

fn cut(reader: impl Read, limit: usize) -> Result<(Vec<u8>, bool), ProbeError> {
    let mut body = Vec::new();
    reader.take(limit as u64 + 1).read_to_end(&mut body).map_err(body_error)?;
    let truncated = body.len() > limit;
    body.truncate(limit);
    Ok((body, truncated))
}

/// A timeout stays one through the decoder; anything else is a body that broke off or cannot be decoded.
fn body_error(error: io::Error) -> ProbeError {
    probe_error(ureq::Error::from(error), Phase::Body)
}
