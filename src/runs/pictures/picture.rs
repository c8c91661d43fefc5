//! [`Picture`]: a decoded picture: its hashes and its thumbnail.

use std::time::Instant;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::decode::decoded;
use super::likeness::Likeness;
use super::refusal::PictureRefusal;

/// The width and height of a thumbnail.
const THUMBNAIL_SIDE: usize = 64;

/// Held while a picture is decoded, so that the whole process decodes one at a time. A progressive JPEG takes up to
/// 200 MB.
pub(super) static DECODING: Mutex<()> = Mutex::new(());

/// A decoded picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The SHA-256 of the file as it was received.
    pub sha256: [u8; 32],
    /// The perceptual hash. It is `None` for a picture of only one or two colours, which is no evidence.
    pub likeness: Option<Likeness>,
    /// The middle of the picture as a PNG of 64 by 64 pixels, without transparency. It has at most 16 KiB.
    pub thumbnail: Vec<u8>,
}

impl Picture {
    /// Decodes a file, and waits until `deadline` at most for other pictures to be decoded. Returns `Ok(None)` if the
    /// deadline has passed.
    ///
    /// # Errors
    /// Returns the reason if the file is not a picture within the limits.
    pub fn decode(file: &[u8], deadline: Instant) -> Result<Option<Self>, PictureRefusal> {
        let Some(_decoding) = DECODING.try_lock_until(deadline) else { return Ok(None) };
        let small = decoded(file)?.thumbnail(THUMBNAIL_SIDE);
        Ok(Some(Self {
            sha256: Sha256::digest(file).into(),
            likeness: Likeness::of(&small),
            thumbnail: small.to_png().map_err(|_| PictureRefusal::Broken)?,
        }))
    }
}
