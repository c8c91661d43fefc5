//! [`Likeness`]: a perceptual hash, by which scaled and recompressed copies of a picture are recognized.

use std::fmt;

use super::pixels::{Colour, Pixels};

/// The number of bits by which two hashes of the same picture may differ. Those of unrelated pictures differ by 32 on
/// average.
const MOST_DIFFERENT_BITS: u32 = 4;
/// The share of the pixels from which on two colours make up a picture: a letter on a disc, a silhouette, a plain square.
const PLAIN_SHARE: f64 = 0.85;
/// The most by which a pixel of one colour differs from it, in each channel.
const ONE_COLOUR: u8 = 28;

/// A difference hash of 64 bits. The picture is reduced to 9 by 8 shades of grey. Each bit tells whether a pixel is
/// brighter than the one to its right: from the top left, the highest bit first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Likeness(pub u64);

impl Likeness {
    /// Returns the hash of a picture. Returns `None` if two colours make up nearly all of it: platforms draw such
    /// pictures themselves, and unrelated ones look alike.
    pub(super) fn of(picture: &Pixels) -> Option<Self> {
        if is_plain(picture) {
            return None;
        }
        let small = picture.reduced((0, 0), (picture.width, picture.height), (9, 8));
        let shades: Vec<u32> = small.colours().map(shade).collect();
        let pairs = shades.chunks_exact(9).flat_map(|row| row.windows(2));
        Some(Self(pairs.fold(0, |hash, pair| hash << 1 | u64::from(pair[0] > pair[1]))))
    }

    /// Parses the 16 hexadecimal digits that [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hash = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u64::from_str_radix(text, 16).ok().filter(|_| is_hash).map(Self)
    }

    /// Returns whether two hashes are those of nearly the same picture.
    pub fn is_near(self, other: Self) -> bool {
        (self.0 ^ other.0).count_ones() <= MOST_DIFFERENT_BITS
    }
}

impl fmt::Display for Likeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Returns the brightness of a colour, as a person sees it (ITU-R BT.709).
fn shade([red, green, blue]: Colour) -> u32 {
    (2126 * u32::from(red) + 7152 * u32::from(green) + 722 * u32::from(blue)) / 10_000
}

/// Returns whether at most two colours make up nearly all of a picture.
fn is_plain(picture: &Pixels) -> bool {
    let mut left: Vec<Colour> = picture.colours().collect();
    let all = left.len();
    for _ in 0..2 {
        let Some(colour) = most_frequent(&left) else { return true };
        left.retain(|pixel| !is_one_colour(*pixel, colour));
    }
    (all - left.len()) as f64 >= PLAIN_SHARE * all as f64
}

/// Returns the mean of the pixels in the most frequent of 4,096 ranges of colours.
fn most_frequent(pixels: &[Colour]) -> Option<Colour> {
    let range = |[red, green, blue]: &Colour| {
        usize::from(red >> 4) << 8 | usize::from(green >> 4) << 4 | usize::from(blue >> 4)
    };
    let mut counts = vec![0u32; 4096];
    pixels.iter().for_each(|pixel| counts[range(pixel)] += 1);
    let (most, count) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
    let mut sums = [0u32; 3];
    for pixel in pixels.iter().filter(|pixel| range(pixel) == most) {
        sums.iter_mut().zip(*pixel).for_each(|(sum, channel)| *sum += u32::from(channel));
    }
    (*count > 0).then(|| sums.map(|sum| u8::try_from(sum / count).unwrap_or(u8::MAX)))
}

fn is_one_colour(pixel: Colour, colour: Colour) -> bool {
    pixel.iter().zip(colour).all(|(one, other)| one.abs_diff(other) <= ONE_COLOUR)
}
