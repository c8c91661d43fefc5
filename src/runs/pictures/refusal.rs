//! [`PictureRefusal`]: why a picture is not decoded.

/// A reason for which a picture is not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PictureRefusal {
    /// The bytes begin like no PNG, JPEG, GIF or WebP. SVG and AVIF are not decoded.
    #[error("unknown format: expected PNG, JPEG, GIF or WebP")]
    Format,
    /// The picture has more than one frame.
    #[error("animated: expected one frame")]
    Animated,
    /// Its header states more pixels, or a longer side, than is allowed.
    #[error("too many pixels: at most 16 million are allowed, and 16,384 on a side")]
    TooManyPixels,
    /// It is too small to show anybody, such as a spacer of one pixel.
    #[error("too small: expected 8 pixels on each side")]
    TooSmall,
    /// It is damaged, or ends too early.
    #[error("damaged or truncated")]
    Broken,
}
