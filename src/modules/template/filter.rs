//! `{query|FILTER}`.

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::Place;
use super::escape;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    Lower,
    Md5,
    Sha1,
    Sha256,
    Registrable,
    Label,
    UrlEncode,
}

const NAMES: [(&str, Filter); 7] = [
    ("lower", Filter::Lower),
    ("md5", Filter::Md5),
    ("sha1", Filter::Sha1),
    ("sha256", Filter::Sha256),
    ("registrable", Filter::Registrable),
    ("label", Filter::Label),
    ("urlencode", Filter::UrlEncode),
];

impl Filter {
    pub(super) fn from_name(name: &str) -> Result<Self, String> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, filter)| *filter).ok_or_else(|| {
            let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            format!("`|{name}` is no filter; there are {}", known.join(", "))
        })
    }

    pub(super) fn is_hash(self) -> bool {
        matches!(self, Self::Md5 | Self::Sha1 | Self::Sha256)
    }

    /// `None`: the value has no such part.
    pub(super) fn apply(self, value: &str, place: Place) -> Option<String> {
        Some(match self {
            Self::Lower => value.to_lowercase(),
            Self::Md5 => hex(&Md5::digest(value.to_lowercase())),
            Self::Sha1 => hex(&Sha1::digest(value.to_lowercase())),
            Self::Sha256 => hex(&Sha256::digest(value.to_lowercase())),
            Self::Registrable => psl::domain_str(value)?.to_owned(),
            Self::Label => psl::domain_str(value)?.split('.').next()?.to_owned(),
            Self::UrlEncode => match place {
                // The place encodes already; twice would be wrong.
                Place::Path | Place::UrlQuery | Place::Form => value.to_owned(),
                _ => {
                    let mut out = String::new();
                    escape::percent(value, &mut out);
                    out
                }
            },
        })
    }
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
        .collect()
}
