//! Bodies for digests.

use crate::modules::definition::BodyHash;
use crate::modules::digest::{Algorithm, favicon_preimage};

/// Bodies that rules are likely to know by their digest.
const USUAL: [&str; 8] = ["", "null", "[]", "{}", "false", "true", "\n", "ok"];

/// A body that has one of these digests; `None`: nobody knows one.
pub(super) fn preimage(wanted: &BodyHash) -> Option<String> {
    let is_one = |body: &&str| {
        let has = |algorithm: Algorithm, list: &[String]| {
            algorithm
                .digest(body.as_bytes())
                .as_str()
                .is_some_and(|digest| list.iter().any(|known| known.eq_ignore_ascii_case(digest)))
        };
        has(Algorithm::Sha256, &wanted.sha256)
            || has(Algorithm::Sha1, &wanted.sha1)
            || has(Algorithm::Md5, &wanted.md5)
    };
    let known = USUAL.into_iter().find(is_one).map(str::to_owned);
    known.or_else(|| wanted.mmh3.iter().find_map(|hash| favicon_preimage(*hash)))
}
