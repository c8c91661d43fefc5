//! [`PictureRefusal`]: why a picture is not decoded.

use std::fmt;

/// A reason for which a picture is not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureRefusal {
    /// The bytes begin like no PNG, JPEG, GIF or WebP. SVG and AVIF are not decoded.
    Format,
    /// The picture has more than one frame.
    Animated,
    /// Its header states more pixels, or a longer side, than is allowed.
    TooManyPixels,
    /// It is too small to show anybody, such as a spacer of one pixel.
    TooSmall,
    /// It is damaged, or ends too early.
    Broken,
}

impl fmt::Display for PictureRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => "unknown format: expected PNG, JPEG, GIF or WebP",
            Self::Animated => "animated: expected one frame",
            Self::TooManyPixels => "too many pixels: at most 16 million are allowed, and 16,384 on a side",
            Self::TooSmall => "too small: expected 8 pixels on each side",
            Self::Broken => "damaged or truncated",
        })
    }
}

impl std::error::Error for PictureRefusal {}
