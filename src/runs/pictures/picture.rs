//! [`Picture`]: a decoded picture: its hashes and its thumbnail. It is fetched through the same guarded prober as every
//! check. The limits are checked on the header of a file before its pixels are decoded.

use std::io::Cursor;
use std::time::Instant;

use image_webp::WebPDecoder;
use log::debug;
use parking_lot::Mutex;
use url::Url;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::avatar::{Avatar, Likeness};
use super::pixels::Pixels;
use crate::base::encoding::{hex, sha256};
use crate::modules::definition::{Method, Via};
use crate::modules::probe::{CookieJar, Prober, Request, Trace};

/// The most pixels that a picture may have.
const MAX_PIXELS: u64 = 16_000_000;
/// The longest side of a picture.
const MAX_SIDE: u32 = 16_384;
/// The shortest side of a picture.
const MIN_SIDE: u32 = 8;
/// The most bytes that the decoder of a PNG may take besides the pixels.
const MAX_PNG_BYTES: usize = 4 * 1024 * 1024;

/// The width and height of a thumbnail.
const THUMBNAIL_SIDE: usize = 64;

/// The most bytes of a picture's file.
pub const MAX_FILE_BYTES: usize = 512 * 1024;
/// The most redirects that are followed to a picture, as for a check.
const MAX_REDIRECTS: u8 = 5;
const ACCEPT: &str = "image/webp,image/png,image/jpeg,image/gif;q=0.9";

/// Held while a picture is decoded, so that the whole process decodes one at a time. A progressive JPEG takes up to
/// 200 MB.
pub(super) static DECODING: Mutex<()> = Mutex::new(());

/// The reasons for which a picture is not decoded.
pub(super) const UNKNOWN: &str = "unknown format: expected PNG, JPEG, GIF or WebP";
pub(super) const ANIMATED: &str = "animated: expected one frame";
pub(super) const TOO_LARGE: &str = "too many pixels: expected at most 16 million, and 16,384 on a side";
pub(super) const TOO_SMALL: &str = "too small: expected 8 pixels on each side";
pub(super) const BROKEN: &str = "damaged or truncated";
pub(super) const LATE: &str = "not decoded in time";

type Result<T> = std::result::Result<T, &'static str>;

/// A decoded picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The hashes of the file as it was received, and of what it shows.
    pub avatar: Avatar,
    /// The middle of the picture as a PNG of 64 by 64 pixels, without transparency. It has at most 16 KiB.
    pub thumbnail: Vec<u8>,
}

impl Picture {
    /// Decodes a file, and waits until `deadline` at most for other pictures to be decoded.
    ///
    /// # Errors
    /// Returns the reason if the deadline has passed, or the file is not a picture within the limits.
    pub fn decode(file: &[u8], deadline: Instant) -> Result<Self> {
        let _decoding = DECODING.try_lock_until(deadline).ok_or(LATE)?;
        let small = decoded(file)?.thumbnail(THUMBNAIL_SIDE);
        Ok(Self {
            avatar: Avatar { sha256: hex(&sha256(file)), likeness: Likeness::of(&small) },
            thumbnail: small.to_png().map_err(|_| BROKEN)?,
        })
    }
}

/// Decodes a file whose format is recognized by its first bytes.
///
/// # Errors
/// Returns the reason if the file is not a picture within the limits.
pub(super) fn decoded(file: &[u8]) -> Result<Pixels> {
    match file {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => png(file),
        [0xff, 0xd8, 0xff, ..] => jpeg(file),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => gif(file),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp(file),
        _ => Err(UNKNOWN),
    }
}

fn png(file: &[u8]) -> Result<Pixels> {
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(file), png::Limits { bytes: MAX_PNG_BYTES });
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let header = decoder.read_header_info().map_err(broken)?;
    let (width, height) = sides(header.width, header.height)?;
    let mut reader = decoder.read_info().map_err(broken)?;
    if reader.info().animation_control().is_some() {
        return Err(ANIMATED);
    }
    let channels = reader.output_color_type().0.samples();
    let mut bytes = vec![0; width * height * channels];
    reader.next_frame(&mut bytes).map_err(broken)?;
    Ok(Pixels { width, height, channels, bytes })
}

fn jpeg(file: &[u8]) -> Result<Pixels> {
    let options =
        DecoderOptions::default().set_strict_mode(false).set_max_width(usize::MAX).set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(Cursor::new(file), options);
    decoder.decode_headers().map_err(broken)?;
    let info = decoder.info().ok_or(BROKEN)?;
    let (width, height) = sides(info.width.into(), info.height.into())?;
    Ok(Pixels { width, height, channels: 3, bytes: decoder.decode().map_err(broken)? })
}

fn gif(file: &[u8]) -> Result<Pixels> {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(file).map_err(broken)?;
    let (width, height) = sides(decoder.width().into(), decoder.height().into())?;
    let frame = decoder.next_frame_info().map_err(broken)?.ok_or(BROKEN)?;
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    let (drawn_width, drawn_height) = sides(frame.width.into(), frame.height.into())?;
    let line = 4 * drawn_width;
    let mut drawn = vec![0; line * drawn_height];
    decoder.read_into_buffer(&mut drawn).map_err(broken)?;
    if decoder.next_frame_info().map_err(broken)?.is_some() {
        return Err(ANIMATED);
    }
    // The frame may lie anywhere in the picture, and reach beyond it.
    let mut bytes = vec![0; 4 * width * height];
    for (row, from) in bytes.chunks_exact_mut(4 * width).skip(top).zip(drawn.chunks_exact(line)) {
        let to = row.get_mut(4 * left..).unwrap_or_default();
        let shown = to.len().min(line);
        to[..shown].copy_from_slice(&from[..shown]);
    }
    Ok(Pixels { width, height, channels: 4, bytes })
}

fn webp(file: &[u8]) -> Result<Pixels> {
    let mut decoder = WebPDecoder::new(Cursor::new(file)).map_err(broken)?;
    if decoder.is_animated() {
        return Err(ANIMATED);
    }
    webp_frames(file).try_for_each(|(width, height)| sides(width, height).map(drop))?;
    let (width, height) = decoder.dimensions();
    let (width, height) = sides(width, height)?;
    let channels = if decoder.has_alpha() { 4 } else { 3 };
    let mut bytes = vec![0; width * height * channels];
    decoder.read_image(&mut bytes).map_err(broken)?;
    Ok(Pixels { width, height, channels, bytes })
}

/// Returns the width and height of each frame of a WebP file, as the frame states them: RFC 9649, sections 2.5 and 3.4,
/// and RFC 6386, section 9.1. The header of the file may state less, but the decoder reserves the memory that the frame
/// asks for.
fn webp_frames(file: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    let mut rest = file.get(12..).unwrap_or_default();
    let mut chunk = move || {
        let (kind, size, content) = (rest.get(..4)?, number(rest, 4)?, &rest[8..]);
        // A chunk of odd size is followed by one byte of padding.
        let next = (size as usize).saturating_add(size as usize % 2);
        rest = content.get(next..).unwrap_or_default();
        Some((kind, content))
    };
    let frame = |(kind, content): (&[u8], &[u8])| match kind {
        b"VP8 " => number(content, 6).map(|bits| (bits & 0x3fff, bits >> 16 & 0x3fff)),
        b"VP8L" => number(content, 1).map(|bits| ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)),
        _ => None,
    };
    std::iter::from_fn(move || chunk().map(frame)).flatten()
}

/// Returns the 32 bits of a file from `at`, with the lowest byte first.
fn number(file: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?))
}

/// Returns the width and height of a picture or of its frame, if they are within the limits.
fn sides(width: u32, height: u32) -> Result<(usize, usize)> {
    if width > MAX_SIDE || height > MAX_SIDE || u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(TOO_LARGE);
    }
    let is_small = width < MIN_SIDE || height < MIN_SIDE;
    if is_small { Err(TOO_SMALL) } else { Ok((width as usize, height as usize)) }
}

fn broken<E>(_: E) -> &'static str {
    BROKEN
}

/// Fetches and decodes the picture at an address until `deadline` at most. Returns `None` if there is no picture within
/// the limits: that is no failure of the site.
pub(in crate::runs) fn fetch(
    prober: &dyn Prober,
    url: Url,
    trace: Trace,
    deadline: Instant,
) -> Option<Picture> {
    let module = trace.module.clone();
    let request = Request {
        method: Method::Get,
        via: Via::Http,
        url,
        headers: vec![("Accept".into(), ACCEPT.into())],
        body: None,
        max_redirects: MAX_REDIRECTS,
        body_limit: MAX_FILE_BYTES,
        marks: Vec::new(),
        trace,
    };
    let picture = match prober.send(&request, &mut CookieJar::default(), deadline) {
        Ok(answer) if answer.status == 200 && !answer.truncated => {
            Picture::decode(&answer.body, deadline).map_err(str::to_owned)
        }
        Ok(answer) => Err(format!("status {}, truncated: {}", answer.status, answer.truncated)),
        Err(error) => Err(error.reason.to_string()),
    };
    picture.inspect_err(|why| debug!("no picture for {module}: {why}")).ok()
}
