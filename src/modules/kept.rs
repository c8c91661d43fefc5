//! The judged answers of hits, which a search keeps as evidence if it was asked to.

use flate2::Compression;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::probe::Response;
use crate::base::clock::millis;
use crate::base::encoding::{gzip, hex, sha256};

/// The most bytes of an answer that are kept.
pub const MAX_KEPT_BYTES: usize = 1024 * 1024;

/// What is known of a kept answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptAnswer {
    /// SHA-256 of the kept bytes in lower-case hexadecimal.
    pub sha256: String,
    /// The time at which the check ended: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub at: Timestamp,
    /// The address that was asked. It is absent if it contains a key of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The HTTP status.
    pub http_status: u16,
    /// The number of kept bytes, after the decompression of the answer.
    pub bytes: usize,
    /// Whether the answer has more bytes.
    pub truncated: bool,
}

/// A kept answer with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What is known of it.
    pub answer: KeptAnswer,
    /// The kept bytes, compressed with gzip.
    pub gzip: std::sync::Arc<[u8]>,
}

impl Kept {
    /// Keeps the answer to the request for this address.
    pub(super) fn new(response: &Response, address: Option<String>) -> Self {
        let body = &response.body[..response.body.len().min(MAX_KEPT_BYTES)];
        let answer = KeptAnswer {
            sha256: hex(&sha256(body)),
            at: Timestamp::now(),
            address,
            http_status: response.status,
            bytes: body.len(),
            truncated: response.truncated || body.len() < response.body.len(),
        };
        Self { answer, gzip: gzip(body, Compression::default()) }
    }
}
