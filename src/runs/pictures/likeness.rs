//! [`Likeness`]: a perceptual hash, by which scaled and recompressed copies of a picture are recognized.

use std::fmt;

use image::imageops::{grayscale, thumbnail};
use image::{Rgb, RgbImage};

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
    pub(super) fn of(picture: &RgbImage) -> Option<Self> {
        if is_plain(picture) {
            return None;
        }
        let small = thumbnail(&grayscale(picture), 9, 8);
        let shade = |column: u32, row: u32| small.get_pixel(column, row).0;
        let is_brighter = |row: u32, column: u32| shade(column, row) > shade(column + 1, row);
        let bits = (0..8).flat_map(|row| (0..8).map(move |column| (row, column)));
        Some(Self(bits.fold(0, |hash, (row, column)| hash << 1 | u64::from(is_brighter(row, column)))))
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

/// Returns whether at most two colours make up nearly all of a picture.
fn is_plain(picture: &RgbImage) -> bool {
    let mut left: Vec<Rgb<u8>> = picture.pixels().copied().collect();
    let all = left.len();
    for _ in 0..2 {
        let Some(colour) = most_frequent(&left) else { return true };
        left.retain(|pixel| !is_one_colour(*pixel, colour));
    }
    (all - left.len()) as f64 >= PLAIN_SHARE * all as f64
}

/// Returns the mean of the pixels in the most frequent of 4,096 ranges of colours.
fn most_frequent(pixels: &[Rgb<u8>]) -> Option<Rgb<u8>> {
    let range = |Rgb([red, green, blue]): &Rgb<u8>| {
        usize::from(red >> 4) << 8 | usize::from(green >> 4) << 4 | usize::from(blue >> 4)
    };
    let mut counts = vec![0u32; 4096];
    pixels.iter().for_each(|pixel| counts[range(pixel)] += 1);
    let (most, count) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
    let mut sums = [0u32; 3];
    for pixel in pixels.iter().filter(|pixel| range(pixel) == most) {
        sums.iter_mut().zip(pixel.0).for_each(|(sum, channel)| *sum += u32::from(channel));
    }
    (*count > 0).then(|| Rgb(sums.map(|sum| u8::try_from(sum / count).unwrap_or(u8::MAX))))
}

fn is_one_colour(pixel: Rgb<u8>, colour: Rgb<u8>) -> bool {
    pixel.0.iter().zip(colour.0).all(|(one, other)| one.abs_diff(other) <= ONE_COLOUR)
}
