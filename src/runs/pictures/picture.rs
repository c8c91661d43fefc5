//! [`Picture`]: a decoded picture: its hashes and its thumbnail.

use std::io::Cursor;
use std::time::Instant;

use image::codecs::gif::GifDecoder;
use image::codecs::jpeg::JpegDecoder;
use image::codecs::png::{CompressionType, FilterType, PngDecoder, PngEncoder};
use image::codecs::webp::WebPDecoder;
use image::imageops::{crop_imm, thumbnail};
use image::{AnimationDecoder, DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, Limits};
use image::{GenericImageView, ImageError, Rgb, RgbImage, Rgba};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::format::{PictureFormat, webp_frames};
use super::likeness::Likeness;
use super::refusal::PictureRefusal;

/// The width and height of a thumbnail.
const THUMBNAIL_SIDE: u32 = 64;
/// The most pixels that a picture may have.
const MAX_PIXELS: u64 = 16_000_000;
/// The longest side of a picture.
const MAX_SIDE: u32 = 16_384;
/// The shortest side of a picture.
const MIN_SIDE: u32 = 8;
/// The most bytes that the pixels of a picture may take, decoded: [`MAX_PIXELS`] in colours with transparency, with 8
/// bits for each channel.
const MAX_DECODED_BYTES: u64 = 4 * MAX_PIXELS;
/// The most bytes of what stands before the pixels of a PNG, such as a colour profile, decompressed.
const MAX_PROFILE_BYTES: u64 = 4 * 1024 * 1024;
/// The colour behind transparent parts.
const BACKGROUND: u8 = 255;

/// Held while a picture is decoded, so that the whole process decodes one at a time. A progressive JPEG takes up to
/// three times [`MAX_DECODED_BYTES`].
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
        let format = PictureFormat::of(file).ok_or(PictureRefusal::Format)?;
        let Some(_decoding) = DECODING.try_lock_until(deadline) else { return Ok(None) };
        let small = reduced(&pixels(file, format)?);
        Ok(Some(Self {
            sha256: Sha256::digest(file).into(),
            likeness: Likeness::of(&small),
            thumbnail: encoded(&small)?,
        }))
    }
}

/// Decodes the pixels, after the limits were checked on the header.
fn pixels(file: &[u8], format: PictureFormat) -> Result<DynamicImage, PictureRefusal> {
    let reader = Cursor::new(file);
    match format {
        PictureFormat::Png => {
            let decoder = PngDecoder::with_limits(reader, limits(MAX_PROFILE_BYTES)).map_err(refusal)?;
            if decoder.is_apng().map_err(refusal)? {
                return Err(PictureRefusal::Animated);
            }
            still(decoder)
        }
        PictureFormat::Jpeg => still(JpegDecoder::new(reader).map_err(refusal)?),
        PictureFormat::Gif => {
            let mut decoder = GifDecoder::new(reader).map_err(refusal)?;
            check_size(&decoder)?;
            // Each frame is drawn onto a second buffer, from a third one.
            decoder.set_limits(limits(3 * MAX_DECODED_BYTES)).map_err(refusal)?;
            let mut frames = decoder.into_frames();
            let first = frames.next().ok_or(PictureRefusal::Broken)?.map_err(refusal)?;
            match frames.next() {
                None => Ok(first.into_buffer().into()),
                Some(Ok(_)) => Err(PictureRefusal::Animated),
                Some(Err(error)) => Err(refusal(error)),
            }
        }
        PictureFormat::WebP => {
            let decoder = WebPDecoder::new(reader).map_err(refusal)?;
            if decoder.has_animation() {
                return Err(PictureRefusal::Animated);
            }
            webp_frames(file).try_for_each(check_sides)?;
            still(decoder)
        }
    }
}

fn limits(max_bytes: u64) -> Limits {
    let mut limits = Limits::no_limits();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(max_bytes);
    limits
}

fn still(mut decoder: impl ImageDecoder) -> Result<DynamicImage, PictureRefusal> {
    check_size(&decoder)?;
    decoder.set_limits(limits(MAX_DECODED_BYTES)).map_err(refusal)?;
    DynamicImage::from_decoder(decoder).map_err(refusal)
}

fn check_size(decoder: &impl ImageDecoder) -> Result<(), PictureRefusal> {
    check_sides(decoder.dimensions())?;
    if decoder.total_bytes() > MAX_DECODED_BYTES {
        return Err(PictureRefusal::TooMuchMemory);
    }
    Ok(())
}

fn check_sides((width, height): (u32, u32)) -> Result<(), PictureRefusal> {
    if width > MAX_SIDE || height > MAX_SIDE || u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(PictureRefusal::TooManyPixels);
    }
    if width < MIN_SIDE || height < MIN_SIDE {
        return Err(PictureRefusal::TooSmall);
    }
    Ok(())
}

fn refusal(error: ImageError) -> PictureRefusal {
    match error {
        ImageError::Limits(limit) => match limit.kind() {
            image::error::LimitErrorKind::DimensionError => PictureRefusal::TooManyPixels,
            _ => PictureRefusal::TooMuchMemory,
        },
        ImageError::Unsupported(_) => PictureRefusal::Format,
        _ => PictureRefusal::Broken,
    }
}

/// Returns the middle of a picture in the size of a thumbnail, on the background.
fn reduced(picture: &DynamicImage) -> RgbImage {
    let (width, height) = picture.dimensions();
    let side = width.min(height);
    let middle = crop_imm(picture, (width - side) / 2, (height - side) / 2, side, side);
    let small = thumbnail(&*middle, THUMBNAIL_SIDE, THUMBNAIL_SIDE);
    RgbImage::from_fn(THUMBNAIL_SIDE, THUMBNAIL_SIDE, |x, y| opaque(*small.get_pixel(x, y)))
}

fn opaque(Rgba([red, green, blue, alpha]): Rgba<u8>) -> Rgb<u8> {
    let (alpha, background) = (u16::from(alpha), u16::from(BACKGROUND));
    let mixed = |channel: u8| (u16::from(channel) * alpha + background * (255 - alpha)) / 255;
    Rgb([red, green, blue].map(|channel| u8::try_from(mixed(channel)).unwrap_or(u8::MAX)))
}

fn encoded(picture: &RgbImage) -> Result<Vec<u8>, PictureRefusal> {
    let mut file = Vec::new();
    let encoder = PngEncoder::new_with_quality(&mut file, CompressionType::Default, FilterType::Adaptive);
    let (width, height) = picture.dimensions();
    encoder.write_image(picture, width, height, ExtendedColorType::Rgb8).map_err(refusal)?;
    Ok(file)
}
