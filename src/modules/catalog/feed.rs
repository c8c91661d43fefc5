//! The catalogue feed: signed entries that running servers fetch.
//!
//! A feed is one JSON document:
//!
//! ```text
//! {
//! "signed": {
//!   "format": "sightline-catalog-feed-1",
//!   "created_at": "2026-05-06T07:08:09Z",
//!   "entries": […]
//! },
//! "signature": "…"
//! }
//! ```
//!
//! The signature is that of exactly the bytes of the value of `signed`, from `{` to `}`.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::format;
use crate::base::signature::{PublicKey, SigningKey};
use crate::modules::definition::Entry;

const FORMAT: &str = "sightline-catalog-feed-1";
/// How far the date of a feed may be ahead of the clock of the server.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_mins(10);

/// A feed with a trusted signature. Its entries are checked when they are loaded.
#[derive(Debug, Clone)]
pub struct Feed {
    /// The date and the size.
    pub version: FeedVersion,
    /// The array of entries.
    pub(super) entries: String,
}

/// The date and the size of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedVersion {
    /// The time at which the feed was signed, in whole seconds.
    pub created_at: Timestamp,
    /// The number of entries.
    pub entries: usize,
}

/// The state of the feed of a server. Both parts are empty without a feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedReport {
    /// The feed that the catalogue was loaded with.
    pub in_use: Option<FeedVersion>,
    /// The reason why the last attempt brought no feed that can be used.
    pub failed: Option<String>,
}

#[derive(Deserialize)]
struct Envelope<'t> {
    #[serde(borrow)]
    signed: &'t RawValue,
    signature: String,
}

#[derive(Deserialize)]
struct Signed<'t> {
    format: String,
    created_at: Timestamp,
    #[serde(borrow)]
    entries: &'t RawValue,
}

impl Feed {
    /// Returns the text of a signed feed. `created_at` is cut to whole seconds.
    pub fn write(entries: Vec<Entry>, created_at: Timestamp, key: &SigningKey) -> String {
        let entries = format::write(entries);
        let signed = format!(
            "{{\n  \"format\": \"{FORMAT}\",\n  \"created_at\": \"{}\",\n  \"entries\": {}\n}}",
            created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            entries.trim_end()
        );
        let signature = key.sign(signed.as_bytes());
        format!("{{\n\"signed\": {signed},\n\"signature\": \"{signature}\"\n}}\n")
    }

    /// Checks the form of a feed, and that one of the trusted keys has signed it.
    ///
    /// # Errors
    /// Returns the first mistake.
    pub fn open(text: &str, trusted: &[PublicKey]) -> Result<Self, String> {
        let form = |error| format!("not a complete feed, as `sightline catalog sign` writes it: {error}");
        let Envelope { signed, signature } = serde_json::from_str(text).map_err(form)?;
        if !trusted.iter().any(|key| key.verifies(signed.get().as_bytes(), &signature)) {
            return Err("the signature fits no --catalog-key: the feed was changed after it was signed, or \
                        was signed with another key"
                .to_owned());
        }
        let Signed { format, created_at, entries } = serde_json::from_str(signed.get()).map_err(form)?;
        if format != FORMAT {
            return Err(format!(
                "unknown format {format:?}: expected {FORMAT}; a newer version of this program may know it"
            ));
        }
        let count = serde_json::from_str::<Vec<IgnoredAny>>(entries.get()).map_err(form)?.len();
        let version = FeedVersion { created_at, entries: count };
        Ok(Self { version, entries: entries.get().to_owned() })
    }
}

impl FeedVersion {
    /// Returns the seconds since the feed was signed.
    pub fn age(&self, now: Timestamp) -> i64 {
        now.duration_since(self.created_at).as_secs()
    }

    /// Checks that a fetched feed may replace the one in use.
    ///
    /// # Errors
    /// Returns the reason if its date is in the future or before that of the feed in use, or if it has less than half as
    /// many entries.
    pub fn check(&self, in_use: Option<&Self>, now: Timestamp) -> Result<(), String> {
        if self.created_at > now + CLOCK_SLACK {
            return Err(format!("dated {}, but it is {now}: one of the clocks is wrong", self.created_at));
        }
        let Some(in_use) = in_use else { return Ok(()) };
        if self.created_at < in_use.created_at {
            return Err(format!("dated {}, before the feed in use ({})", self.created_at, in_use.created_at));
        }
        if self.entries * 2 < in_use.entries {
            return Err(format!(
                "{} entries instead of {}: a feed must keep at least half of them",
                self.entries, in_use.entries
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn no_change_of_the_signed_bytes_is_accepted(at in any::<prop::sample::Index>(), byte in 0x20u8..0x7f) {
            let key = SigningKey::from_pem(crate::base::signature::tests::PEM).unwrap();
            let entry = json!({
                "id": "a", "platform": "A", "type": "username", "category": "test",
                "probes": [{"url": "https://site.example/{query}"}], "hit": [{"status": [200]}],
            });
            let entries = vec![serde_json::from_value(entry).unwrap()];
            let good = Feed::write(entries, "2026-05-06T07:08:09.5Z".parse().unwrap(), &key);
            let was = Feed::open(&good, &[key.public_key()]).unwrap();
            prop_assert_eq!(was.version.created_at.to_string(), "2026-05-06T07:08:09Z");
            let mut bytes = good.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            // Blanks between the parts are not signed.
            if let Ok(feed) = Feed::open(&String::from_utf8(bytes).unwrap(), &[key.public_key()]) {
                prop_assert_eq!((feed.version, feed.entries), (was.version, was.entries));
            }
        }
    }
}
