//! Digests of a response body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use serde_json::Value;

use crate::base::encoding::{hex, sha256};
use crate::base::words::words;

/// The line length of the base64 text that `mmh3` hashes, as in MIME (RFC 2045, section 6.8).
const LINE: usize = 76;

words! {
    /// An algorithm for the digest of a body.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Algorithm {
        Sha256 = "sha256",
        Md5 = "md5",
        /// The favicon hash that search engines for hosts use.
        Mmh3 = "mmh3",
    }
}

impl Algorithm {
    /// Returns the digest: lower-case hex digits, or a number for `mmh3`.
    pub(crate) fn digest(self, body: &[u8]) -> Value {
        match self {
            Self::Sha256 => Value::from(hex(&sha256(body))),
            Self::Md5 => Value::from(hex(&Md5::digest(body))),
            Self::Mmh3 => Value::from(favicon_hash(body)),
        }
    }
}

/// Returns the MurmurHash3 of the body in base64, with a line break after every 76 characters and at the end.
fn favicon_hash(body: &[u8]) -> i32 {
    let encoded = STANDARD.encode(body);
    let lines = encoded.as_bytes().chunks(LINE);
    let text: Vec<u8> = lines.flat_map(|line| line.iter().chain(b"\n")).copied().collect();
    murmur3(&text).cast_signed()
}

/// Computes MurmurHash3 (x86, 32 bits, seed 0).
fn murmur3(bytes: &[u8]) -> u32 {
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut hash = blocks.iter().fold(0u32, |hash, block| {
        let hash = hash ^ scramble(u32::from_le_bytes(*block));
        hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    // An empty tail is zero, which scrambles to zero.
    hash ^= scramble(tail.iter().rev().fold(0u32, |word, byte| word << 8 | u32::from(*byte)));
    #[expect(clippy::cast_possible_truncation, reason = "MurmurHash3 takes the length as 32 bits")]
    let length = bytes.len() as u32;
    hash ^= length;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

fn scramble(block: u32) -> u32 {
    block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}
