//! [`PictureFormat`]: the format of a picture, recognized by its first bytes.

/// A format that is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PictureFormat {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl PictureFormat {
    /// Returns the format of a file that begins with these bytes.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::WebP),
            _ => None,
        }
    }
}

/// Returns the width and height of each frame of a WebP file, as the frame states them. The header of the file may state
/// less, but a decoder reserves the memory that the frame asks for.
pub(super) fn webp_frames(file: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    let mut rest = file.get(12..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (kind, size) = (rest.get(..4)?, u32::from_le_bytes(rest.get(4..8)?.try_into().ok()?));
        let content = &rest[8..];
        // A chunk of odd size is followed by one byte of padding.
        let next = (size as usize).saturating_add(size as usize % 2);
        rest = content.get(next..).unwrap_or_default();
        Some(frame_size(kind, content))
    })
    .flatten()
}

/// Returns the size that a chunk with pixels states: RFC 9649, sections 2.5 and 3.4, and RFC 6386, section 9.1.
fn frame_size(kind: &[u8], content: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from(u16::from_le_bytes(content.get(at..at + 2)?.try_into().ok()?)));
    match kind {
        b"VP8 " => Some((number(6)? & 0x3fff, number(8)? & 0x3fff)),
        b"VP8L" => {
            let bits = u32::from_le_bytes(content.get(1..5)?.try_into().ok()?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        _ => None,
    }
}
