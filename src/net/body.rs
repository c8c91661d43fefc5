//! Reads and decompresses bodies, up to the request's limit.

use std::io::{self, BufRead, BufReader, Read};

use encoding_rs::Encoding;
use flate2::bufread::GzDecoder;
use ureq::http::HeaderMap;
use ureq::http::header::{CONTENT_ENCODING, TRANSFER_ENCODING};

use super::failure::probe_error;
use crate::modules::probe::ProbeError;
use crate::modules::reason::Reason;

/// The value of `Accept-Encoding`. Deflate is not requested: servers mean two different things by it.
pub(super) const ACCEPT_ENCODING: &str = "gzip";

/// The most content codings of one body.
const MAX_CODINGS: usize = 4;

/// Reads at most `limit` decoded bytes of `body`. Returns them, and whether there are more. The received bytes are
/// limited by the request's [`Limits`](super::connection::Limits).
pub(super) fn read(
    headers: &HeaderMap,
    body: ureq::Body,
    limit: usize,
) -> Result<(Vec<u8>, bool), ProbeError> {
    let mut raw = BufReader::with_capacity(4096, body.into_reader());
    // An empty body is empty in every content coding.
    if is_empty(&mut raw)? {
        return Ok((Vec::new(), false));
    }
    let mut reader: Box<dyn BufRead + '_> = Box::new(&mut raw);
    for _ in 0..times_compressed(headers)? {
        // What follows the compressed body is ignored, as in Chromium.
        reader = Box::new(BufReader::with_capacity(4096, GzDecoder::new(reader)));
    }
    let mut decoded = Vec::new();
    let truncated = read_up_to(reader, limit, &mut decoded).map_err(body_error)?;
    if !truncated {
        // At the end of its answer, the connection can be used again.
        is_empty(&mut raw)?;
    }
    Ok((decoded, truncated))
}

/// Returns how many times the body is compressed, by its content and its transfer codings. An unknown one is an error, because
/// the body is not what the site shows. Values that sites confuse with codings are ignored, as in browsers. The connection
/// has already decoded `chunked`.
fn times_compressed(headers: &HeaderMap) -> Result<usize, ProbeError> {
    let mut times = 0;
    for value in headers.get_all(CONTENT_ENCODING).iter().chain(headers.get_all(TRANSFER_ENCODING)) {
        let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        for name in value.split(',').map(str::trim) {
            if matches!(name, "gzip" | "x-gzip") {
                times += 1;
            } else if !is_no_coding(name) {
                let name: String = name.chars().take(20).collect();
                return Err(Reason::Body.because(format!("its content coding `{name}` is not known")));
            }
        }
    }
    match times {
        0..=MAX_CODINGS => Ok(times),
        _ => Err(Reason::Body.because(format!("it has more than {MAX_CODINGS} content codings"))),
    }
}

/// Returns whether a content coding's name is the name of a charset, a media type or a transfer coding, or of none.
fn is_no_coding(name: &str) -> bool {
    matches!(name, "" | "identity" | "none" | "chunked" | "7bit" | "8bit" | "binary")
        || name.contains('/')
        || Encoding::for_label(name.as_bytes()).is_some()
}

fn is_empty(reader: &mut impl BufRead) -> Result<bool, ProbeError> {
    Ok(reader.fill_buf().map_err(body_error)?.is_empty())
}

/// Reads at most `limit` bytes into `body`, which is empty. Returns whether there are more.
pub(super) fn read_up_to(reader: impl Read, limit: usize, body: &mut Vec<u8>) -> io::Result<bool> {
    reader.take((limit as u64).saturating_add(1)).read_to_end(body)?;
    let is_longer = body.len() > limit;
    body.truncate(limit);
    Ok(is_longer)
}

/// Converts an error of the decoder: a timeout stays a timeout, and anything else means an incomplete or invalid body.
fn body_error(error: io::Error) -> ProbeError {
    probe_error(ureq::Error::from(error), Reason::TimeoutBody)
}
