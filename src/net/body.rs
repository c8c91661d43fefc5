//! Reads and decompresses bodies, up to the request's limit.

use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use flate2::read::MultiGzDecoder;
use ureq::http::HeaderMap;
use ureq::http::header::CONTENT_ENCODING;

use super::failure::probe_error;
use crate::modules::probe::{Phase, ProbeError};

/// The value of `Accept-Encoding`. Brotli is decoded but not requested: its decoder may need a window of 16 MiB, gzip's
/// has 32 KiB, and there are hundreds of workers.
pub(super) const ACCEPT_ENCODING: &str = "gzip";

/// Reads at most `limit` decoded bytes of `body`. Returns them, and whether there are more. The received bytes are
/// limited by the request's [`Allowance`](super::allowance::Allowance).
pub(super) fn read(
    headers: &HeaderMap,
    body: ureq::Body,
    limit: usize,
) -> Result<(Vec<u8>, bool), ProbeError> {
    let mut raw = body.into_reader();
    // An empty body is empty in every content coding.
    let mut first = [0];
    if read_one(&mut raw, &mut first)? == 0 {
        return Ok((Vec::new(), false));
    }
    let raw = (&first[..]).chain(raw);
    match encoding(headers) {
        Encoding::Identity => truncate(raw, limit),
        Encoding::Gzip => truncate(MultiGzDecoder::new(raw), limit),
        // This is the first byte of a "large window" stream, which RFC 7932, section 9.1, does not allow. It would
        // make the decoder allocate up to 1 GiB.
        Encoding::Brotli if first[0] & 0x7f == 0x11 => {
            Err(ProbeError::Body("brotli window larger than RFC 7932 allows".into()))
        }
        Encoding::Brotli => truncate(Decompressor::new(raw, 4096), limit),
    }
}

enum Encoding {
    Identity,
    Gzip,
    Brotli,
}

/// Returns the content coding. An unknown coding is ignored, as in browsers, because sites send many invalid values.
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

fn truncate(reader: impl Read, limit: usize) -> Result<(Vec<u8>, bool), ProbeError> {
    let mut body = Vec::new();
    reader.take(limit as u64 + 1).read_to_end(&mut body).map_err(body_error)?;
    let truncated = body.len() > limit;
    body.truncate(limit);
    Ok((body, truncated))
}

/// Converts an error of the decoder: a timeout stays a timeout, and anything else means an incomplete or invalid body.
fn body_error(error: io::Error) -> ProbeError {
    probe_error(ureq::Error::from(error), Phase::Body)
}
