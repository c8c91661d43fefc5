//! Evidence: the judged answers of hits, and screenshots, which a search keeps if it was asked to.

use std::sync::Arc;

use flate2::Compression;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::probe::Response;
use crate::base::clock::millis;
use crate::base::encoding::{gzip, hex, sha256};

/// The most bytes of an answer that are kept.
const MAX_KEPT_BYTES: usize = 1024 * 1024;

/// What is known of a kept answer or screenshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeptAnswer {
    /// SHA-256 of the kept bytes in lower-case hexadecimal.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub sha256: String,
    /// The time at which it was kept: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    #[schema(examples("2026-05-06T07:08:09.010Z"))]
    pub at: Timestamp,
    /// The address that was asked. It is absent if it contains a key of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub address: Option<String>,
    /// The HTTP status.
    #[schema(minimum = 100, maximum = 999)]
    pub http_status: u16,
    /// The number of kept bytes, after the decompression of the answer.
    pub bytes: usize,
    /// Whether the answer has more bytes, which may be because its check did not need them.
    pub truncated: bool,
}

/// A kept answer with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What is known of it.
    pub answer: KeptAnswer,
    /// The kept bytes, compressed with gzip.
    pub gzip: Arc<[u8]>,
}

impl Kept {
    /// Keeps the answer to the request for this address.
    pub fn new(response: &Response, address: Option<String>) -> Self {
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
