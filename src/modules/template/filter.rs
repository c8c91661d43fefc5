//! Filters of template values, written as `{query|FILTER}`.

use std::net::IpAddr;

use md5::{Digest as _, Md5};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use crate::base::encoding::{hex, percent_encode, sha256};
use crate::base::words::words;
use crate::modules::public_suffix::suffix_with_label;

words! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Filter {
        Lower = "lower",
        Md5 = "md5",
        Sha256 = "sha256",
        Wkd = "wkd",
        First56 = "first_56",
        Registrable = "registrable",
        Label = "label",
        Tld = "tld",
        ReverseIp = "reverse_ip",
        UrlEncode = "urlencode",
    }
}

impl Filter {
    pub(super) fn read(name: &str) -> Result<Self, String> {
        Self::from_name(name).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            format!("`|{name}` is not a filter; expected {known}")
        })
    }

    pub(super) fn is_hash(self) -> bool {
        matches!(self, Self::Md5 | Self::Sha256 | Self::Wkd)
    }

    /// Returns the filtered value, or `None` if the value has no such part.
    pub(super) fn apply(self, value: &str) -> Option<String> {
        Some(match self {
            Self::Lower => value.to_lowercase(),
            Self::Md5 => hex(&Md5::digest(value.to_lowercase())),
            Self::Sha256 => hex(&sha256(value.to_lowercase())),
            Self::Wkd => {
                z_base_32(digest(&SHA1_FOR_LEGACY_USE_ONLY, value.to_lowercase().as_bytes()).as_ref())
            }
            Self::First56 => value.chars().take(56).collect(),
            Self::Registrable => suffix_with_label(value)?.to_owned(),
            Self::Label => suffix_with_label(value)?.split('.').next()?.to_owned(),
            Self::Tld => value.rsplit_once('.')?.1.to_owned(),
            Self::ReverseIp => reverse_ip(value.trim().parse().ok()?),
            Self::UrlEncode => percent_encode(value),
        })
    }
}

/// Returns the z-base-32 encoding that Web Key Directories use (draft-koch-openpgp-webkey-service): five bits per letter.
/// The bytes are a multiple of five.
fn z_base_32(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"ybndrfg8ejkmcpqxot1uwisza345h769";
    let letters = bytes.chunks(5).flat_map(|five| {
        let word = five.iter().fold(0usize, |word, byte| (word << 8) | usize::from(*byte));
        (0..8).rev().map(move |place| char::from(LETTERS[(word >> (5 * place)) & 31]))
    });
    letters.collect()
}

/// Returns an address as in reverse zones and block lists, without the zone (RFC 1035, section 3.5; RFC
/// 3596, section 2.5).
fn reverse_ip(address: IpAddr) -> String {
    let parts: Vec<String> = match address {
        IpAddr::V4(address) => address.octets().iter().rev().map(u8::to_string).collect(),
        IpAddr::V6(address) => {
            let digits = address.octets().into_iter().rev().flat_map(|byte| [byte & 15, byte >> 4]);
            digits.map(|digit| format!("{digit:x}")).collect()
        }
    };
    parts.join(".")
}
