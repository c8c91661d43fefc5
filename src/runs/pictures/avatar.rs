//! [`Avatar`]: what a result says about its profile picture, and [`Likeness`]: the hash by which copies are recognized.

use std::num::ParseIntError;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::pixels::{Colour, Pixels};
use crate::model::entity::identified::web_address;
use crate::runs::leads::links::texts;

/// The metadata member with the address of the picture, which modules extract.
pub const AVATAR_URL: &str = "avatar_url";
/// The metadata member that describes the picture, once it was fetched.
pub const AVATAR: &str = "avatar";

/// The number of bits by which two hashes of the same picture may differ. Those of unrelated pictures differ by 32 on
/// average.
const MOST_DIFFERENT_BITS: u32 = 4;
/// The share of the pixels from which on two colours make up a picture: a letter on a disc, a silhouette, a plain square.
const PLAIN_SHARE: f64 = 0.85;
/// The most by which a pixel of one colour differs from it, in each channel.
const ONE_COLOUR: u8 = 28;

/// The hashes of a profile picture that was fetched. The thumbnail is stored beside the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Avatar {
    /// The SHA-256 of the file, in hex.
    pub sha256: String,
    /// The perceptual hash. It is `None` for a picture of only one or two colours, which is no evidence.
    #[serde(rename = "phash", default, skip_serializing_if = "Option::is_none")]
    pub likeness: Option<Likeness>,
}

impl Avatar {
    /// Reads the member [`AVATAR`]. Returns `None` if there is none.
    pub fn of(metadata: &Map<String, Value>) -> Option<Self> {
        Self::deserialize(metadata.get(AVATAR)?).ok()
    }
}

/// Returns the address of the picture that a module has extracted, if it is a web address.
pub fn picture_address(metadata: &Map<String, Value>) -> Option<url::Url> {
    web_address(texts(metadata.get(AVATAR_URL)?).next()?)
}

/// A difference hash of 64 bits, as JSON in 16 hexadecimal digits. The picture is reduced to 9 by 8 shades of grey. Each
/// bit says whether a pixel is brighter than the one to its right: from the top left, the highest bit first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
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

    /// Returns whether two hashes are those of nearly the same picture.
    pub fn is_near(self, other: Self) -> bool {
        (self.0 ^ other.0).count_ones() <= MOST_DIFFERENT_BITS
    }
}

impl From<Likeness> for String {
    fn from(Likeness(bits): Likeness) -> Self {
        format!("{bits:016x}")
    }
}

impl TryFrom<String> for Likeness {
    type Error = ParseIntError;

    fn try_from(digits: String) -> Result<Self, Self::Error> {
        u64::from_str_radix(&digits, 16).map(Self)
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
        left.retain(|pixel| pixel.iter().zip(colour).any(|(one, other)| one.abs_diff(other) > ONE_COLOUR));
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn members(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn an_avatar_is_read_as_it_was_written() {
        let sha256 = "0f".repeat(32);
        for (likeness, json) in [
            (None, json!({"sha256": sha256})),
            (Some(Likeness(0xff_0000_1234_abcd)), json!({"sha256": sha256, "phash": "00ff00001234abcd"})),
        ] {
            let avatar = Avatar { sha256: sha256.clone(), likeness };
            assert_eq!(json!(avatar), json);
            assert_eq!(Avatar::of(&members(&json!({"avatar": json}))), Some(avatar));
        }
        for other in [json!({}), json!({"avatar": "x"}), json!({"avatar": {"sha256": "", "phash": "x"}})] {
            assert_eq!(Avatar::of(&members(&other)), None);
        }
        assert!(Likeness(0xff).is_near(Likeness(0xf0)) && !Likeness(0xff).is_near(Likeness(0x1e0)));
    }

    #[test]
    fn only_web_addresses_lead_to_pictures() {
        let address = |value: Value| picture_address(&members(&json!({"avatar_url": value}))).is_some();
        assert!(address(json!("https://a.example/p.png")));
        assert!(address(json!(["http://a.example/p.png", "https://b.example"])));
        for other in ["data:image/png;base64,AA", "/p.png", "file:///etc/passwd"] {
            assert!(!address(json!(other)), "{other}");
        }
        assert!(!address(json!(7)) && !address(json!([])));
    }
}
